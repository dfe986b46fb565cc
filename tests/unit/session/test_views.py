"""dp.budget and the others: one's own standing, exactly, for nothing, and never from the engine."""

from datetime import date
from fractions import Fraction

import pandas as pd
import pytest

import dpsql
from dpsql.errors import BadName, NotPermitted
from dpsql.ledger.facts import Granted
from dpsql.ledger.ledger import Conditions, GrantedBy
from tests.kits.cases import cases
from tests.kits.owners import AGED, owner_of, people
from tests.kits.refusals import raised
from tests.kits.untouchable import untouched

COUNT = "SELECT COUNT(*) FROM people"


@pytest.fixture
def owner():
    rows = people(100).assign(pin=range(100))
    owner = owner_of(rows, **AGED, hidden=["id", "pin"], epsilon=10, cost_per_query=0.5, max_keys=10)
    owner.register("pay", rows, person="id", unique=True, bounds={"age": (0, 5)})
    return owner


@pytest.fixture
def analyst(owner):
    return owner.grant("ana", budget=4, max_per_query=2, tables=["people"])


def rows(analyst, sql):
    answer = analyst.sql(sql)
    assert answer.cost.epsilon == 0
    assert answer.release is None
    return [tuple(row) for row in answer]


def test_the_budget_and_how_far_it_goes(analyst):
    assert rows(analyst, "SELECT * FROM dp.budget") == [
        ("ana", 4.0, 0.0, 4.0, "ε", 8, "about 8 more queries at the usual price")
    ]
    analyst.sql(f"{COUNT} COST 1")
    for age in range(9):
        analyst.sql(f"{COUNT} WHERE age > {age} COST 0.25")
    assert rows(analyst, "SELECT spent, remaining, queries_remaining FROM dp.budget") == [(3.25, 0.75, 2)]
    analyst.sql(f"{COUNT} WHERE age > 50 COST 0.25")  # the first is not among the last ten any more
    assert rows(analyst, "SELECT note FROM dp.budget") == [("about 2 more queries like your last 10",)]


def test_what_remains_is_also_limited_by_what_others_left_and_payments_are_ones_own(owner, analyst):
    other = owner.grant("bob", budget=9)
    other.sql(f"{COUNT} COST 8")
    assert rows(analyst, "SELECT total, spent, remaining FROM dp.budget") == [(4.0, 0.0, 2.0)]
    shown = analyst.sql("SHOW dp.budget")
    assert (shown.columns, shown.rows) == (("total", "spent", "remaining"), (("4", "0", "2"),))
    other = owner.grant("cyd", budget=2)
    other.sql("SELECT SUM(age) FROM people COST 0.1")
    analyst.sql(f"{COUNT} COST 0.25")
    ((number, cost, stored, version, sql),) = rows(analyst, "SELECT * FROM dp.ledger")
    assert (cost, stored, version, sql) == (0.25, True, "1", f"{COUNT} COST 0.25")
    assert rows(analyst, "SELECT number, sql FROM dp.releases") == [(number, sql)]
    assert len(rows(other, "SELECT * FROM dp.releases")) == 1


def test_only_tables_of_the_grant_are_described(analyst):
    assert rows(analyst, "SELECT DISTINCT table_name FROM dp.columns") == [("people",)]
    assert rows(
        analyst, "SELECT column_name, low, high, is_person, is_hidden FROM dp.columns ORDER BY column_name"
    ) == [("age", "0", "100", False, False), ("id", None, None, True, True), ("pin", None, None, False, True)]
    raised(BadName, lambda: analyst.sql("SELECT COUNT(*) FROM pay"))


def test_listed_keys_of_readable_tables_are_told_and_no_others(owner, analyst):
    places = pd.DataFrame({"id": range(4), "city": ["Bern", "Chur", "Chur", "Basel"], "flu": [True, False, True, True]})
    listed = {"city": ["Basel", "Bern", None], "flu": [True, False]}
    owner.register("towns", places, person="id", unique=True, keys=listed)
    owner.register("found", places, person="id", unique=True, keys={"city": "private"})
    owner.register("shut", places, person="id", unique=True, keys=listed)
    told = rows(owner.grant("bea", budget=1, tables=["towns", "found"]), "SELECT * FROM dp.keys")
    assert told == [
        ("towns", "city", "Basel"),
        ("towns", "city", "Bern"),
        ("towns", "city", None),
        ("towns", "flu", "false"),
        ("towns", "flu", "true"),
    ]
    assert rows(analyst, "SELECT * FROM dp.keys") == []


def test_the_policy_says_what_holds(owner, analyst):
    policy = dict(rows(analyst, "SELECT name, value FROM dp.policy"))
    expected = ("10", "0.5", "2")
    assert (policy["promise.epsilon"], policy["defaults.cost_per_query"], policy["grant.max_per_query"]) == expected
    owner.defaults(cost_per_query=0.25)
    assert rows(analyst, "SELECT value FROM dp.policy WHERE name LIKE '%cost_per_query'") == [("0.25",)]


def test_the_engine_is_not_asked(analyst):
    without = untouched(analyst)
    for view in ("budget", "ledger", "releases", "policy", "columns", "keys"):
        assert len(without.sql(f"SELECT * FROM dp.{view}").columns) >= 2
        assert rows(without, f"SELECT COUNT(*) FROM DP.{view.upper()} AS v") != []


def test_they_are_asked_like_public_tables(analyst):
    found = rows(
        analyst, "SELECT keys IS NULL AS open, COUNT(*) AS n FROM dp.columns c WHERE c.type = 'integer' GROUP BY 1"
    )
    assert found == [(True, 2)]  # numbers of pandas without whole bounds or keys are doubles
    assert rows(analyst, "SELECT name FROM dp.policy ORDER BY name DESC LIMIT 1") == [("relation",)]
    assert "exact and free" in analyst.explain("SELECT * FROM dp.budget").text()


@cases(__file__, "sql")
def test_nothing_else_is_a_view(analyst, sql):
    raised(dpsql.DpsqlError, lambda: analyst.sql(sql))


def test_a_grant_that_has_ended_sees_nothing(owner):
    ended = Conditions(expires=date(2020, 1, 1))  # a policy file may go on naming it
    owner._ledger.adopt_grants([Granted(analyst="tim", epsilon=Fraction(1), conditions=ended, by=GrantedBy.FILE)])
    late = owner.analyst("tim")
    raised(NotPermitted, lambda: late.sql("SELECT * FROM dp.budget"), match="ended on 2020-01-01")
