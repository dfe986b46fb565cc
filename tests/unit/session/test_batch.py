"""Several questions for one price."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import pytest

import dpsql
import dpsql.session.query
from dpsql.errors import BadKey, NotPermitted, NotSupported


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


def test_no_questions_have_no_answers(analyst):
    assert analyst.run([], total=0.5) == analyst.run([], total=0.5, delta=1e-9) == []
    assert analyst.budget.spent == 0


@pytest.mark.parametrize("said", ["COST 0.1", "WITHIN 20"])
def test_a_price_in_the_text_of_a_question_is_set_against_the_total(analyst, said):
    sql = f"SELECT COUNT(*) FROM people {said}"
    with pytest.raises(dpsql.BadParameter) as caught:
        analyst.run([sql, "SELECT SUM(age) FROM people"], total=0.5)
    assert "total=0.5" in caught.value.what
    assert "argument" not in str(caught.value)
    assert sql[slice(*caught.value.at)] == said.split()[1]


def test_a_price_in_the_text_may_be_the_share(analyst):
    one, _ = analyst.run(["SELECT COUNT(*) FROM people COST 0.25", "SELECT SUM(age) FROM people"], total=0.5)
    assert one.cost.epsilon == Fraction(1, 4)


def test_a_share_above_the_cap_is_said_to_be_one():
    owner = dpsql.open(":memory:")
    owner.register("people", pd.DataFrame({"id": range(9)}), person="id", unique=True)
    owner.promise(epsilon=1)
    capped = owner.grant("ana", budget=1, max_per_query=0.1)
    with pytest.raises(NotPermitted) as caught:
        capped.run([f"SELECT COUNT(*) FROM people WHERE id > {n}" for n in range(4)], total=1)
    assert caught.value.what == "the share of this question of total=1 is 0.25, above your limit of 0.1 per query"
    assert caught.value.try_sql is None  # a price in the text would be refused


def test_nothing_is_paid_where_one_question_is_refused(analyst):
    with pytest.raises(dpsql.Refused):
        analyst.run(["SELECT COUNT(*) FROM people", "SELECT * FROM people"], total=0.5)
    assert analyst.budget.spent == 0


PRICED = ["SELECT COUNT(*) FROM people", "SELECT SUM(age) FROM people", "SELECT COUNT(*) FROM people WHERE age > 9"]


def test_nothing_is_paid_where_the_questions_do_not_fit_together(analyst):
    """Each costs 1, as much as the whole grant: the first alone would fit."""
    with pytest.raises(dpsql.BudgetExhausted, match=r"cost 3 together, more than the promise and your grant"):
        analyst.run(PRICED, total=3)
    assert analyst.budget.spent == 0
    assert len(analyst.run(PRICED, total=1)) == 3
    assert analyst.budget.spent == 1


def test_what_is_left_after_another_question_counts(analyst):
    analyst.sql(PRICED[0], epsilon=0.5)
    with pytest.raises(dpsql.BudgetExhausted, match=r"in ε, 0\.5 is left"):
        analyst.run(PRICED[1:], total=0.6)
    assert analyst.budget.spent == Fraction(1, 2)


def test_a_question_asked_twice_and_an_explanation_fit(analyst):
    """Twins are one payment, and an explanation none: 1/3 for the count, 1/3 for nothing, 1/3 for the plan."""
    twin = "select count(*)  from people"
    one, two, plan = analyst.run([PRICED[0], twin, f"EXPLAIN PRIVACY {PRICED[1]}"], total=3)
    assert one["COUNT(*)"][0].value == two.rows[0][0].value
    assert [answer.cost.epsilon for answer in (one, two, plan)] == [1, 0, 0]
    assert analyst.budget.spent == 1


def test_what_is_simulated_takes_no_share(analyst):
    """With a share of its own it would leave the other question half the price, and twice the noise."""
    count = "SELECT COUNT(*) FROM people"
    with pytest.raises(NotSupported, match="SIMULATE has no part in a batch") as refused:
        analyst.run([f"SIMULATE {count}", count], total=0.5)
    assert "by itself" in refused.value.fix
    with pytest.raises(NotSupported):
        _ = _planned(analyst, count, f"simulate {count}").cost
    assert analyst.budget.spent == 0


def _planned(analyst, *statements):
    together = analyst.plan(total=0.5)
    for sql in statements:
        together.sql(sql)
    return together


def test_a_question_is_planned_once(analyst, monkeypatch):
    planned = []
    real = dpsql.session.query.plan_of

    def counted(text, *rest, **more):
        planned.append(text)
        return real(text, *rest, **more)

    monkeypatch.setattr(dpsql.session.query, "plan_of", counted)
    analyst.run(PRICED, total=0.5)
    assert planned == PRICED


def test_too_many_public_keys_are_found_before_anything_is_paid():
    owner = dpsql.open(":memory:")
    owner.register("people", pd.DataFrame({"id": range(9), "ward": 1}), person="id", unique=True, columns=["ward"])
    owner.register("wards", pd.DataFrame({"ward": range(5)}), public=True, columns=["ward"])
    owner.promise(epsilon=1)
    owner.defaults(max_keys=4)
    analyst = owner.grant("ana", budget=1)
    many = "SELECT w.ward, COUNT(*) FROM people p JOIN wards w ON p.ward = w.ward GROUP BY w.ward"
    with pytest.raises(BadKey):
        analyst.run(["SELECT COUNT(*) FROM people", many], total=1)
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


ABOVE = "SELECT COUNT(*) FROM people WHERE age > PRIVATE (SELECT AVG(age) FROM people)"
ABOVE_OLD = "SELECT COUNT(*) FROM people WHERE age > PRIVATE (SELECT AVG(age) FROM people WHERE age > 60)"


def test_questions_that_await_different_answers_are_no_twins(analyst):
    """Both count those above \"the answer to the first question of the statement\": four payments of 0.3, not three."""
    with pytest.raises(dpsql.BudgetExhausted, match=r"cost 1\.2 together"):
        analyst.run([ABOVE, ABOVE_OLD], total=1.2)
    assert analyst.budget.spent == 0
    analyst.run([ABOVE, ABOVE_OLD], total=1)
    assert analyst.budget.spent == 1


def test_questions_that_await_the_same_answer_are_twins(analyst):
    one, two = analyst.run([ABOVE, ABOVE], total=2)
    assert one.rows[0][0].value == two.rows[0][0].value
    assert analyst.budget.spent == 1


def test_an_inner_question_that_the_batch_has_asked_before_is_paid_for_once(analyst):
    """0.5 for the mean, which the second statement finds stored, and 0.5 for its own count."""
    with analyst.plan(total=1.5) as together:
        mean = together.sql("SELECT AVG(age) FROM people")
        above = together.sql(ABOVE, weight=2)
    assert (mean.answer.cost.epsilon, above.answer.cost.epsilon) == (Fraction(1, 2), Fraction(1, 2))
    assert analyst.budget.spent == 1
