"""Check 9: buy more accuracy for an answer that is there, and pay for what is missing.

A system fails where a more precise answer costs its whole price though the first was paid for; where the two together
are charged more than one precise answer at once; where the margin does not shrink; or where the finer answer, asked
again, is not free.
"""

from fractions import Fraction

import pytest

FLU = "SELECT city, COUNT(*) AS n FROM patients WHERE flu GROUP BY city"
CHARGES = "SELECT SUM(charge) AS total FROM visits WHERE charge > {}"


@pytest.fixture(scope="module")
def bought(ana):
    """An ordinary answer, what a better one would cost, and the better one."""
    first = ana.sql(FLU)
    told = ana.cost(f"{FLU} WITHIN 10")
    before = ana.budget.spent
    better = first.better(within=10)
    return first, told, better, ana.budget.spent - before


def test_the_margin_is_the_one_asked_for(bought):
    first, _, better, _ = bought
    assert all(cell.margin > 10 for cell in first["n"])
    assert all(cell.margin <= 10 for cell in better["n"])
    assert better["city"] == first["city"]


def test_the_price_is_told_before_and_is_the_one_charged(bought):
    _, told, better, charged = bought
    assert told == better.cost.epsilon > 0
    assert abs(charged - told) < Fraction(1, 1000)


def test_both_together_cost_what_one_precise_answer_costs(ana):
    first = ana.sql(CHARGES.format(100))
    half = first["total"][0].margin / 2
    at_once = ana.cost(f"{CHARGES.format(200)} WITHIN {half}")  # the same margin for what nobody has asked about
    rest = first.better(within=half).cost.epsilon
    assert 0 < rest < at_once
    assert float(first.cost.epsilon + rest) == pytest.approx(float(at_once), rel=0.02)


def test_the_answer_says_what_was_paid_when(bought):
    assert any("0.05 was paid before" in note for note in bought[2].notes)


def test_the_better_answer_is_free_from_then_on(ana, bought):
    again = ana.sql(f"{FLU} WITHIN 10")
    assert again.cost.epsilon == 0
    assert [cell.value for cell in again["n"]] == [cell.value for cell in bought[2]["n"]]
    assert bought[0].better(within=15).cost.epsilon == 0
