"""The errors that teach, case by case: what is proposed has been planned, and does what was meant."""

import re
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
    assert usual.try_sql == earliest.replace("<", ">")
    assert "AVG" not in usual.fix
    for same in ("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY born)", "KURTOSIS(born)", "BOOL_OR(born)"):
        assert not re.search(r"AVG|STDDEV|WHERE born\)|> 100", refusal(f'SELECT {same} FROM "my people"', ana).fix)
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


@pytest.mark.parametrize("asked", ["EXPLAIN PRIVACY", "DRY RUN", "SIMULATE"])
def test_what_is_free_is_proposed_at_a_price_it_can_have(asked):
    """A simulation is paid from an invented budget, which is as large as the real one."""
    ana = owner_of(9, "t", epsilon=5, cost_per_query=0.5).grant("ana", budget=0.1)
    for price in ("", " COST 5"):
        ana.sql(refusal(f"{asked} SELECT MAX(age) FROM t{price}", ana).try_sql)


def test_a_proposal_is_within_every_limit():
    owner = owner_of(9, "t", epsilon=5, cost_per_query=0.1)
    capped = owner.grant("ana", budget=1, max_per_query=0.02)
    assert refusal("SELECT MAX(age) FROM t", capped).try_sql.endswith(" FROM t COST 0.02")
    free = owner.grant("bob", budget=1)
    error = raised(dpsql.DpsqlError, lambda: free.sql("SELECT MAX(age) FROM t", max_cost=0.01))
    assert error.try_sql.endswith(" FROM t COST 0.01")
    free.sql(error.try_sql, max_cost=0.01)


def in_rho(**limits):
    """An analyst whose budget counts in ρ, where Laplace noise weighs more than its price."""
    owner = owner_of(50, "t", columns=["age"], bounds={"age": (0, 49)}, epsilon=5, delta=1e-6, cost_per_query=0.5)
    ana = owner.grant("ana", budget=3.7, **limits)
    ana.sql("SELECT COUNT(*) FROM t", epsilon=0.01, noise="gaussian")
    return ana


@pytest.mark.parametrize("limits", [({"max_per_query": 1}, {}), ({}, {"max_cost": 1})])
def test_a_price_that_fits_is_within_what_its_noise_may_take(limits):
    granted, allowed = limits
    ana = in_rho(**granted)
    error = raised(dpsql.DpsqlError, lambda: ana.sql("SELECT COUNT(age) FROM t COST 1", noise="laplace", **allowed))
    assert error.code == "DP201"
    assert ana.sql(error.try_sql, noise="laplace", **allowed).cost.epsilon > 0


@pytest.mark.parametrize("asked", ["EXPLAIN PRIVACY", "DRY RUN"])
def test_an_explanation_is_proposed_within_what_its_noise_may_take(asked):
    ana = in_rho(max_per_query=0.4)
    text = f"{asked} SELECT MAX(age) FROM t COST "
    assert raised(dpsql.DpsqlError, lambda: ana.sql(f"{text} 0.3", noise="laplace")).try_sql is None
    ana.sql(raised(dpsql.DpsqlError, lambda: ana.sql(f"{text} 0.01", noise="laplace")).try_sql, noise="laplace")


def test_what_is_stored_is_proposed_where_it_is_told():
    ana = owner_of(50, "t", epsilon=5, delta=1e-6, cost_per_query=0.5).grant("ana", budget=0.3)
    ana.sql("SELECT COUNT(*) FROM t COST 0.1")
    ana.sql("SELECT COUNT(*) FROM t WHERE age > 9 COST 0.2")
    finer = "SELECT COUNT(*) FROM t COST 0.3"
    fits = raised(dpsql.DpsqlError, lambda: ana.sql(finer)).try_sql
    assert fits == "SELECT COUNT(*) FROM t COST 0"
    ana.sql(fits)
    error = raised(dpsql.DpsqlError, lambda: ana.sql(finer, noise="gaussian"))  # too little is left for this noise
    assert error.code == "DP201"
    assert error.try_sql is None
    assert "COST 0" not in error.fix


def test_a_column_named_as_a_clock_is_not_proposed_as_the_clock():
    rows = pd.DataFrame({"who": range(9), "current_date": [1] * 9})
    owner = owner_of(rows, "t", person="who", unique=True, columns=["current_date"], epsilon=5, cost_per_query=0.1)
    owner.register("values", pd.DataFrame({"who": range(9)}), person="who", unique=True)
    ana = owner.grant("ana", budget=5)
    assert refusal("SELECT COUNT(current_dat) FROM t", ana).try_sql == 'SELECT COUNT("current_date") FROM t'
    assert refusal('SELECT who FROM "values"', ana).fix.endswith('SIMULATE SELECT * FROM "values" LIMIT 5')
