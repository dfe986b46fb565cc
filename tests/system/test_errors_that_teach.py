"""The errors that teach, case by case: what is proposed has been planned, and does what was meant."""

from functools import cache

import pandas as pd
import pytest

import dpsql
from tests.kits.owners import AGED, owner_of, people
from tests.kits.refusals import raised
from tests.kits.rows import read_rows

from hospital import opened, well_behaved


@cache
def analyst(delta: float = 1e-6) -> dpsql.Analyst:
    return opened(well_behaved(), delta=delta)


def refusal(sql: str, ana: dpsql.Analyst | None = None, **options) -> dpsql.DpsqlError:
    return raised(dpsql.DpsqlError, lambda: (ana or analyst()).query(sql, **options))


CASES = {
    case: (sql, code, None if proposal == "nothing" else proposal)
    for case, code, sql, proposal in read_rows(__file__, "proposals")
}


@pytest.mark.parametrize("case", CASES)
def test_the_proposal_is_the_one_and_has_a_plan(case):
    sql, code, proposal = CASES[case]
    error = refusal(sql)
    assert (error.code, error.try_sql) == (code, proposal)
    assert error.why
    assert error.fix
    if proposal is not None:
        assert f"  Try   {proposal}" in str(error)
        analyst().query(proposal)


def test_11_a_price_above_the_limit_of_the_grant():
    ana = owner_of(9, "t", epsilon=5, cost_per_query=0.1).grant("ana", budget=5, max_per_query=1)
    in_call = refusal("SELECT COUNT(*) FROM t", ana, epsilon=3)
    in_text = refusal("SELECT COUNT(*) FROM t COST 3", ana)
    for error in (in_call, in_text):
        assert (error.code, error.what) == ("DP402", "epsilon = 3 is above your limit of 1 per query")
        assert "at most 1" in error.fix
    assert in_text.try_sql == "SELECT COUNT(*) FROM t COST 1"
    assert ana.query(in_text.try_sql).cost.epsilon == 1
    assert ana.query("SELECT COUNT(*) FROM t", epsilon=1).cost.epsilon == 1


def test_a_rewrite_is_not_shown_where_the_grant_does_not_reach():
    """The table that would be counted is one the analyst may not name."""
    owner = owner_of(9, epsilon=5, cost_per_query=0.1)
    owner.register("peoples", people(9), **AGED)
    ana = owner.grant("ana", budget=5, tables=["people"])
    assert refusal("SELECT COUNT(*) FROM peoplez", ana).try_sql == "SELECT COUNT(*) FROM people"


def test_names_and_limits_in_the_advice_can_be_written_as_they_stand():
    rows = pd.DataFrame({"who": range(9), "born": pd.Timestamp("1990-05-01")})
    owner = owner_of(rows, "my people", person="who", unique=True, columns=["born"], epsilon=5, cost_per_query=0.1)
    ana = owner.grant("ana", budget=5)
    earliest = refusal('SELECT MIN(born) FROM "my people"', ana).try_sql
    assert earliest == "SELECT COUNT(*) FILTER (WHERE born < '2000-01-01') FROM \"my people\""
    ana.query(earliest)
    usual = refusal('SELECT MEDIAN(born) FROM "my people"', ana)  # a day has neither AVG nor STDDEV
    assert usual.try_sql == earliest.replace("<", ">") and "AVG" not in usual.fix
    rows = refusal('SELECT * FROM "my people"', ana)
    assert rows.fix.endswith('SIMULATE SELECT * FROM "my people" LIMIT 5')
    assert rows.try_sql == 'SELECT COUNT(*) FROM "my people"'
    assert refusal("SELECT COUNT(*) FROM mypeople", ana).fix == 'use one of: "my people"'
    owner.register("order", pd.DataFrame({"who": range(9)}), person="who", unique=True)
    ana = owner.grant("ana", budget=5)
    assert refusal("SELECT COUNT(*) FROM ordr", ana).try_sql == 'SELECT COUNT(*) FROM "order"'


@pytest.mark.parametrize("asked", ["EXPLAIN PRIVACY", "DRY RUN", "SIMULATE"])
def test_what_is_free_is_proposed_when_nothing_is_left(asked):
    ana = owner_of(9, "t", epsilon=5, cost_per_query=0.1).grant("ana", budget=0.1)
    ana.sql("SELECT COUNT(*) FROM t")
    proposed = refusal(f"{asked} SELECT MAX(age) FROM t", ana).try_sql
    assert proposed is not None
    assert ana.sql(proposed).cost.epsilon == 0
    assert refusal("SELECT MAX(age) FROM t", ana).try_sql is None


def test_a_proposal_is_within_every_limit():
    owner = owner_of(9, "t", epsilon=5, cost_per_query=0.1)
    capped = owner.grant("ana", budget=1, max_per_query=0.02)
    assert refusal("SELECT MAX(age) FROM t", capped).try_sql.endswith(" FROM t COST 0.02")
    free = owner.grant("bob", budget=1)
    error = raised(dpsql.DpsqlError, lambda: free.sql("SELECT MAX(age) FROM t", max_cost=0.01))
    assert error.try_sql.endswith(" FROM t COST 0.01")
    free.sql(error.try_sql, max_cost=0.01)
