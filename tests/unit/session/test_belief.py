"""What an ε means for a 50-50 guess, in people of a hundred."""

from fractions import Fraction

import pytest

import dpsql
from tests.kits.refusals import raised


@pytest.mark.parametrize(("epsilon", "after"), [("0.1", 53), ("0.5", 63), ("1", 74), ("3", 96), ("5", 100)])
def test_people_are_rounded_up(epsilon, after):
    """exp(ε)/(1 + exp(ε)) is 52.5, 62.2, 73.1, 95.3 and 99.3 %."""
    chart = dpsql.belief(epsilon=Fraction(epsilon)).chart
    assert (chart.before, chart.after) == (50, after)


def test_the_share_is_said_and_never_below_what_it_is():
    """62.2459…, 99.3307… and 52.4979… %. At ε = ln 3 + 10^-12 it is 75 % and two 10^-11 more: one more person."""
    for epsilon, said in (("0.5", "62.25"), ("5", "99.34"), ("0.1", "52.5")):
        notes = dpsql.belief(epsilon=Fraction(epsilon)).chart.notes
        assert f"at most {said} % sure" in notes[0]
        assert "apart from δ" in " ".join(notes)
    assert dpsql.belief(epsilon=Fraction(1098612288669, 10**12)).chart.after == 76


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), "1"])
def test_no_epsilon(epsilon):
    raised(dpsql.BadParameter, lambda: dpsql.belief(epsilon=epsilon))
