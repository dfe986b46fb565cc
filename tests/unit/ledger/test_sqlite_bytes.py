"""Every byte of the file of a ledger: one bit of it is turned, and the ledger is refused, or the bit means nothing.

`make test` tries a sample of the places, `make audit` all of them.
"""

import os
import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction

import pytest

from dpsql.errors import LedgerBroken
from dpsql.ledger.sqlite import SqliteLedger
from tests.kits.cases import cases
from tests.kits.ledger_cases import FIRST, asking, promised

STRIDE = int(os.environ.get("DPSQL_FLIPS_STRIDE", "41"))
MEANINGLESS = {
    *range(24, 28),  # how often the file was changed
    *range(40, 44),  # how often its tables were
    *range(48, 52),  # a cache size nobody sets
    *range(60, 64),  # a version for programs that keep one there
    *range(72, 100),  # unused, and which SQLite wrote last
}
"""Places in the first hundred bytes that SQLite does not need to tell what the tables hold."""
LOOKS = (SqliteLedger.verify, SqliteLedger.entries)
"""What `dpsql ledger verify` and `dpsql audit` read."""


@pytest.fixture
def small(path):
    """A ledger in pages of 512 bytes, so that little of the file is free; all of its tables have rows."""
    with closing(SqliteLedger(path)) as ledger:
        promised(ledger)
        ledger.grant("ana", epsilon=Fraction(1))
        ledger.store(ledger.charge(asking("one")), 0, FIRST)
    with closing(sqlite3.connect(path)) as database:
        for statement in ("PRAGMA journal_mode = DELETE", "PRAGMA page_size = 512", "VACUUM"):
            database.execute(statement)
    return path


def contents(path):
    """All that the file says: its layout, and every row of every table, also as its indexes tell it."""
    with closing(sqlite3.connect(path)) as database:
        layout = database.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name").fetchall()
        tables = [name for kind, name, _, sql in layout if kind == "table"]
        rows = [database.execute(f"SELECT rowid, * FROM {name} ORDER BY rowid").fetchall() for name in tables]
        return layout, rows, database.execute("PRAGMA integrity_check").fetchall()


def accepted(path, look=SqliteLedger.verify):
    try:
        with closing(SqliteLedger(path)) as ledger:
            look(ledger)
    except LedgerBroken:
        return False
    return True


def test_a_turned_bit_is_seen_or_means_nothing(small, tmp_path):
    whole, expected = small.read_bytes(), contents(small)
    turned = tmp_path / "turned.db"
    shutil.copy(f"{small}.key", f"{turned}.key")
    free, tried = 0, 0
    for place in range(0, len(whole), STRIDE):
        tried += 1
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        turned.write_bytes(changed)
        for rest in ("-wal", "-shm"):
            turned.with_name(turned.name + rest).unlink(missing_ok=True)
        if accepted(turned, LOOKS[tried % 2]):
            free += place not in MEANINGLESS
            turned.write_bytes(changed)  # as it was before it was opened
            assert contents(turned) == expected, place
    assert tried > 300
    assert free / tried < 1 / 2  # most of this file says something


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.999])
def test_a_file_that_was_cut_off_is_refused(small, kept):
    whole = small.read_bytes()
    small.write_bytes(whole[: int(len(whole) * kept)])
    assert not accepted(small)


def test_two_pages_that_change_places_are_seen(small):
    whole, size = small.read_bytes(), 512
    pages = [whole[start : start + size] for start in range(0, len(whole), size)]
    for number in range(len(pages) - 1):
        swapped = [*pages[:number], pages[number + 1], pages[number], *pages[number + 2 :]]
        small.write_bytes(b"".join(swapped))
        for rest in ("-wal", "-shm"):
            small.with_name(small.name + rest).unlink(missing_ok=True)
        assert not accepted(small), number


@cases(__file__, "statement")
def test_a_changed_layout_is_seen(full, raw, statement):
    assert accepted(full)
    raw(full, statement)
    assert not accepted(full)


def test_an_index_that_hides_a_row_is_seen(full):
    """The rows are all there, and would not be found."""
    with closing(sqlite3.connect(full)) as database:
        ((root,),) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'entries_same'").fetchall()
        ((size,),) = database.execute("PRAGMA page_size").fetchall()
        database.execute("PRAGMA journal_mode = DELETE")
    file = bytearray(full.read_bytes())
    start = (root - 1) * size
    assert file[start] == 10  # the leaf of an index
    count = int.from_bytes(file[start + 3 : start + 5], "big")
    assert count == 3
    file[start + 3 : start + 5] = (count - 1).to_bytes(2, "big")  # its last row is forgotten
    full.write_bytes(file)
    with closing(sqlite3.connect(full)) as database:
        assert database.execute("SELECT COUNT(*) FROM entries WHERE same >= x''").fetchone() == (2,)
        assert database.execute("SELECT COUNT(*) FROM entries NOT INDEXED WHERE same >= x''").fetchone() == (3,)
    assert not accepted(full)
