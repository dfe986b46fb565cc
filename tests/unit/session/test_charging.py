"""charge: paid before the engine is asked about people, and never for nothing."""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import pandas as pd
import pytest

from dpsql.errors import BadKey, BadPolicy, BudgetExhausted, InternalError
from dpsql.ledger.ledger import PUBLIC_WAY
from dpsql.session.charging import charge
from dpsql.session.declared import ownership_of
from tests.kits.owners import owner_of
from tests.kits.refusals import raised


@pytest.fixture
def owner():
    rows = pd.DataFrame({"who": range(40), "age": 30, "ward": 1})
    words = {"person": "who", "unique": True, "bounds": {"age": (0, 99)}, "columns": ["ward"]}
    owner = owner_of(rows, **words, epsilon=10, delta=1e-3)
    owner.register("wards", pd.DataFrame({"id": range(5)}), public=True, columns=["id"])
    return owner


def analyst_of(owner, *, max_keys):
    owner.defaults(cost_per_query=1, max_keys=max_keys)
    return owner.grant("ana", budget=10)


def charged(query):
    place = query.place
    return charge(query.sealed, place.ledger, place.engine, analyst=place.analyst, grant=place.grant.to)


PER_WARD = "SELECT w.id, COUNT(*) FROM people p JOIN wards w ON p.ward = w.id GROUP BY w.id"


def test_a_receipt_is_durable_before_anything_is_read(owner, monkeypatch):
    query = analyst_of(owner, max_keys=10).query("SELECT COUNT(*) FROM people")
    monkeypatch.setattr(type(query.place.engine), "run", lambda *_, **__: pytest.fail("read before it was paid"))
    receipt = charged(query)
    assert (receipt.paid, receipt.stored) == (True, ())
    account = query.place.ledger.account("ana")
    assert account == account.grant(epsilon=10).charged(query.sealed.plan.charged)


def test_too_many_public_keys_and_what_does_not_fit_cost_nothing(owner):
    for sql, epsilon, error in ((PER_WARD, 1, BadKey), ("SELECT COUNT(*) FROM people", 11, BudgetExhausted)):
        query = analyst_of(owner, max_keys=4).query(sql, epsilon=epsilon)
        raised(error, partial(charged, query))
        assert query.place.ledger.account("ana").spent_epsilon == 0
    assert charged(analyst_of(owner, max_keys=5).query(PER_WARD)).paid


def test_a_free_plan_is_never_charged(owner):
    query = analyst_of(owner, max_keys=4).query("SELECT id FROM wards")
    raised(InternalError, lambda: charged(query))
    asked = analyst_of(owner, max_keys=4)
    asked.sql("SELECT COUNT(*) FROM people")
    again = asked.query("SELECT COUNT(*) FROM people")
    assert again.sealed.plan.stored is not None
    raised(InternalError, lambda: charged(again))
    unaware = replace(again.sealed, plan=replace(again.sealed.plan, stored=None))
    place = again.place
    assert charge(unaware, place.ledger, place.engine, analyst=place.analyst, grant=place.grant.to).stored


EXACT = {
    "rows of a public table": "SELECT id FROM wards",
    "keys of a public table": PER_WARD,
    "an inner question": "SELECT COUNT(*) FROM people WHERE age > (SELECT MAX(id) FROM wards)",
}


@pytest.mark.parametrize("what", EXACT)
def test_a_table_that_somebody_has_declared_private_since_is_not_read_exactly(owner, what, monkeypatch):
    """Another process closes the promise and makes one under which people are in the table; this one is still open."""
    analyst = analyst_of(owner, max_keys=10)
    assert len(analyst.sql("SELECT id FROM wards").rows) == 5
    ledger, before = owner._ledger, ownership_of(analyst.query(PER_WARD).place.catalog)
    account = ledger.account()
    ledger.close_promise("wards are about people")
    ledger.promise(epsilon=account.epsilon, delta=account.delta, delta_prime=account.delta_prime)
    ways = tuple((table, way if way != PUBLIC_WAY else "person = id") for table, way in before.tables)
    assert ways != before.tables
    ledger.own(replace(before, tables=ways))
    ledger.grant("ana", epsilon=Fraction(10))
    monkeypatch.setattr(type(analyst.query("SELECT COUNT(*) FROM people").place.engine), "run_public", _not_read)
    raised(BadPolicy, lambda: analyst.sql(EXACT[what]), match="about other people")
    assert ledger.account().spent_epsilon == 0
    assert analyst.sql("SELECT * FROM dp.columns").rows  # views are about nobody


def _not_read(*_):
    pytest.fail("a table was read that people are in by now")
