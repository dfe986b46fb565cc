"""COST 0: what is stored, whatever it was bought for, and nothing else."""

from fractions import Fraction
from functools import partial

import pandas as pd
import pytest

import dpsql
from dpsql.errors import NothingStored
from tests.kits.owners import owner_of
from tests.kits.refusals import raised
from tests.kits.released import plain

COUNT = "SELECT COUNT(*) FROM people"
BY_WARD = "SELECT ward, COUNT(*) AS n FROM stays GROUP BY ward"


@pytest.fixture
def owner():
    owner = owner_of(100, epsilon=10, delta=1e-6, cost_per_query=1, max_keys=10)
    stays = pd.DataFrame({"id": [n % 50 for n in range(400)], "ward": [n % 7 for n in range(400)]})
    owner.register("stays", stays, person="id", bounds={"ward": (0, 6)}, rows_per_person=9, groups_per_person=3)
    return owner


@pytest.fixture
def analyst(owner):
    return owner.grant("ana", budget=10, max_per_query=2)


def test_nothing_is_bought(analyst):
    for sql in (f"{COUNT} COST 0", f"DRY RUN {COUNT} COST 0", f"EXPLAIN PRIVACY {COUNT} COST 0"):
        error = raised(NothingStored, partial(analyst.sql, sql))
        assert (error.code, sql[slice(*error.at)]) == ("DP203", "0")
    assert analyst.budget.spent == 0


@pytest.mark.parametrize("price", ["0.01", "0.5", "2"])
@pytest.mark.parametrize("sql", [COUNT, BY_WARD])
def test_what_is_stored_is_told_whatever_it_cost(analyst, sql, price):
    bought = analyst.sql(f"{sql} COST {price}")
    spent = analyst.budget.spent
    again = analyst.sql(f"{sql} COST 0")
    assert plain(again) == plain(bought)
    assert (again.cost.epsilon, analyst.budget.spent) == (0, spent)
    assert analyst.sql(f"DRY RUN {sql} COST 0")["value"][0] == "0"


@pytest.mark.parametrize("mode", ["choose", "scale"])
def test_both_ways_to_bound_are_looked_for(analyst, mode):
    bought = analyst.sql(BY_WARD, mode=mode, epsilon=0.25)
    assert plain(analyst.sql(f"{BY_WARD} COST 0")) == plain(bought)


def test_the_most_precise_is_told_and_another_question_is_not_stored(analyst):
    analyst.sql(f"{COUNT} COST 0.1")
    better = analyst.sql(f"{COUNT} COST 1")
    assert plain(analyst.sql(f"{COUNT} COST 0")) == plain(better)
    raised(NothingStored, lambda: analyst.sql(f"{COUNT} WHERE age > 5 COST 0"))
    raised(NothingStored, lambda: analyst.sql("SELECT COUNT(*) FROM stays COST 0"))
    raised(dpsql.Refused, lambda: analyst.sql("SELECT age FROM people COST 0"))  # with its own reason


def test_a_part_of_what_is_stored_is_told(analyst):
    both = analyst.sql("SELECT COUNT(*), SUM(age) FROM people")
    assert plain(analyst.sql(f"{COUNT} COST 0")) == [plain(both)[0][:1]]


def test_it_needs_no_price_of_the_policy_and_no_budget(owner):
    poor = owner.grant("tim", budget=Fraction(1, 10))
    poor.sql(f"{COUNT} COST 0.1")
    assert float(poor.budget.left) == pytest.approx(0, abs=1e-6)
    assert plain(poor.sql(f"{COUNT} COST 0")) == plain(poor.sql(f"{COUNT} COST 0.05"))


@pytest.mark.parametrize("tail", ["COST 0", "WITHIN 5"])
def test_public_tables_are_exact_and_free_whoever_has_said_a_price(tail):
    owner = owner_of(pd.DataFrame({"id": range(4)}), "wards", public=True, columns="all", epsilon=1)
    answer = owner.grant("ana", budget=1).sql(f"SELECT COUNT(*) FROM wards {tail}")
    assert (plain(answer), answer.cost.epsilon) == ([(4,)], 0)
