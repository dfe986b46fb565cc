"""WITHIN: the price really buys the margin, and less would not; at more of them with DPSQL_EVERY_PLAN=1."""

import os
from fractions import Fraction
from itertools import count, product

import pandas as pd
import pytest

import dpsql
from dpsql.errors import BudgetExhausted, InternalError, NotPermitted, NotSupported
from dpsql.plan.seal import seal
from dpsql.session import answer
from dpsql.session.noisy import Noisy
from tests.kits.owners import AGED, owner_of, people
from tests.kits.refusals import raised

QUESTIONS = [
    "SELECT COUNT(*) FROM people",
    "SELECT COUNT(*), SUM(age) FROM people WHERE age > 5",
    "SELECT 2 * COUNT(*) - SUM(age) AS x FROM people",
    "SELECT ward, COUNT(*), SUM(nights) FROM stays GROUP BY ward",
    "SELECT name, COUNT(*) FROM stays GROUP BY name",
]


def clinic(*, delta):
    stays = pd.DataFrame({"id": [n % 50 for n in range(400)], "ward": [n % 7 for n in range(400)]})
    stays["nights"], stays["name"] = stays["ward"] + 1, [str(n % 3) for n in range(400)]
    words = {"bounds": {"ward": (0, 6), "nights": (0, 9)}, "types": {"name": "text"}, "keys": {"name": "private"}}
    caps = {"rows_per_person": 4, "groups_per_person": 3, "max_keys": 10, "selection_share": 0.25}
    shares = {"epsilon": 100, "delta": delta, "delta_per_query": delta / 1000 or None}  # no price of the policy
    owner = owner_of(stays, "stays", person="id", **words, **caps, **shares)
    owner.register("people", people(100), **AGED)
    return owner


@pytest.fixture(params=[1e-6, 0], ids=["delta", "pure"])
def analyst(request):
    return clinic(delta=request.param).grant("ana", budget=100)


@pytest.fixture(params=[1e-6, 0], ids=["delta", "pure"], scope="module")
def frugal(request):
    """Asks for prices alone."""
    return clinic(delta=request.param).grant("ana", budget=100)


def margin(query):
    return max(each for each in query.margins.values())


EVERY = product((7, 60, 2000), ("0.9", "0.95"))
IN_TURN = ((7, "0.95"), (60, "0.9"), (2000, "0.95"))


@pytest.mark.parametrize(("wanted", "confidence"), EVERY if os.environ.get("DPSQL_EVERY_PLAN") == "1" else IN_TURN)
@pytest.mark.parametrize("sql", QUESTIONS)
def test_the_price_buys_the_margin_and_less_does_not(frugal, sql, wanted, confidence):
    if "name" in sql and frugal.place.accounts[0].delta == 0:  # private groups need delta, at any price
        raised(dpsql.DpsqlError, lambda: frugal.query(f"{sql} WITHIN {wanted}"))
        return
    query = frugal.query(f"{sql} WITHIN {wanted} CONFIDENCE {confidence}")
    assert margin(query) <= wanted
    paid = query.cost.epsilon
    assert paid == Fraction(f"{float(paid):.3g}")
    less = paid * Fraction(98, 100)
    for noise in ("laplace", "gaussian"):
        try:
            cheaper = frugal.query(sql, epsilon=less, noise=noise, confidence=float(confidence))
        except dpsql.DpsqlError:
            continue
        assert margin(cheaper) > wanted


def test_the_answer_has_the_margin_and_the_same_text_the_same_price(analyst):
    sql = "SELECT COUNT(*) AS n, SUM(age) AS s FROM people WITHIN 50"
    assert analyst.cost(sql) == analyst.cost(sql) == analyst.cost(sql)
    assert all(isinstance(cell, Noisy) and cell.margin <= 50 for row in analyst.sql(sql) for cell in row)


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
    owner = clinic(delta=1e-6)
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
    poor = clinic(delta=0).grant("pia", budget=Fraction(1, 20))
    poor.sql("SELECT COUNT(*) FROM people COST 0.05")
    raised(BudgetExhausted, lambda: poor.sql("SELECT SUM(age) FROM people WITHIN 2000"), match="nothing is left")
    assert poor.cost("SELECT COUNT(*) FROM people WITHIN 2000") == 0


@pytest.mark.parametrize("asked", ["AVG(age)", "COUNT(*), VAR_POP(age)", "SUM(age) / COUNT(*)"])
def test_what_needs_the_number_of_rows_is_refused(analyst, asked):
    sql = f"SELECT {asked} FROM people WITHIN 2"
    error = raised(NotSupported, lambda: analyst.sql(sql), match="WITHIN is not possible for")
    assert error.at is not None


@pytest.mark.parametrize("call", [1, 9, 20])
def test_a_failure_is_no_margin_that_is_out_of_reach(analyst, monkeypatch, call):
    """Wherever in the search it happens."""
    calls = count(1)

    def failing(*words):
        if next(calls) == call:
            raise InternalError("a bug", why="it is planted", fix="report it")
        return seal(*words)

    monkeypatch.setattr(answer, "seal", failing)
    raised(InternalError, lambda: analyst.sql("SELECT COUNT(*) FROM people WITHIN 20"))
    assert analyst.budget.spent == 0
