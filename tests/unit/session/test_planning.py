"""The planner prices without a ledger, sees paths from the policy's folder, and gives its source back."""

from fractions import Fraction

import duckdb
import pytest

import dpsql
from asked_clinic import POLICY as CLINIC
from asked_clinic import declared
from dpsql.errors import BadPolicy
from tests.kits.refusals import raised

POLICY = CLINIC.partition("[[grant]]")[0]


@pytest.fixture
def policy(tmp_path):
    return declared(tmp_path, POLICY)


def test_statements_are_priced_one_by_one_without_a_ledger(policy):
    with dpsql.Planner(policy) as planner:
        first, second, third = planner.verdicts("SELECT COUNT(*) FROM people; SELECT id FROM people; SELEC")
    assert (float(first.cost), first.error) == (1, None)
    assert (second.cost, second.as_json()["verdict"]) == (None, "refused")
    assert third.error is not None
    assert [verdict.index for verdict in (first, second, third)] == [0, 1, 2]
    with dpsql.Planner(policy) as planner:
        planner.verdict("SELECT COUNT(*) FROM people")
    assert sorted(file.name for file in policy.parent.iterdir()) == ["clinic.duckdb", "dpsql.toml"]


def test_what_only_explains_is_free(policy):
    with dpsql.Planner(policy) as planner:
        for words in ("DRY RUN", "EXPLAIN PRIVACY", "EXPLAIN PRIVACY (FORMAT JSON)"):
            told = planner.verdict(f"{words} SELECT COUNT(*) AS n FROM people")
            assert (told.cost, told.delta, told.error) == (0, 0, None)
            assert told.margins == planner.verdict("SELECT COUNT(*) AS n FROM people").margins


def test_the_source_is_given_back(policy):
    """DuckDB lets nobody write to a file that this process still reads."""
    planner = dpsql.Planner(policy)
    raised(duckdb.Error, lambda: duckdb.connect(str(policy.parent / "clinic.duckdb")))
    planner.close()
    duckdb.connect(str(policy.parent / "clinic.duckdb")).close()


@pytest.mark.parametrize("body", [POLICY.replace("[promise]\nepsilon = 4\ndelta = 0\n", ""), POLICY + "columns.x = {}"])
def test_a_policy_that_is_refused_gives_it_back_too(policy, body):
    policy.write_text(body)
    raised(BadPolicy, lambda: dpsql.Planner(policy))
    duckdb.connect(str(policy.parent / "clinic.duckdb")).close()


def test_a_setting_costs_nothing_and_holds_for_what_follows(policy):
    with dpsql.Planner(policy) as planner:
        setting, asked = planner.verdicts("SET dp.epsilon = 0.25; SELECT COUNT(*) FROM people")
        assert (setting.cost, setting.delta, setting.margins, setting.error) == (0, 0, {}, None)
        assert asked.cost == Fraction(1, 4)
        assert planner.verdict("SET dp.epsilon = 0.25").cost == 0
