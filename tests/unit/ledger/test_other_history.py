"""Entries of another history of the same ledger, under the same key, are not taken for those of this one."""

from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.errors import LedgerBroken
from dpsql.privacy.events import Pure
from tests.kits.ledger_cases import asking, promised

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
