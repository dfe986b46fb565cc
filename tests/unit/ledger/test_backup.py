"""A copy is one state of the ledger; putting it back needs its key, a free place, and nobody at work."""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from fractions import Fraction

import pytest

from dpsql.errors import BadParameter, LedgerBroken, NotPermitted
from dpsql.ledger.backup import back_up, restore
from dpsql.ledger.sqlite import SqliteLedger
from dpsql.privacy.events import Pure
from tests.kits.ledger_cases import asking, promised
from tests.kits.refusals import raised


@pytest.fixture
def ledger(tmp_path):
    """A ledger with a promise and one grant."""
    path = tmp_path / "books" / "ledger.db"
    path.parent.mkdir()
    with closing(SqliteLedger(path)) as opened:
        promised(opened, epsilon=Fraction(3), delta=Fraction(0))
        opened.grant("ana", epsilon=Fraction(1))
    return path


def key_of(path):
    return path.with_name(path.name + ".key")


def test_a_copy_is_taken_while_the_ledger_is_open_and_holds_what_was_written(ledger, tmp_path):
    copy = tmp_path / "copy.db"
    with closing(SqliteLedger(ledger)) as opened:
        opened.grant("bob", epsilon=Fraction(2))
        back_up(ledger, copy, with_key=True)
        opened.grant("eve", epsilon=Fraction(1))
    with closing(SqliteLedger(copy)) as older, pytest.raises(LedgerBroken, match="charges are missing"):
        older.account()  # on this machine, which has seen more
    with closing(SqliteLedger(copy, anchors=tmp_path / "another machine")) as restored:
        restored.verify()
        assert restored.account("bob").epsilon == 2
        raised(NotPermitted, lambda: restored.account("eve"))
    assert {stat.S_IMODE(path.stat().st_mode) for path in (copy, key_of(copy))} == {0o600}


def test_the_key_stays_behind_unless_it_is_asked_for(ledger, tmp_path):
    back_up(ledger, tmp_path / "copy.db", with_key=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["books", "copy.db"]
    assert key_of(ledger).read_bytes() not in (tmp_path / "copy.db").read_bytes()


def test_nothing_is_overwritten_by_a_copy(ledger, tmp_path):
    (tmp_path / "copy.db").write_text("mine")
    raised(NotPermitted, lambda: back_up(ledger, tmp_path / "copy.db", with_key=False), match="exists already")
    assert (tmp_path / "copy.db").read_text() == "mine"
    with pytest.raises(BadParameter, match="cannot be written"):
        back_up(ledger, tmp_path / "nowhere" / "copy.db", with_key=False)


def test_a_ledger_that_does_not_verify_is_not_copied(ledger, tmp_path):
    with closing(sqlite3.connect(ledger)) as database:
        database.execute("UPDATE head SET snapshot = CAST(snapshot || ' ' AS BLOB)")
        database.commit()
    raised(LedgerBroken, lambda: back_up(ledger, tmp_path / "copy.db", with_key=False))
    assert not (tmp_path / "copy.db").exists()


def test_a_copy_is_put_back_where_the_ledger_is_gone(ledger, tmp_path):
    back_up(ledger, tmp_path / "copy.db", with_key=False)
    ledger.unlink()
    assert restore(tmp_path / "copy.db", ledger, replace=False) is None
    with closing(SqliteLedger(ledger)) as opened:
        opened.verify()
        assert opened.account("ana").epsilon == 1
    assert stat.S_IMODE(ledger.stat().st_mode) == 0o600


def test_the_key_of_the_copy_is_taken_where_the_other_is_gone(ledger, tmp_path):
    back_up(ledger, tmp_path / "copy.db", with_key=True)
    key = key_of(ledger).read_bytes()
    for path in (ledger, key_of(ledger)):
        path.unlink()
    restore(tmp_path / "copy.db", ledger, replace=False)
    assert key_of(ledger).read_bytes() == key
    assert stat.S_IMODE(key_of(ledger).stat().st_mode) == 0o600
    SqliteLedger(ledger).close()


def test_without_any_key_nothing_is_put_back(ledger, tmp_path):
    back_up(ledger, tmp_path / "copy.db", with_key=False)
    for path in (ledger, key_of(ledger)):
        path.unlink()
    raised(LedgerBroken, lambda: restore(tmp_path / "copy.db", ledger, replace=False), match="key")
    assert list(ledger.parent.iterdir()) == []


def test_a_ledger_that_is_there_is_not_replaced_silently(ledger, tmp_path):
    back_up(ledger, tmp_path / "copy.db", with_key=False)
    with closing(SqliteLedger(ledger)) as opened:
        opened.grant("late", epsilon=Fraction(1))
    before = ledger.read_bytes()
    raised(NotPermitted, lambda: restore(tmp_path / "copy.db", ledger, replace=False), match="there is a ledger")
    assert ledger.read_bytes() == before
    kept = restore(tmp_path / "copy.db", ledger, replace=True)
    with closing(SqliteLedger(ledger)) as opened:
        raised(LedgerBroken, lambda: opened.account("late"), match="charges are missing")
        opened.write_off()
        raised(NotPermitted, lambda: opened.account("late"))
    assert b"late" in kept.read_bytes()  # what was replaced can be looked at


def test_a_ledger_in_use_is_not_replaced(ledger, tmp_path):
    back_up(ledger, tmp_path / "copy.db", with_key=False)
    with closing(SqliteLedger(ledger)) as opened:
        raised(NotPermitted, lambda: restore(tmp_path / "copy.db", ledger, replace=True), match="in use")
        opened.grant("late", epsilon=Fraction(1))
    with closing(SqliteLedger(ledger)) as opened:
        assert opened.account("late").epsilon == 1
    assert sorted(os.listdir(ledger.parent)) == ["ledger.db", "ledger.db.key"]


@pytest.mark.parametrize("damage", ["entry", "other ledger", "no ledger"])
def test_what_does_not_verify_is_not_put_back(ledger, tmp_path, damage):
    copy = tmp_path / "copy.db"
    if damage == "entry":
        back_up(ledger, copy, with_key=False)
        with closing(sqlite3.connect(copy)) as database:
            database.execute("DROP TRIGGER entries_are_not_changed")
            database.execute("UPDATE entries SET payload = CAST(replace(payload, 'ana', 'eve') AS BLOB)")
            database.commit()
    elif damage == "other ledger":
        SqliteLedger(copy).close()
    else:
        copy.write_text("not a database, but longer than the header of one" * 10)
    before = ledger.read_bytes()
    raised(LedgerBroken, lambda: restore(copy, ledger, replace=True))
    assert ledger.read_bytes() == before
    assert sorted(os.listdir(ledger.parent)) == ["ledger.db", "ledger.db.key"]


def test_a_damaged_ledger_is_put_aside(ledger, tmp_path):
    back_up(ledger, tmp_path / "copy.db", with_key=False)
    ledger.write_bytes(b"\0" * 5000)
    kept = restore(tmp_path / "copy.db", ledger, replace=True)
    assert kept.read_bytes() == b"\0" * 5000
    with closing(SqliteLedger(ledger)) as opened:
        opened.verify()


DYING = """
import os, sys
from fractions import Fraction
from dpsql.ledger.sqlite import SqliteLedger
ledger = SqliteLedger(sys.argv[1])
for number in range(5):
    ledger.grant(f"analyst {number}", epsilon=Fraction(1))
os._exit(0)
"""


def test_the_log_of_a_ledger_that_is_gone_is_not_written_into_the_restored_one(ledger, tmp_path):
    back_up(ledger, tmp_path / "copy.db", with_key=False)
    subprocess.run([sys.executable, "-c", DYING, ledger], check=True)
    log = ledger.with_name("ledger.db-wal")
    written = log.read_bytes()
    assert b"analyst 4" in written
    ledger.unlink()
    restore(tmp_path / "copy.db", ledger, replace=False)
    with closing(SqliteLedger(ledger, anchors=tmp_path / "another machine")) as opened:
        opened.verify()
        raised(NotPermitted, lambda: opened.account("analyst 4"))
    assert ledger.with_name("ledger.db.replaced-1-wal").read_bytes() == written


KILLED = """
import os, signal, sys
from pathlib import Path
from dpsql.ledger import backup
backup.{} = lambda *values: os.kill(os.getpid(), signal.SIGKILL)
backup.restore(Path(sys.argv[1]), Path(sys.argv[2]), replace=True)
"""


@pytest.mark.parametrize("at", ["_copied", "_alone", "_put_aside"])
def test_a_restore_that_was_killed_is_in_no_ones_way(ledger, tmp_path, at):
    back_up(ledger, tmp_path / "copy.db", with_key=False)
    code = KILLED.format(at)
    dead = subprocess.run([sys.executable, "-c", code, tmp_path / "copy.db", ledger], check=False)
    assert dead.returncode == -signal.SIGKILL
    (left,) = ledger.parent.glob("ledger.db.restoring*")
    assert stat.S_IMODE(left.stat().st_mode) == 0o700
    restore(tmp_path / "copy.db", ledger, replace=True)
    with closing(SqliteLedger(ledger)) as opened:
        opened.verify()


@pytest.mark.parametrize("content", [None, b""])
def test_a_backup_of_nothing_begins_no_ledger(tmp_path, content):
    if content is not None:
        (tmp_path / "none.db").write_bytes(content)
    before = os.listdir(tmp_path)
    with pytest.raises(BadParameter, match="there is no ledger"):
        back_up(tmp_path / "none.db", tmp_path / "copy.db", with_key=False)
    assert os.listdir(tmp_path) == before


def test_a_restored_backup_has_lost_exactly_what_was_charged_since(ledger, tmp_path):
    """However much was charged since: the anchor remembers where the backup ended."""
    with closing(SqliteLedger(ledger)) as opened:
        for number in range(5):
            opened.charge(asking(f"before {number}"))
        back_up(ledger, tmp_path / "copy.db", with_key=False)
        for number in range(21):
            opened.charge(asking(f"after {number}", event=Pure(epsilon=Fraction(1, 100))))
        spent = opened.account().spent
    restore(tmp_path / "copy.db", ledger, replace=True)
    with closing(SqliteLedger(ledger)) as opened:
        opened.write_off()
        assert opened.account().spent == spent


def test_a_copy_that_is_not_there(ledger, tmp_path):
    raised(BadParameter, lambda: restore(tmp_path / "none.db", ledger, replace=True), match="no file")


def test_a_key_that_is_there_is_not_overwritten_and_leaves_no_copy_beside_it(ledger, tmp_path):
    copy = tmp_path / "copy.db"
    key_of(copy).write_bytes(b"mine")
    raised(NotPermitted, lambda: back_up(ledger, copy, with_key=True), match="copy.db.key exists already")
    assert key_of(copy).read_bytes() == b"mine"
    assert not copy.exists()


def test_nothing_is_restored_into_a_folder_that_is_not_there(ledger, tmp_path):
    back_up(ledger, tmp_path / "copy.db", with_key=True)
    restored = tmp_path / "nowhere" / "ledger.db"
    raised(BadParameter, lambda: restore(tmp_path / "copy.db", restored, replace=False), match="cannot be written")
    assert not restored.parent.exists()
