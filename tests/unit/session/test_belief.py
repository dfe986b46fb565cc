"""What an ε means for a 50-50 guess, in people of a hundred."""

from fractions import Fraction

import pytest

import dpsql


@pytest.mark.parametrize(("epsilon", "after"), [("0.1", 53), ("0.5", 63), ("1", 74), ("3", 96), ("5", 100)])
def test_people_are_rounded_up(epsilon, after):
    """exp(ε)/(1 + exp(ε)) is 52.5, 62.2, 73.1, 95.3 and 99.3 %."""
    chart = dpsql.belief(epsilon=Fraction(epsilon)).chart
    assert (chart.before, chart.after) == (50, after)


def test_the_exact_share_is_said():
    assert "at most 62.25 % sure" in dpsql.belief(epsilon=0.5).chart.notes[0]


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), "1"])
def test_no_epsilon(epsilon):
    with pytest.raises(dpsql.BadParameter):
        dpsql.belief(epsilon=epsilon)
