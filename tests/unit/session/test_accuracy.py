"""WITHIN: the price really buys the margin, and less would not."""

from __future__ import annotations

from fractions import Fraction
from itertools import count

import pandas as pd
import pytest

import dpsql
from dpsql.errors import BudgetExhausted, InternalError, NotPermitted, NotSupported
from dpsql.plan.seal import seal
from dpsql.session import answer
from dpsql.session.noisy import Noisy

QUESTIONS = [
    "SELECT COUNT(*) FROM people",
    "SELECT COUNT(*), SUM(age) FROM people WHERE age > 5",
    "SELECT 2 * COUNT(*) - SUM(age) AS x FROM people",
    "SELECT ward, COUNT(*), SUM(nights) FROM stays GROUP BY ward",
    "SELECT name, COUNT(*) FROM stays GROUP BY name",
]


def owner_of(*, delta):
    owner = dpsql.open(":memory:")
    people = pd.DataFrame({"id": range(100), "age": [n % 90 for n in range(100)]})
    owner.register("people", people, person="id", unique=True, bounds={"age": (0, 100)})
    stays = pd.DataFrame({"id": [n % 50 for n in range(400)], "ward": [n % 7 for n in range(400)]})
    stays["nights"], stays["name"] = stays["ward"] + 1, [str(n % 3) for n in range(400)]
    owner.register(
        "stays",
        stays,
        person="id",
        bounds={"ward": (0, 6), "nights": (0, 9)},
        types={"name": "text"},
        keys={"name": "private"},
        rows_per_person=4,
        groups_per_person=3,
    )
    owner.promise(epsilon=100, delta=delta)
    owner.defaults(max_keys=10, selection_share=0.25, delta_per_query=delta / 1000 or None)  # no price of the policy
    return owner


@pytest.fixture(params=[1e-6, 0], ids=["delta", "pure"])
def analyst(request):
    return owner_of(delta=request.param).grant("ana", budget=100)


def margin(query):
    return max(each for each in query.margins.values())


@pytest.mark.parametrize("confidence", ["0.9", "0.95"])
@pytest.mark.parametrize("wanted", [7, 60, 2000])
@pytest.mark.parametrize("sql", QUESTIONS)
def test_the_price_buys_the_margin_and_less_does_not(analyst, sql, wanted, confidence):
    if "name" in sql and analyst.place.accounts[0].delta == 0:  # private groups need delta, at any price
        with pytest.raises(dpsql.DpsqlError):
            analyst.query(f"{sql} WITHIN {wanted}")
        return
    query = analyst.query(f"{sql} WITHIN {wanted} CONFIDENCE {confidence}")
    assert margin(query) <= wanted
    paid = query.cost.epsilon
    assert paid == Fraction(f"{float(paid):.3g}")
    less = paid * Fraction(98, 100)
    for noise in ("laplace", "gaussian"):
        try:
            cheaper = analyst.query(sql, epsilon=less, noise=noise, confidence=float(confidence))
        except dpsql.DpsqlError:
            continue
        assert margin(cheaper) > wanted


def test_the_answer_has_the_margin(analyst):
    answer = analyst.sql("SELECT COUNT(*) AS n, SUM(age) AS s FROM people WITHIN 50")
    assert all(isinstance(cell, Noisy) and cell.margin <= 50 for row in answer for cell in row)


def test_the_same_text_has_the_same_price(analyst):
    prices = {analyst.cost("SELECT COUNT(*), SUM(age) FROM people WITHIN 50") for _ in range(3)}
    assert len(prices) == 1


def test_a_stored_release_within_the_margin_is_free(analyst):
    bought = analyst.sql("SELECT COUNT(*) FROM people WITHIN 10")
    assert analyst.cost("SELECT COUNT(*) FROM people WITHIN 10") == 0
    assert analyst.cost("SELECT COUNT(*) FROM people WITHIN 40 CONFIDENCE 0.9") == 0
    assert analyst.cost("SELECT COUNT(*) FROM people WITHIN 5") > 0
    assert analyst.cost("SELECT COUNT(*) FROM people WITHIN 1") > bought.cost.epsilon
    with_less = analyst.sql("SELECT COUNT(*) AS n FROM people COST 0.01")
    assert with_less.cost.epsilon == 0
    coarse = analyst.sql("SELECT SUM(age) AS n FROM people COST 0.1")
    wide = coarse["n"][0].margin
    assert analyst.cost(f"SELECT SUM(age) AS n FROM people WITHIN {wide}") == 0
    assert analyst.cost(f"SELECT SUM(age) AS n FROM people WITHIN {wide // 2}") > 0


def test_it_works_after_much_is_spent(analyst):
    """The account's first branch may be closed, and with it the cheapest kind of noise."""
    analyst.sql("SELECT SUM(age) FROM people", epsilon=60, noise="laplace")
    query = analyst.query("SELECT COUNT(*) FROM people WITHIN 3")
    assert margin(query) <= 3
    assert query.run().cost.epsilon == query.cost.epsilon


def test_beyond_the_limit_of_the_grant():
    owner = owner_of(delta=1e-6)
    thrifty = owner.grant("tim", budget=1, max_per_query=0.1)
    with pytest.raises(NotPermitted, match=r"your limit of 0\.1 per query buys ± ") as caught:
        thrifty.sql("SELECT COUNT(*) FROM people WITHIN 2")
    assert margin(thrifty.query(caught.value.try_sql)) <= thrifty.query(caught.value.try_sql).wanted.within
    assert thrifty.cost(caught.value.try_sql) <= Fraction(1, 10)
    poor = owner.grant("pia", budget=Fraction(1, 20))
    with pytest.raises(BudgetExhausted, match=r"the 0\.05 that is left buys ± ") as caught:
        poor.sql("SELECT COUNT(*) FROM people WITHIN 2")
    poor.sql(caught.value.try_sql)
    assert poor.budget.spent > 0


def test_nothing_left():
    poor = owner_of(delta=0).grant("pia", budget=Fraction(1, 20))
    poor.sql("SELECT COUNT(*) FROM people COST 0.05")
    with pytest.raises(BudgetExhausted, match="nothing is left"):
        poor.sql("SELECT SUM(age) FROM people WITHIN 2000")
    assert poor.cost("SELECT COUNT(*) FROM people WITHIN 2000") == 0


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT AVG(age) FROM people",
        "SELECT COUNT(*), VAR_POP(age) FROM people",
        "SELECT SUM(age) / COUNT(*) FROM people",
    ],
)
def test_what_needs_the_number_of_rows_is_refused(analyst, sql):
    with pytest.raises(NotSupported, match="WITHIN is not possible for") as caught:
        analyst.sql(f"{sql} WITHIN 2")
    assert caught.value.at is not None


@pytest.mark.parametrize("call", [1, 9, 20])
def test_a_failure_is_no_margin_that_is_out_of_reach(analyst, monkeypatch, call):
    """Wherever in the search it happens."""
    calls = count(1)

    def failing(*words):
        if next(calls) == call:
            raise InternalError("a bug", why="it is planted", fix="report it")
        return seal(*words)

    monkeypatch.setattr(answer, "seal", failing)
    with pytest.raises(InternalError):
        analyst.sql("SELECT COUNT(*) FROM people WITHIN 20")
    assert analyst.budget.spent == 0
