"""A refusal names a price that would fit, in the currency of prices, and that price is granted."""

import re
from fractions import Fraction
from functools import partial
from types import SimpleNamespace

import pandas as pd
import pytest

from dpsql.errors import BudgetExhausted
from dpsql.privacy.events import DiscreteGaussian
from dpsql.session import shortfall
from dpsql.session.shortfall import said_in_prices
from tests.kits.owners import owner_of
from tests.kits.refusals import raised

COUNT = "SELECT COUNT(*) FROM people"
SUMS = "SELECT city, SUM(age), COUNT(*) FROM people GROUP BY city"


def analyst_of(*, delta=1e-6, budget=1, town=False):
    rows = pd.DataFrame({"who": range(400), "city": ["a", "b"] * 200, "town": ["x", "y"] * 200, "age": 30})
    words = {"person": "who", "unique": True, "bounds": {"age": (0, 99)}}
    shares = {
        "cost_per_query": 0.1,
        "max_keys": 100,
        "selection_share": 0.25,
        **({"delta_per_query": delta / 4} if town else {}),
    }
    owner = owner_of(rows, **words, keys={"city": ["a", "b"], "town": "private"}, epsilon=2, delta=delta, **shares)
    return owner.grant("ana", budget=budget)


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("sql", [COUNT, SUMS])
def test_what_would_fit_does_fit(delta, sql):
    analyst = analyst_of(delta=delta)
    analyst.sql("SELECT SUM(age) FROM people", epsilon=0.634)
    error = raised(BudgetExhausted, lambda: analyst.sql(sql, epsilon=0.7))
    assert "costs 0.7, more than your grant has left" in error.what
    assert "ρ" not in str(error)
    price = re.search(r"epsilon=([0-9.]+) would fit", error.fix)[1]
    assert 0.3 <= float(price) <= 0.37
    assert analyst.sql(sql, epsilon=float(price)).cost.epsilon > 0


def test_where_nothing_fits_nothing_is_offered():
    analyst = analyst_of(delta=0, budget=1)
    analyst.sql(COUNT, epsilon=1)
    error = raised(BudgetExhausted, lambda: analyst.sql(SUMS, epsilon=0.5))
    assert "would fit" not in error.fix
    assert "the budget is used up" in error.fix


def test_a_smaller_price_is_looked_for_where_the_rest_buys_no_such_noise():
    """Counted in ρ, Laplace noise by name weighs more than its price: the whole rest does not pay for it."""
    analyst = analyst_of()
    analyst.sql("SELECT SUM(age) FROM people", epsilon=0.87, noise="gaussian")
    error = raised(BudgetExhausted, lambda: analyst.sql(COUNT, epsilon=0.2, noise="laplace"))
    price = float(re.search(r"epsilon=([0-9.]+) would fit", error.fix)[1])
    assert 0.01 <= price < 0.13
    assert analyst.sql(COUNT, epsilon=price, noise="laplace").cost.epsilon > 0


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_crumb_of_a_budget_is_not_offered(delta):
    analyst = analyst_of(delta=delta)
    analyst.sql("SELECT SUM(age) FROM people", epsilon=Fraction("0.99999"))
    error = raised(BudgetExhausted, lambda: analyst.sql(f"{COUNT} COST 0.1"))
    assert "the budget is used up" in error.fix
    assert error.try_sql is None


def test_a_lack_of_delta_is_not_cured_by_a_smaller_price():
    """Each search for groups takes a quarter of δ, half of which is reserved: the third finds nothing left."""
    analyst = analyst_of(town=True, budget=2)
    for low in (1, 2):
        analyst.sql(f"SELECT town, SUM(age) FROM people WHERE age > {low} GROUP BY town", epsilon=0.1)
    with pytest.raises(BudgetExhausted) as caught:
        analyst.sql("SELECT town, SUM(age) FROM people WHERE age > 3 GROUP BY town", epsilon=0.1)
    assert (
        caught.value.what
        == "finding groups takes δ = 0.00000025, more than the promise and your grant have left: 0 and 0"
    )
    assert "would fit" not in caught.value.fix
    assert "δ" in caught.value.fix


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_it_is_proposed_in_the_words_of_the_question(delta):
    analyst = analyst_of(delta=delta)
    analyst.sql("SELECT SUM(age) FROM people", epsilon=0.6)
    for sql, said in (
        (f"{COUNT} COST 0.7", "COST 0.4 would fit"),
        ("SELECT /*+ dp(epsilon=0.7) */ COUNT(*) FROM people", "COST 0.4 would fit"),
    ):
        with pytest.raises(BudgetExhausted) as caught:
            analyst.sql(sql)
        assert caught.value.what == "this answer costs 0.7, more than your grant has left: 0.4"
        assert said in caught.value.fix
        assert caught.value.try_sql == sql.replace("0.7", "0.4")
        assert sql[slice(*caught.value.at)] == "0.7"
    with pytest.raises(BudgetExhausted, match="costs") as caught:
        analyst.sql(COUNT, epsilon=0.7)
    assert "epsilon=0.4 would fit" in caught.value.fix
    assert caught.value.try_sql is None


def test_all_accounts_that_are_short_are_named():
    owner = owner_of(9, epsilon=2)
    owner.grant("bob", budget=2).sql(COUNT, epsilon=1.7)
    analyst = owner.grant("ana", budget=0.5)
    for epsilon, short in (
        (0.4, "the promise has left: 0.3"),
        (0.6, "the promise and your grant have left: 0.3 and 0.5"),
    ):
        error = raised(BudgetExhausted, partial(analyst.sql, COUNT, epsilon=epsilon))
        assert error.what == f"this answer costs {epsilon}, more than {short}"
    assert analyst.sql(COUNT, epsilon=0.3).cost.epsilon > 0


def test_a_refusal_of_accounts_that_have_changed_since_stays_as_it_is():
    error = BudgetExhausted("a", why="b", fix="c")
    asked = SimpleNamespace(event=None)
    assert said_in_prices(error, asked, (), planned_at=None, priced=None) is error


def test_gaussian_noise_is_weighed_in_rho():
    """It has no ε that could be too dear."""
    asked = SimpleNamespace(event=DiscreteGaussian(sigma_squared=4, l2_squared=1))
    assert shortfall.weighs(asked, ()).startswith("Gaussian noise is counted in ρ")


def test_no_question_is_planned_at_no_price():
    assert shortfall._planned(Fraction(0), (), None) is None
