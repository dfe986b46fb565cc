"""charge: paid before the engine is asked about people, and never for nothing."""

from dataclasses import replace

import pandas as pd
import pytest

import dpsql
from dpsql.errors import BadKey, BudgetExhausted, InternalError
from dpsql.session.charging import charge


@pytest.fixture
def owner():
    owner = dpsql.open(":memory:")
    rows = pd.DataFrame({"who": range(40), "age": 30, "ward": 1})
    owner.register("people", rows, person="who", unique=True, bounds={"age": (0, 99)}, columns=["ward"])
    owner.register("wards", pd.DataFrame({"id": range(5)}), public=True, columns=["id"])
    owner.promise(epsilon=10, delta=1e-3)
    return owner


def analyst_of(owner, *, max_keys):
    owner.defaults(cost_per_query=1, max_keys=max_keys)
    return owner.grant("ana", budget=10)


def charged(query):
    place = query.place
    return charge(query.sealed, place.ledger, place.engine, analyst=place.grant.to)


PER_WARD = "SELECT w.id, COUNT(*) FROM people p JOIN wards w ON p.ward = w.id GROUP BY w.id"


def test_a_receipt_is_durable_before_anything_is_read(owner, monkeypatch):
    query = analyst_of(owner, max_keys=10).query("SELECT COUNT(*) FROM people")
    monkeypatch.setattr(type(query.place.engine), "run", lambda *_, **__: pytest.fail("read before it was paid"))
    receipt = charged(query)
    assert (receipt.paid, receipt.stored) == (True, ())
    account = query.place.ledger.account("ana")
    assert account == account.grant(epsilon=10).charged(query.sealed.plan.charged)


def test_too_many_public_keys_cost_nothing(owner):
    query = analyst_of(owner, max_keys=4).query(PER_WARD)
    with pytest.raises(BadKey):
        charged(query)
    assert query.place.ledger.account("ana").spent_epsilon == 0
    assert charged(analyst_of(owner, max_keys=5).query(PER_WARD)).paid


def test_what_does_not_fit_costs_nothing(owner):
    query = analyst_of(owner, max_keys=4).query("SELECT COUNT(*) FROM people", epsilon=11)
    with pytest.raises(BudgetExhausted):
        charged(query)
    assert query.place.ledger.account("ana").spent_epsilon == 0


def test_a_free_plan_is_never_charged(owner):
    query = analyst_of(owner, max_keys=4).query("SELECT id FROM wards")
    with pytest.raises(InternalError):
        charged(query)
    asked = analyst_of(owner, max_keys=4)
    asked.sql("SELECT COUNT(*) FROM people")
    again = asked.query("SELECT COUNT(*) FROM people")
    assert again.sealed.plan.stored is not None
    with pytest.raises(InternalError):
        charged(again)
    unaware = replace(again.sealed, plan=replace(again.sealed.plan, stored=None))
    place = again.place
    assert charge(unaware, place.ledger, place.engine, analyst=place.grant.to).stored
