"""The files of a SQLite ledger: who can read them, and what is not taken for a ledger."""

import os
import sqlite3
import stat
from functools import partial

import pytest

from dpsql.errors import BadParameter, LedgerBroken
from dpsql.ledger.schema import SCHEMA
from dpsql.ledger.sqlite import SqliteLedger
from tests.kits.ledger_cases import at_once
from tests.kits.refusals import each_raises, raised


def test_nobody_else_can_read_the_files(path, begun):
    before = os.umask(0)
    try:
        begun()
        files = sorted(path.parent.iterdir())
    finally:
        os.umask(before)
    assert [file.name for file in files] == ["ledger.db", "ledger.db-shm", "ledger.db-wal", "ledger.db.key"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_an_empty_file_becomes_a_ledger_that_nobody_else_can_read(path):
    path.touch(mode=0o666)
    path.chmod(0o666)
    SqliteLedger(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_commit_is_on_disk_when_it_returns(open_):
    database = open_()._database
    settings = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
    assert [database.execute(f"PRAGMA {name}").fetchone()[0] for name in settings] == ["wal", 2, 1, 30_000]


@pytest.mark.parametrize("damage", ["missing", "another", "short", "long", "empty", "readable by others", "a folder"])
def test_a_ledger_without_its_key_is_refused(full, damage):
    key = full.with_name("ledger.db.key")
    content = key.read_bytes()
    if damage == "readable by others":
        key.chmod(0o640)
    else:
        key.unlink()
    if damage == "a folder":
        key.mkdir()
    changed = {"another": bytes(32), "short": content[:31], "long": content + b"\n", "empty": b""}
    if damage in changed:
        key.write_bytes(changed[damage])
        key.chmod(0o600)
    raised(LedgerBroken, lambda: SqliteLedger(full))


def test_a_key_is_never_overwritten(full):
    key = full.with_name("ledger.db.key").read_bytes()
    SqliteLedger(full).close()
    assert full.with_name("ledger.db.key").read_bytes() == key


@pytest.mark.parametrize("loss", ["removed", "emptied"])
def test_a_key_without_its_ledger_opens_no_new_budget(full, loss):
    full.unlink()
    if loss == "emptied":
        full.touch()
    each_raises(LedgerBroken, lambda _: SqliteLedger(full), range(2), match="there is a key and no ledger")


def test_a_failed_creation_leaves_no_key(path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("dpsql.ledger.sqlite.TABLES", ("CREATE NONSENSE",))
        raised(LedgerBroken, lambda: SqliteLedger(path))
    assert not path.with_name("ledger.db.key").exists()
    SqliteLedger(path).close()


def test_another_file_is_refused_and_left_alone(tmp_path, raw):
    text, database = tmp_path / "notes.txt", tmp_path / "shop.db"
    text.write_text("not a database, but long enough to be looked at\n" * 100)
    raw(database, "CREATE TABLE orders (id INTEGER)", "INSERT INTO orders VALUES (1)")
    marked = tmp_path / "marked.db"
    raw(marked, "PRAGMA application_id = 7", "CREATE TABLE t (x)", "DROP TABLE t")
    for file in (text, database, marked):
        before = file.read_bytes()
        with pytest.raises(LedgerBroken, match="not a ledger"):
            SqliteLedger(file)
        assert file.read_bytes() == before
        assert not file.with_name(file.name + ".key").exists()


@pytest.mark.parametrize("schema", [SCHEMA + 1, 99, 0, -1, "1 or so"])
def test_a_ledger_of_another_version_is_refused_and_left_alone(full, schema, raw):
    raw(full, ("UPDATE about SET schema = ?", (schema,)))
    raised(LedgerBroken, lambda: SqliteLedger(full))
    raw(full, f"UPDATE about SET schema = {SCHEMA}")
    SqliteLedger(full).close()


def test_a_ledger_without_its_tables_is_refused(full, raw):
    for table in ("head", "about"):
        raw(full, f"DROP TABLE {table}")
        raised(LedgerBroken, lambda: SqliteLedger(full).account())


def test_a_path_that_cannot_be_written_is_refused(tmp_path):
    for where in (tmp_path, tmp_path / "missing" / "ledger.db", tmp_path / "\x00"):
        with pytest.raises(LedgerBroken, match="cannot be opened"):
            SqliteLedger(where)


def test_a_ledger_whose_log_cannot_be_switched_on_is_in_use(full):
    """Somebody switched the log off and holds the file."""
    other = sqlite3.connect(full, isolation_level=None)
    assert other.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
    other.execute("BEGIN")
    other.execute("SELECT * FROM about").fetchall()
    raised(LedgerBroken, lambda: SqliteLedger(full, wait_ms=30), match="in use for too long")
    other.close()
    SqliteLedger(full).close()


class Hesitant(sqlite3.Connection):
    """SQLite reports a busy file at once, without waiting, while another connection switches the log on."""

    refusals = 3

    def execute(self, sql, *values):
        if "journal_mode" in sql and self.refusals:
            self.refusals -= 1
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error
        return super().execute(sql, *values)


def test_opening_waits_for_others_who_open(path, monkeypatch, raw):
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Hesitant))
    SqliteLedger(path).close()
    monkeypatch.undo()
    assert raw(path, "PRAGMA journal_mode") == [("wal",)]


def test_threads_that_open_at_once_open_one_ledger(path):
    ids = []

    def open_and_close():
        ledger = SqliteLedger(path)
        ids.append(ledger.id)
        ledger.close()

    at_once([open_and_close] * 16)
    assert len(ids) == 16
    assert len(set(ids)) == 1


class Stubborn(sqlite3.Connection):
    """As on a disk that cannot share memory between processes."""

    def execute(self, sql, *values):
        return super().execute("SELECT 'delete'" if "journal_mode" in sql else sql, *values)


def test_a_disk_that_cannot_keep_a_log_is_refused(path, monkeypatch):
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Stubborn))
    raised(LedgerBroken, lambda: SqliteLedger(path), match="write-ahead log")


@pytest.mark.parametrize("wait", [-1, 0.5, True, 10**9])
def test_a_wait_is_a_number_of_milliseconds(path, wait):
    raised(BadParameter, lambda: SqliteLedger(path, wait_ms=wait))
    assert not path.exists()
