"""Intervals of counts that are shown only above a threshold; their coverage is a matter of tests/statistical."""

from fractions import Fraction

import mpmath
import pytest

from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.shown_counts import shown_intervals


def plausible(n, seen, sigma, threshold, share):
    """Whether n is in the interval of the theorem, by sums of 60 digits."""
    with mpmath.workdps(60):
        weight = [
            mpmath.exp(-(mpmath.mpf(y - n) ** 2) / (2 * sigma**2)) for y in range(threshold + 1, seen + 40 * sigma)
        ]
        at = seen - threshold - 1
        shown = mpmath.fsum(weight)
        return mpmath.fsum(weight[at:]) >= share * shown and mpmath.fsum(weight[: at + 1]) >= share * shown


@pytest.mark.parametrize("threshold", [3, 20, 36, 40, 50, 100])
def test_an_interval_reaches_at_least_as_far_as_the_law_allows(threshold):
    """Far from the threshold both probabilities are 0 as doubles: a count is then kept, never left out."""
    law, seen = DiscreteGaussianLaw(sigma_squared=Fraction(1)), threshold + 1
    ((low, high),) = shown_intervals([seen], law=law, threshold=threshold, confidence=Fraction(19, 20))
    inside = [n for n in range(1, seen + 30) if plausible(n, seen, 1, threshold, mpmath.mpf(1) / 40)]
    assert low <= min(inside)
    assert high >= max(inside)


@pytest.mark.parametrize("further", [1, 3])
def test_it_reaches_beyond_where_doubles_end(further):
    """At 385 below the threshold both probabilities are below 10^-320, and one is still 2 % of the other."""
    law, threshold, seen = DiscreteGaussianLaw(sigma_squared=Fraction(100)), 2000, 2001 + further
    ((low, _),) = shown_intervals([seen], law=law, threshold=threshold, confidence=Fraction(19, 20), outputs=1000)
    share = (1 - mpmath.mpf("0.95") ** (mpmath.mpf(1) / 1000)) / 2
    assert plausible(low, seen, 10, threshold, share * (1 - mpmath.mpf("2e-7")))
    assert not plausible(low - 1, seen, 10, threshold, share)
    assert threshold - low > (500 if further == 1 else 300)
