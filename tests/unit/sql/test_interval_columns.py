"""The ends of intervals as columns: those of the very cell, for nothing."""

import pytest

from dpsql.errors import NotSupported
from tests.kits.owners import AGED, owner_of, people
from tests.kits.refusals import raised


@pytest.fixture
def analyst():
    rows = people(300).assign(town=["a", "b", "b"] * 100)
    declared = {"types": {"town": "text"}, "keys": {"town": ["a", "b"]}} | AGED
    owner = owner_of(rows, **declared, epsilon=10, delta=0, cost_per_query=1, max_keys=10)
    return owner.grant("ana", budget=10)


@pytest.mark.parametrize(
    "expression", ["COUNT(*)", "SUM(age)", "AVG(age)", "100.0 * COUNT(*) / SUM(age)", "2 * COUNT(*) - 7"]
)
@pytest.mark.parametrize("of", ["x", "{}"])
def test_they_are_the_ends_of_the_very_cell(analyst, expression, of):
    of = of.format(expression)
    answer = analyst.sql(
        f"SELECT town, {expression} AS x, DP_LOW({of}) AS low, dp_high({of}) AS high, DP_MARGIN({of}) AS margin, "
        f"DP_INTERVAL_LOW({of}), DP_INTERVAL_HIGH({of}) FROM people GROUP BY town ORDER BY x DESC"
    )
    for _, cell, low, high, margin, other_low, other_high in answer:
        assert (low, high, margin) == (cell.low, cell.high, cell.margin)
        assert (other_low, other_high) == (low, high)
        assert type(low) in (int, float)
    assert answer.columns[2:5] == ("low", "high", "margin")


def test_they_cost_nothing_and_draw_nothing(analyst):
    plain = analyst.sql("SELECT COUNT(*) AS n FROM people")
    spent = analyst.budget.spent
    again = analyst.sql("SELECT DP_LOW(COUNT(*)) AS low, DP_HIGH(COUNT(*)) AS high FROM people")
    assert (again.cost.epsilon, analyst.budget.spent) == (0, spent)
    assert (again["low"][0], again["high"][0]) == (plain["n"][0].low, plain["n"][0].high)


def test_having_may_leave_rows_out(analyst):
    answer = analyst.sql("SELECT town, DP_LOW(COUNT(*)) AS low FROM people GROUP BY town HAVING COUNT(*) > 150 LIMIT 1")
    assert answer["town"] == ["b"]
    assert 150 < answer["low"][0] < 230


def test_a_margin_that_was_asked_for_is_shown(analyst):
    answer = analyst.sql("SELECT COUNT(*) AS n, DP_MARGIN(n) AS m FROM people WITHIN 5")
    assert answer["m"][0] == answer["n"][0].margin <= 5


def test_explanations_know_them(analyst):
    assert "low" in analyst.explain("SELECT COUNT(*) AS n, DP_LOW(n) AS low FROM people").text()
    assert set(analyst.query("SELECT COUNT(*) AS n, DP_LOW(n) AS low FROM people").margins) == {"n"}


def test_distinct_is_refused(analyst):
    raised(NotSupported, lambda: analyst.sql("SELECT DISTINCT DP_MARGIN(COUNT(*)) FROM people GROUP BY town"))
