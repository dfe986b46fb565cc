"""Every price can be derived again from the ledger alone, and one that cannot is pointed at."""

import json
import sqlite3
from dataclasses import replace
from fractions import Fraction

import pandas as pd
import pytest

import dpsql
from dpsql.errors import LedgerBroken
from dpsql.ledger.memory import MemoryLedger
from dpsql.privacy.events import Composed, Pure
from dpsql.session.auditing import audit

COUNT = "SELECT COUNT(*) FROM people"
TOWNS = "SELECT town, COUNT(*), SUM(age) FROM people GROUP BY town"


def asked(path=":memory:"):
    owner = dpsql.open(path)
    rows = pd.DataFrame({"who": range(60), "age": 30, "town": ["x", "y"] * 30})
    owner.register("people", rows, person="who", unique=True, keys={"town": "private"}, bounds={"age": (0, 99)})
    owner.promise(epsilon=10, delta=1e-3)
    owner.defaults(max_keys=10, selection_share=0.25, delta_per_query=1e-6)
    ana, bob = owner.grant("ana", budget=5), owner.grant("bob", budget=5, sees_releases=True)
    ana.sql(COUNT, epsilon=2, noise="laplace")
    bob.sql(TOWNS, epsilon=1, noise="laplace")
    ana.sql(COUNT, epsilon=2, noise="laplace")  # stored: no payment
    return owner


def kept(*charges):
    """A ledger that verifies, whatever the charges say."""
    ledger = MemoryLedger()
    ledger.promise(epsilon=Fraction(10), delta=Fraction(1, 1000), delta_prime=Fraction(1, 2000))
    ledger.grant("ana", epsilon=Fraction(5))
    for charge in charges:
        ledger.charge(charge)
    ledger.verify()
    return ledger


@pytest.fixture
def paid():
    """The charge of a count of people at ε = 2."""
    with asked() as owner:
        ((_, charge), _) = owner._ledger.charges()
    return charge


def test_every_payment_is_derived_again():
    with asked() as owner:
        first, second = owner.audit()
    assert (first.analyst, first.cost, first.verdict) == ("ana", 2, "agrees")
    assert first.derived.epsilon == first.charged.epsilon == 2
    assert (second.analyst, second.cost, second.sql, second.agrees) == ("bob", 1, TOWNS, True)
    assert second.derived == second.charged
    assert (second.charged.epsilon, second.charged.delta) == (1, Fraction(1, 10**6))
    assert first.receipt < second.receipt


def test_an_account_that_was_charged_too_little_is_found(paid):
    cheap = replace(paid, event=Composed((Pure(epsilon=Fraction(1, 100)),)))
    right, wrong = audit(kept(paid, cheap))
    assert right.agrees
    assert wrong.verdict == "what was charged is not the price of what was released"
    assert (wrong.charged.epsilon, wrong.derived.epsilon) == (Fraction(1, 100), 2)


def test_a_plan_with_less_noise_than_was_paid_for_is_found(paid):
    record = json.dumps(json.loads(paid.record)).replace('"1/2"', '"1/4"')
    assert record != json.dumps(json.loads(paid.record))
    (row,) = audit(kept(replace(paid, record=record)))
    assert not row.agrees
    assert row.derived is None
    assert "promises" in row.verdict


def test_a_record_that_cannot_be_read_is_found(paid):
    (row,) = audit(kept(replace(paid, record="{}")))
    assert (row.agrees, row.derived) == (False, None)


def test_steps_that_the_plan_does_not_have_are_found(paid):
    (row,) = audit(kept(replace(paid, steps=2)))
    assert row.verdict == "more or fewer steps were paid for than the plan has"


def test_a_ledger_that_was_changed_is_not_audited(tmp_path):
    with asked(tmp_path / "ledger.db") as owner:
        with sqlite3.connect(tmp_path / "ledger.db") as database:
            database.execute("DROP TRIGGER entries_are_not_changed")
            renamed = "UPDATE entries SET payload = CAST(replace(payload, 'bob', 'eve') AS BLOB) WHERE kind = 'charge'"
            changed = database.execute(renamed)
            assert changed.rowcount == 2
        database.close()
        with pytest.raises(LedgerBroken):
            owner.audit()
    with pytest.raises(LedgerBroken):
        dpsql.open(tmp_path / "ledger.db")
