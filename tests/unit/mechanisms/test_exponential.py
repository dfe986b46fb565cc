"""Frequencies are compared with their law by `MechanismKit`: below 10⁻⁹ false alarms per comparison."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import BadParameter
from dpsql.mechanisms.exponential import (
    ExponentialMechanism,
    exponential_log_probabilities,
    exponential_probabilities,
    exponential_utility_bound,
)
from dpsql.privacy.events import BoundedRange
from dpsql.privacy.exact import Exact
from dpsql.randomness import SYSTEM
from tests.kits.choosing_kit import ChoosingKit

SCORES = st.lists(st.integers(-50, 50), min_size=1, max_size=8)
EPSILONS = st.fractions(Fraction(1, 50), 8)


class TestExponentialKit(ChoosingKit):
    """C039: the exponential mechanism obeys the laws of mechanisms."""

    kind = ExponentialMechanism

    def law(self, scores):
        return exponential_probabilities(scores=scores, sensitivity=1, epsilon=1, monotonic=False)


def test_mcsherry_talwar_two_candidates():
    """C040: 1/(1 + e^ε) for counts 0 and 2, and 1/(1 + e^2ε) if they were monotone."""
    for epsilon in (0.1, 1.0, 3.0):
        low, _ = exponential_probabilities(scores=[0, 2], sensitivity=1, epsilon=epsilon, monotonic=False)
        assert low == pytest.approx(1 / (1 + math.exp(epsilon)), rel=1e-13)
        low, _ = exponential_probabilities(scores=[0, 2], sensitivity=1, epsilon=epsilon, monotonic=True)
        assert low == pytest.approx(1 / (1 + math.exp(2 * epsilon)), rel=1e-13)


@given(scores=SCORES, epsilon=EPSILONS, shift=st.integers(-(10**400), 10**400))
def test_probabilities_are_stable_under_any_shift(scores, epsilon, shift):
    """C040: log-sum-exp; adding 10^400 to every score overflows nothing and changes nothing."""
    arguments = {"sensitivity": 1, "epsilon": epsilon, "monotonic": False}
    here = exponential_probabilities(scores=scores, **arguments)
    there = exponential_probabilities(scores=[score + shift for score in scores], **arguments)
    assert here == there
    assert math.fsum(here) == pytest.approx(1, abs=1e-12)


@given(scores=SCORES, epsilon=EPSILONS)
def test_probabilities_agree_with_fifty_digits(scores, epsilon):
    """C040."""
    with mpmath.workdps(50):
        weights = [mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator * s / 2) for s in scores]
        expected = [float(w / mpmath.fsum(weights)) for w in weights]
    got = exponential_probabilities(scores=scores, sensitivity=1, epsilon=epsilon, monotonic=False)
    assert got == pytest.approx(expected, rel=1e-12)


def test_far_losers_have_probability_zero_and_a_finite_logarithm():
    logs = exponential_log_probabilities(scores=[0, 10**6], scale=1)
    assert logs == [-1e6, 0.0]


def test_the_event_has_bounded_range():
    """C039: the accountant may price ε²/8."""
    assert TestExponentialKit().mechanism().event == BoundedRange(epsilon=Fraction(1))


def test_a_spread_of_any_size_ends_quickly():
    mechanism = ExponentialMechanism(candidates=range(50), sensitivity=1, epsilon=1, monotonic=False, max_candidates=50)
    assert mechanism.release(Exact([10**300 * i for i in range(50)]), source=SYSTEM) == 49


def test_too_many_candidates_are_refused():
    """C043: the limit is the caller's, and stated."""
    with pytest.raises(BadParameter, match="candidates=1000001"):
        ExponentialMechanism(
            candidates=range(10**6 + 1), sensitivity=1, epsilon=1, monotonic=False, max_candidates=10**6
        )


@given(scores=SCORES, epsilon=EPSILONS, t=st.fractions(0, 30), monotonic=st.booleans())
def test_dwork_roth_3_11_bounds_the_exact_tail(scores, epsilon, t, monotonic):
    """C042: the exact probability of a poor choice is at most e^−t, and the directions of rounding are kept."""
    arguments = {"scores": scores, "sensitivity": 1, "epsilon": epsilon, "monotonic": monotonic}
    bound = exponential_utility_bound(**arguments, t=t)
    law = exponential_probabilities(**arguments)
    assert math.fsum(p for s, p in zip(scores, law, strict=True) if s <= bound.threshold) <= bound.failure * (1 + 1e-12)
    with mpmath.workdps(50):
        scale = mpmath.mpf(1 if monotonic else 2) * epsilon.denominator / epsilon.numerator
        exact_t = mpmath.mpf(t.numerator) / t.denominator
        best, optima = max(scores), scores.count(max(scores))
        truth = best - scale * (mpmath.log(mpmath.mpf(len(scores)) / optima) + exact_t)
        corollary = best - scale * (mpmath.log(len(scores)) + exact_t)
        assert bound.threshold <= truth + mpmath.mpf(10) ** -45
        assert bound.corollary <= corollary + mpmath.mpf(10) ** -45
        assert bound.threshold == pytest.approx(float(truth), rel=1e-12, abs=1e-12)
        assert bound.failure >= mpmath.exp(-exact_t)
        assert bound.failure == pytest.approx(float(mpmath.exp(-exact_t)), rel=1e-12)
    assert bound.corollary <= bound.threshold
