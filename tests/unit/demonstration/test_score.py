"""How often the attacker is right: against sums that were written down by their definition."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpsql.demonstration.attack import right_guesses

HALF = Fraction(1, 2)


def by_definition(*, epsilon, repeats):
    """The law of the sum of the differences by convolution, and the guess by the likelier side."""
    reach = math.ceil(60 / epsilon)
    one = np.exp(-float(epsilon) * np.abs(np.arange(-reach, reach + 1)))
    one = one / one.sum()
    law = np.ones(1)
    for _ in range(2 * repeats):
        law = np.convolve(law, one)
    off = np.arange(len(law)) - len(law) // 2
    return law[2 * off < repeats].sum() + law[2 * off == repeats].sum() / 2


@pytest.mark.parametrize(
    ("epsilon", "repeats"), [(HALF, 1), (HALF, 2), (HALF, 3), (Fraction(1, 10), 4), (Fraction(2), 5), (HALF, 100)]
)
def test_it_is_what_the_definition_says(epsilon, repeats):
    assert right_guesses(epsilon=epsilon, repeats=repeats) == pytest.approx(
        by_definition(epsilon=epsilon, repeats=repeats), rel=1e-9
    )


def test_the_figures_of_the_story():
    """By hand for one round: with p = exp(-1/2), two noises agree with probability (1-p)²(1+p²) / ((1+p)²(1-p²))."""
    p = math.exp(-0.5)
    agree = (1 - p) ** 2 * (1 + p * p) / ((1 + p) ** 2 * (1 - p * p))
    assert right_guesses(epsilon=HALF, repeats=1) == pytest.approx((1 + agree) / 2, rel=1e-9)
    assert f"{right_guesses(epsilon=HALF, repeats=1):.0%}" == "56%"
    normal = math.erf(50 / math.sqrt(2 * 200 * 2 * p / (1 - p) ** 2))  # a sum of 200 is nearly normal
    assert right_guesses(epsilon=HALF, repeats=100) == pytest.approx((1 + normal) / 2, abs=1e-3)
    assert f"{right_guesses(epsilon=HALF, repeats=100):.0%}" == "90%"
