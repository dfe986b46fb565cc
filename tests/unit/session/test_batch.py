"""Several questions for one price."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import pytest

import dpsql


@pytest.fixture
def analyst():
    owner = dpsql.open(":memory:")
    people = pd.DataFrame({"id": range(100), "age": [n % 90 for n in range(100)]})
    owner.register("people", people, person="id", unique=True, bounds={"age": (0, 100)})
    owner.promise(epsilon=1)
    owner.defaults(max_keys=10)
    return owner.grant("ana", budget=1)


def test_the_price_is_shared_equally(analyst):
    one, two = analyst.run(["SELECT COUNT(*) FROM people", "SELECT SUM(age) FROM people"], total=0.5)
    assert one.cost.epsilon == two.cost.epsilon == Fraction(1, 4)
    assert analyst.budget.spent == Fraction(1, 2)


def test_the_price_is_shared_by_weight(analyst):
    with analyst.plan(total=0.4) as together:
        little = together.sql("SELECT COUNT(*) FROM people")
        much = together.sql("SELECT SUM(age) FROM people", weight=3)
    assert little.answer.cost.epsilon == Fraction(1, 10)
    assert much.answer.cost.epsilon == Fraction(3, 10)


def test_nothing_is_paid_where_one_question_is_refused(analyst):
    with pytest.raises(dpsql.Refused):
        analyst.run(["SELECT COUNT(*) FROM people", "SELECT * FROM people"], total=0.5)
    assert analyst.budget.spent == 0


def test_an_error_inside_the_block_runs_nothing(analyst):
    with pytest.raises(KeyError), analyst.plan(total=0.5) as together:
        raise KeyError(together.sql("SELECT COUNT(*) FROM people"))
    assert analyst.budget.spent == 0


def test_answers_are_there_after_the_block(analyst):
    with pytest.raises(dpsql.BadParameter, match="has not run"), analyst.plan(total=0.5) as together:
        _ = together.sql("SELECT COUNT(*) FROM people").answer


@pytest.mark.parametrize("total", [0, -1, float("nan"), float("inf")])
def test_a_price_is_a_positive_number(analyst, total):
    with pytest.raises(dpsql.BadParameter):
        analyst.plan(total=total)
