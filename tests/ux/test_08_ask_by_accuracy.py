"""Check 8: ask for ±20 instead of a price.

A system fails where an analyst has to find the price of an accuracy by trying; where the margin of the answer is wider
than what was asked for; where a clearly cheaper price would have sufficed; or where a margin that cannot be paid is not
refused with one that can.
"""

from fractions import Fraction

import pytest

import dpsql

SICK = "SELECT COUNT(*) AS n FROM patients WHERE flu"


@pytest.fixture(scope="module")
def ana(policy):
    with dpsql.connect(policy, user="ana") as ana:
        yield ana


def test_the_price_is_told_before_and_suffices(ana):
    price = ana.cost(f"{SICK} WITHIN 20")
    answer = ana.sql(f"{SICK} WITHIN 20")
    assert answer.cost.epsilon == price > 0
    assert answer["n"][0].margin <= 20


def test_the_price_is_the_cheapest(ana):
    """Discrete Laplace noise of ε is beyond 20 with probability 2 r^21 / (1 + r), r = e^-ε: that is 5 % at 0.146."""
    price = ana.cost(f"{SICK} AND age < 50 WITHIN 20")
    assert Fraction("0.146") <= price < Fraction("0.148")
    cheaper = ana.query(f"{SICK} AND age < 50", epsilon=price * Fraction(99, 100))
    assert cheaper.margins["n"] > 20


def test_less_accuracy_is_cheaper_several_numbers_are_dearer_and_confidence_has_its_price(ana):
    by_city = "SELECT city, COUNT(*) AS n, SUM(age) AS years FROM patients GROUP BY city WITHIN 4000"
    prices = [ana.cost(f"{SICK} AND age > 9 WITHIN {margin}") for margin in (40, 80, 160)]
    assert prices[0] > prices[1] > prices[2] > 0
    assert ana.cost(by_city) > ana.cost("SELECT city, COUNT(*) AS n FROM patients GROUP BY city WITHIN 4000")
    wide, sure = (ana.cost(f"{SICK} AND age > 9 WITHIN 40 CONFIDENCE {c}") for c in ("0.5", "0.99"))
    assert wide < sure


def test_a_margin_that_cannot_be_paid_is_refused_with_one_that_can(ana):
    before = ana.budget.spent
    with pytest.raises(dpsql.BudgetExhausted) as refused:
        ana.sql(f"{SICK} AND age > 30 WITHIN 1")
    assert ana.budget.spent == before
    assert ana.cost(refused.value.try_sql) <= ana.budget.left


def test_the_command_line_and_python_ask_so_too(policy, ana, command):
    words = ["--within", "60", "--yes", "--format", "csv", "--as", "ben", "--quiet"]
    head, row = command([str(policy), "-c", f"{SICK} AND age > 40", *words]).out.split()
    n, low, high = map(int, row.split(","))
    assert head == "n,n_low,n_high"
    assert low < n < high
    assert high - low <= 2 * 60
    assert ana.query(f"{SICK} AND age > 60").run(within=60)["n"][0].margin <= 60
