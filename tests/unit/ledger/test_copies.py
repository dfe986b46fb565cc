"""Two copies of one ledger on one machine, a file that is not the one that was opened, entries of another history under
the same key: no charge is forgotten."""

import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.errors import LedgerBroken
from dpsql.ledger import laws
from dpsql.ledger.sqlite import SqliteLedger
from dpsql.privacy.events import Pure
from tests.kits.ledger_cases import TENTH, asking, promised
from tests.kits.refusals import each_raises, raised


@pytest.fixture
def two(full, tmp_path):
    """A ledger, and a copy of its files in another folder."""
    folder = tmp_path / "copy"
    folder.mkdir()
    for ending in ("", ".key"):
        shutil.copy(f"{full}{ending}", folder / f"{full.name}{ending}")
    with closing(SqliteLedger(full)) as one, closing(SqliteLedger(folder / full.name)) as other:
        yield one, other


@pytest.mark.parametrize("entries", [1, 2])
def test_a_charge_of_one_copy_while_the_other_writes_is_not_forgotten(two, entries):
    """The second copy ends at the same number, or at a higher one: its hash tells that it is another ledger."""
    one, other = two

    def write_in_both():
        with other.writing() as page:
            assert one.charge(asking("in the first")).paid
            for name in range(entries):
                laws.charge(page, asking(f"in the second {name}"))

    raised(LedgerBroken, lambda: write_in_both(), match="charges are missing")
    assert one.account().spent.epsilon == 4 * TENTH  # the anchor still knows the charge that was answered
    raised(LedgerBroken, lambda: other.charge(asking("more")), match="charges are missing")


def test_one_ledger_opened_twice_goes_on_in_turn(full):
    """The anchor moves between the look and the commit, and the ledger holds what it says."""
    with closing(SqliteLedger(full)) as one, closing(SqliteLedger(full)) as other:
        known = other._known
        moved = []

        def slow():
            before = known()
            if not moved:
                moved.append(one.charge(asking("in between")))
            return before

        other._known = slow
        assert other.charge(asking("after")).paid
        assert other.charge(asking("later")).paid
        assert one.account().spent.epsilon == 6 * TENTH


@pytest.mark.parametrize("put", [None, "another"])
def test_a_file_that_was_removed_or_replaced_is_noticed_at_the_next_charge(full, tmp_path, put):
    shutil.copy(full, tmp_path / "another")
    with closing(SqliteLedger(full)) as ledger:
        if put is None:
            full.unlink()
        else:
            os.replace(tmp_path / put, full)
        raised(LedgerBroken, lambda: ledger.charge(asking("more")), match="was removed or replaced")


@pytest.mark.parametrize("old", [False, True], ids=["removed", "cut back"])
def test_a_log_that_is_gone_or_cut_back_is_noticed_at_the_next_charge(full, old):
    """What stood in it alone would be lost; a fresh process is stopped by the anchor, the open one by this."""
    log = full.with_name(f"{full.name}-wal")
    with closing(SqliteLedger(full)) as ledger:
        ledger.charge(asking("first"))
        before = log.read_bytes()
        ledger.charge(asking("second"))
        if old:
            with log.open("r+b") as file:
                file.write(before)
                file.truncate(len(before))
        else:
            log.unlink()
        with pytest.raises(LedgerBroken, match="charges are missing" if old else "was removed or replaced"):
            ledger.charge(asking("third"))


def test_a_log_that_is_cut_back_is_noticed_without_an_anchor(tmp_path):
    path = tmp_path / "alone.db"
    with closing(SqliteLedger(path, anchors=None)) as ledger:
        promised(ledger)
        ledger.grant("ana", epsilon=Fraction(1))
        ledger.charge(asking("first"))
        os.truncate(f"{path}-wal", 0)
        raised(LedgerBroken, lambda: ledger.charge(asking("second")), match="was removed or replaced")


def test_a_log_that_another_process_has_emptied_into_the_file_is_no_harm(full):
    with closing(SqliteLedger(full)) as ledger:
        ledger.charge(asking("first"))
        with closing(sqlite3.connect(full)) as other:
            assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0)
        assert ledger.charge(asking("second")).paid
        assert ledger.charge(asking("third")).paid
        ledger.verify()


def test_a_hard_link_is_refused(full, tmp_path):
    """SQLite keeps its log by the name of the file: two names of one file have two logs."""
    with closing(SqliteLedger(full)) as ledger:
        os.link(full, tmp_path / "second name")
        raised(LedgerBroken, lambda: ledger.charge(asking("more")), match="hard link")
    each_raises(LedgerBroken, lambda name: SqliteLedger(name), (full, tmp_path / "second name"), match="hard link")
    (tmp_path / "second name").unlink()
    with closing(SqliteLedger(full)) as ledger:
        assert ledger.charge(asking("more")).paid


DEAR = replace(asking("dear", event=Pure(epsilon=Fraction(1, 2))), cost=Fraction(1, 2))


def begun(store):
    with closing(store.open()) as ledger:
        promised(ledger).grant("ana", epsilon=Fraction(1))
    return store.backup()


def row(store, number):
    (found,) = store.raw(f"SELECT * FROM entries WHERE number = {number}")
    return found


def put(store, *rows):
    """In place of the entries of these numbers."""
    marks = ", ".join("?" * len(rows[0]))
    store.unlocked(
        *(f"DELETE FROM entries WHERE number = {each[0]}" for each in rows),
        *((f"INSERT INTO entries VALUES ({marks})", each) for each in rows),
    )


@pytest.mark.parametrize("copied", ["hash", "entry"])
def test_a_machine_sees_that_its_charges_are_gone_though_its_last_entry_is_put_back(store, tmp_path, copied):
    """The ledger is put back to an older state, goes on under another machine, and is given the hash, or the entry with
    the hash before it, that the first machine has seen last."""
    older = begun(store)
    with closing(store.open()) as ledger:
        for name in "abcd":
            ledger.charge(asking(name))
        last, _ = ledger.head().number, ledger.close()
    before, seen = row(store, last - 1), row(store, last)
    store.restore(older)
    with closing(store.open(anchors=tmp_path / "another machine")) as other:
        while other.head().number < last + 2:
            other.refuse("ana", code="DP100", sql="SELECT")
    at = len(seen) - 2  # the hash stands before the payload
    changed = [row(store, last - 1), row(store, last)]
    if copied == "hash":
        put(store, (*changed[1][:at], seen[at], changed[1][-1]))
    else:
        put(store, (*changed[0][:at], before[at], changed[0][-1]), seen)
    with pytest.raises(LedgerBroken):
        store.open()


def test_a_payment_is_not_continued_as_that_of_a_dearer_question(store, tmp_path):
    older = begun(store)
    with closing(store.open(anchors=tmp_path / "another machine")) as other:
        dear = row(store, other.charge(DEAR).number)
    store.restore(older)
    with closing(store.open()) as ledger:
        assert ledger.charge(asking("cheap")).number == dear[0]
        ledger.refuse("ana", code="DP100", sql="SELECT")
    put(store, dear)
    with closing(store.open()) as ledger, pytest.raises(LedgerBroken):
        ledger.charge(DEAR)
