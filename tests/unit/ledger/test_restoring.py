"""A ledger that is older than this machine has seen is refused until the owner writes off what is missing."""

import os
import random
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from itertools import count

import pytest

from dpsql.errors import BudgetExhausted, FrozenLedger, LedgerBroken, NotPermitted
from dpsql.ledger.anchor import Anchor
from dpsql.ledger.book import require_verified
from dpsql.ledger.ledger import Role, User
from dpsql.ledger.sqlite import SqliteLedger
from dpsql.ledger.stored import WHY_STOPPED
from dpsql.privacy.events import Pure
from dpsql.privacy.window import Window
from dpsql.session.auditing import audit
from tests import ROOT
from tests.kits.ledger_cases import FIRST, TENTH, asking, promised
from tests.kits.refusals import each_raises, raised


def uses(ledger):
    return (
        ledger.account,
        ledger.verify,
        lambda: ledger.charge(asking("new")),
        lambda: ledger.recall(asking("one").question),
        lambda: ledger.grant("eve", epsilon=TENTH),
    )


def test_an_old_backup_is_refused_until_it_is_written_off(filled):
    backup = filled.backup()
    with closing(filled.open()) as ledger:
        ledger.charge(asking("four"))
        ledger.charge(asking("five"))
    filled.restore(backup)
    with closing(filled.open()) as ledger:
        for use in uses(ledger):
            with pytest.raises(LedgerBroken, match=r"seen entry 13 .* it is not there") as caught:
                use()
            assert "write_off" in caught.value.fix
        ledger.write_off()
        ledger.verify()
        assert ledger.account().spent.epsilon == 5 * TENTH
        assert ledger.account("ana").spent.epsilon == 2 * TENTH  # whose they were is lost with them
        ledger.unfreeze("looked at")
        assert ledger.charge(asking("four")).paid
    with closing(filled.open()) as ledger:
        assert ledger.account().spent.epsilon == 6 * TENTH


def test_places_of_lost_entries_are_forgotten_with_them(filled):
    """Of the entries that the anchor knows again, and of the ends of backups, those are left that the ledger has."""
    backup = filled.backup()
    with closing(filled.open()) as ledger:
        ledger.charge(asking("four"))
        ledger.copied(ledger.head().number, ledger.head().hash)
        ledger.charge(asking("five"))
        known = ledger._anchor.read()
        assert [[place.number for place in some] for some in (known.trail, known.copies)] == [[12, 11], [12]]
    filled.restore(backup)
    with closing(filled.open()) as ledger:
        ledger.write_off()
        known = ledger._anchor.read()
        assert [[place.number for place in some] for some in (known.trail, known.copies)] == [[11], []]


def test_a_ledger_put_back_while_it_is_open_is_refused(filled):
    backup = filled.backup()
    with closing(filled.open()) as ledger:
        ledger.charge(asking("four"))
        filled.restore(backup)
        raised(LedgerBroken, lambda: ledger.charge(asking("five")), match="it is not there")
        filled.restore(backup)
        ledger.write_off()
        ledger.unfreeze("looked at")
        assert ledger.charge(asking("five")).paid


def test_two_states_that_went_on_from_one_have_spent_the_sum(filled, tmp_path):
    """Somebody put a backup back on a machine that had never seen the ledger, and asked there."""
    backup = filled.backup()
    with closing(filled.open()) as ledger:
        ledger.charge(asking("here"))
    filled.restore(backup)
    with closing(filled.open(anchors=tmp_path / "another machine")) as ledger:
        ledger.charge(asking("there"))
        ledger.store(ledger.charge(asking("there")), 0, FIRST)
    with closing(filled.open()) as ledger:
        each_raises(LedgerBroken, lambda use: use(), uses(ledger), match="it is not there")
        ledger.write_off()
        assert ledger.account().spent.epsilon == 5 * TENTH  # four here and four there; three of them are the same
        ledger.verify()


def test_a_shorter_state_that_went_on_by_itself_has_spent_too(filled, tmp_path):
    """It ends before what the anchor has seen, and is not a part of it."""
    backup = filled.backup()
    with closing(filled.open()) as ledger:
        for name in ("four", "five", "six"):
            ledger.charge(asking(name))
    filled.restore(backup)
    with closing(filled.open(anchors=tmp_path / "another machine")) as ledger:
        ledger.charge(asking("there"))
        ledger.charge(asking("there too"))
    with closing(filled.open()) as ledger:
        ledger.write_off()
        assert ledger.account().spent.epsilon == 8 * TENTH
        ledger.verify()
        ledger.unfreeze("looked at")
        ledger.charge(asking("on"))


def test_a_state_the_anchor_cannot_place_is_counted_from_the_last_one_it_can(filled, tmp_path):
    """This machine has seen the ledger with three charges, then with five: the one with four may be another."""
    with closing(filled.open()):
        pass
    with closing(filled.open(anchors=tmp_path / "another machine")) as ledger:
        ledger.charge(asking("four"))
        backup = filled.backup()
        ledger.charge(asking("five"))
    with closing(filled.open()):
        pass
    filled.restore(backup)
    with closing(filled.open()) as ledger:
        ledger.write_off()
        assert ledger.account().spent.epsilon == 6 * TENTH


def test_what_was_seen_during_a_write_off_is_not_forgotten(filled, monkeypatch):
    """The anchor is moved back from what the write-off has counted only."""
    backup = filled.backup()
    with closing(filled.open()) as ledger:
        ledger.charge(asking("four"))
        before = filled.backup()
        ledger.charge(asking("five"))
        later = ledger._anchor.read()
    filled.restore(before)
    with closing(filled.open()) as ledger:
        filled.restore(backup)
        settle = Anchor.settle

        def meanwhile(self, to, *, before):
            settle(self, replace(later, head=replace(later.head, number=99)), before=before)
            settle(self, to, before=before)

        monkeypatch.setattr(Anchor, "settle", meanwhile)
        ledger.write_off()
        raised(LedgerBroken, lambda: ledger.account(), match="seen entry 99")


def test_an_anchor_does_not_go_back_while_the_ledger_is_verified(filled, monkeypatch):
    with closing(filled.open()) as ledger, closing(filled.open()) as other:

        def slowly(page):
            require_verified(page)
            other.charge(asking("meanwhile"))

        monkeypatch.setattr("dpsql.ledger.stored.require_verified", slowly)
        ledger.verify()
        assert ledger._anchor.read().head == other.head()


@pytest.mark.parametrize("seed", range(12))
def test_no_history_is_counted_below_what_was_spent(store, tmp_path, seed):
    """Two machines ask from one copy of the ledger each, and renew it, as it happens. A generous promise, so that no
    charge is refused; each has its own price, a power of two, so that no two sums are the same by chance."""
    rng, prices = random.Random(seed), (Fraction(1, 2**power) for power in count(1))
    spent = Fraction(0)

    def live(ledger, steps):
        nonlocal spent
        for _ in range(steps):
            if rng.random() < 0.15:
                ledger.renew()
            else:
                price = next(prices)
                ledger.charge(asking(str(price), event=Pure(epsilon=price)))
                spent += price

    with closing(store.open()) as ledger:
        promised(ledger, epsilon=Fraction(2), delta=Fraction(0), per=Window.DAY)
        ledger.grant("ana", epsilon=Fraction(2))
        live(ledger, rng.randrange(4))
        backup = store.backup()
        live(ledger, rng.randrange(1, 6))
    store.restore(backup)
    with closing(store.open(anchors=tmp_path / "another machine")) as ledger:
        live(ledger, rng.randrange(6))
    with closing(store.open()) as ledger:
        ledger.write_off()
        told = audit(ledger).promises
        assert sum(promise.account.spent.epsilon for promise in told) >= spent
        assert all(promise.kept for promise in told)
        assert len(told) == ledger.promises()[0].periods
        ledger.renew()
        ledger.unfreeze("looked at")
        ledger.charge(asking("on"))
        ledger.verify()


def test_a_state_of_another_promise_cannot_be_written_off(filled):
    """What is lost was spent from a promise of which the copy knows nothing."""
    backup = filled.backup()
    with closing(filled.open()) as ledger:
        ledger.close_promise("a new start")
        promised(ledger, epsilon=Fraction(7), delta=Fraction(0))
    filled.restore(backup)
    with closing(filled.open()) as ledger, pytest.raises(LedgerBroken, match="older than its promise"):
        ledger.write_off()


def test_a_period_that_is_lost_is_written_off_whole(filled):
    backup = filled.backup()
    with closing(filled.open()) as ledger:
        ledger.renew()
        ledger.charge(asking("four"))
    filled.restore(backup)
    with closing(filled.open()) as ledger:
        ledger.write_off()
        ledger.unfreeze("looked at")
        raised(BudgetExhausted, lambda: ledger.charge(asking("five", event=Pure(epsilon=Fraction(1, 10**9)))))
        told = audit(ledger)
        assert [(promise.kept, promise.lost, promise.spent) for promise in told.promises] == [
            (True, True, 1),  # the period that is lost
            (True, False, 1),  # the one before, of which the end is lost
        ]
        assert "a lost period" in str(told)
        assert [made.periods for made in ledger.promises()] == [2]
        ledger.renew()
        ledger.charge(asking("five"))
        ledger.verify()


def test_periods_that_were_written_off_are_written_off_again(filled):
    """The same copy is put back twice: the entry that told of lost periods is lost itself then."""
    backup = filled.backup()
    with closing(filled.open()) as ledger:
        for _ in range(3):
            ledger.renew()
    for _ in range(2):
        filled.restore(backup)
        with closing(filled.open()) as ledger:
            ledger.write_off()
            assert len(audit(ledger).promises) == ledger.promises()[0].periods == 4


def test_what_was_stopped_in_entries_that_are_lost_stays_stopped(filled):
    """A freeze, a revoked grant and a withdrawn token: the copy knows of none of them, nor does the anchor."""
    eve, olga = User(name="eve", role=Role.ANALYST), User(name="olga", role=Role.OWNER)
    with closing(filled.open()) as ledger:
        ledger.issue(eve, b"e" * 32)
        ledger.issue(olga, b"o" * 32)
    backup = filled.backup()
    with closing(filled.open()) as ledger:
        ledger.withdraw("eve")
        ledger.revoke("ana")
        ledger.freeze("a review")
    filled.restore(backup)
    with closing(filled.open()) as ledger:
        ledger.write_off()
        assert ledger.frozen() == WHY_STOPPED
        raised(FrozenLedger, lambda: ledger.charge(asking("four")))
        raised(FrozenLedger, lambda: ledger.conditions("ana"))
        assert (ledger.users(), ledger.holder_of(b"e" * 32), ledger.holder_of(b"o" * 32)) == ((), None, None)
        words = [type(entry.fact).__name__ for entry in ledger.entries()[-4:]]
        assert words == ["WrittenOff", "Withdrawn", "Withdrawn", "Frozen"]
        before = ledger.head()
        ledger.write_off()  # nothing is missing any more
        assert ledger.head() == before
        ledger.revoke("ana")
        ledger.unfreeze("looked at")
        raised(NotPermitted, lambda: ledger.charge(asking("four")), match="revoked")
        ledger.verify()


def test_nothing_is_written_off_where_nothing_is_missing(filled):
    with closing(filled.open()) as ledger:
        before = ledger.account(), ledger.head()
        ledger.write_off()
        assert (ledger.account(), ledger.head()) == before


def test_a_state_older_than_the_promise_cannot_be_written_off(store):
    with closing(store.open()) as ledger:
        backup = store.backup()
        promised(ledger, delta=Fraction(0))
    store.restore(backup)
    with closing(store.open()) as ledger, pytest.raises(LedgerBroken, match="older than its promise"):
        ledger.write_off()


def test_a_machine_that_never_saw_the_ledger_takes_it_as_it_is(filled, tmp_path):
    backup = filled.backup()
    with closing(filled.open()) as ledger:
        ledger.charge(asking("four"))
    filled.restore(backup)
    for _ in range(2):
        with closing(filled.open(anchors=tmp_path / "another machine")) as ledger:
            ledger.verify()
    assert [file.name for file in (tmp_path / "another machine").iterdir()] == [ledger.id]


def test_no_anchor_is_kept_where_none_is_wanted(store, state):
    with closing(store.open(anchors=None)) as ledger:
        promised(ledger, delta=Fraction(0))
        ledger.verify()
        ledger.write_off()
    assert list(state.iterdir()) == []


def test_each_transaction_moves_the_anchor(filled, state):
    with closing(filled.open()) as ledger:
        anchor = Anchor(state / "anchors", ledger=ledger.id, key=ledger._key)
        for name in ("four", "five"):
            ledger.charge(asking(name))
            assert anchor.read().head == ledger.head()


def test_a_ledger_found_broken_is_refused_everywhere_until_it_verifies(filled):
    with closing(filled.open()) as one, closing(filled.open()) as other:
        filled.unlocked("UPDATE entries SET analyst = 'bob' WHERE number = 8")
        raised(LedgerBroken, lambda: one.charge(asking("two", steps=2)), match="entry 8 ")
        for use in (other.account, lambda: other.charge(asking("new"))):
            with pytest.raises(LedgerBroken, match="was found broken"):
                use()
        filled.unlocked("UPDATE entries SET analyst = 'ana' WHERE number = 8")  # put right again
        with closing(filled.open()) as third:
            raised(LedgerBroken, lambda: third.account(), match="was found broken")
            third.verify()
            assert third.account().spent.epsilon == 3 * TENTH
        assert other.charge(asking("new")).paid
        raised(LedgerBroken, lambda: one.account())


def test_a_damaged_ledger_is_marked_when_it_is_opened(filled):
    with closing(filled.open()) as before:
        ((snapshot,),) = filled.raw("SELECT snapshot FROM head")
        filled.unlocked("UPDATE head SET snapshot = seal")
        raised(LedgerBroken, lambda: filled.open(), match="sealed")
        filled.unlocked(("UPDATE head SET snapshot = ?", (snapshot,)))
        raised(LedgerBroken, lambda: before.account(), match="was found broken")


def test_a_damaged_anchor_is_refused(filled, state):
    with closing(filled.open()) as ledger:
        file = state / "anchors" / ledger.id
        file.write_bytes(b"?" * file.stat().st_size)
        raised(LedgerBroken, lambda: ledger.charge(asking("four")), match="anchor")
        file.unlink()  # as the message says
        assert ledger.charge(asking("four")).paid


def test_an_anchor_that_cannot_be_written_stops_the_answer(filled, monkeypatch):
    def refuse(self, to, *, holds):
        raise OSError(28, "No space left on device")

    with closing(filled.open()) as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(Anchor, "advance", refuse)
            raised(LedgerBroken, lambda: ledger.charge(asking("four")), match="anchor")
        assert ledger.account().spent.epsilon == 4 * TENTH  # what was charged stays charged
        assert not ledger.charge(asking("four")).paid


CRASH = """
import os, signal, sys
from dpsql.ledger.anchor import Anchor
from dpsql.ledger.book import require_verified
from dpsql.ledger.sqlite import SqliteLedger
from tests.kits.ledger_cases import asking, promised
ledger = SqliteLedger(sys.argv[1])
Anchor.advance = lambda self, to, *, holds: os.kill(os.getpid(), signal.SIGKILL)
ledger.charge(asking("four"))
"""


def test_a_crash_between_commit_and_anchor_leaves_an_anchor_that_lags(full, state):
    dead = subprocess.run([sys.executable, "-c", CRASH, full], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (dead.returncode, dead.stderr) == (-signal.SIGKILL, "")
    with closing(SqliteLedger(full)) as ledger:
        ledger.verify()
        assert not ledger.charge(asking("four")).paid
    assert os.listdir(state / "anchors") == [ledger.id]
