"""The exact cost of smooth noise against 50-digit integrals. No test here is statistical."""

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.mechanisms.smooth_loss import cauchy_loss_bound, gamma_tail, laplace_worst_delta, scale_change_delta
from tests.oracles.smooth_loss import cauchy_worst_loss_found


def real(value):
    return mpmath.mpf(value.numerator) / value.denominator


def laplace_hockey_stick(epsilon, shift, ratio):
    """∫ (p - e^ε q)_+ for p = Lap(0, 1) and q = Lap(shift, ratio), from the sign changes of p - e^ε q alone."""
    epsilon, shift, ratio = map(mpmath.mpf, (epsilon, shift, ratio))

    def loss(z):
        return -abs(z) + abs(z - shift) / ratio + mpmath.log(ratio) - epsilon

    def p_below(z):
        return mpmath.exp(z) / 2 if z < 0 else 1 - mpmath.exp(-z) / 2

    def q_below(z):
        return mpmath.exp((z - shift) / ratio) / 2 if z < shift else 1 - mpmath.exp(-(z - shift) / ratio) / 2

    corners = [mpmath.mpf(-10) ** 9, mpmath.mpf(0), shift, mpmath.mpf(10) ** 9]  # the loss is linear in between
    total = mpmath.mpf(0)
    for left, right in pairwise(corners):
        if left == right:
            continue
        at_left, at_right = loss(left), loss(right)
        if at_left * at_right < 0:
            root = left - at_left * (right - left) / (at_right - at_left)
            left, right = (left, root) if at_left > 0 else (root, right)
        elif at_left <= 0 and at_right <= 0:
            continue
        # tails are integrated from the near end, so that nothing cancels
        if left >= 0 and left >= shift:
            total += mpmath.exp(-left) / 2 - mpmath.exp(epsilon - (left - shift) / ratio) / 2
        else:
            total += p_below(right) - p_below(left) - mpmath.exp(epsilon) * (q_below(right) - q_below(left))
    return total


PARAMETERS = [(e, d) for e in (0.1, 0.5, 1, 2, 4, 5, 8, 12, 20) for d in (0.3, 1e-2, 1e-5, 1e-10)]


def one_dimensional_beta(epsilon, delta):
    return epsilon / (2 * math.log(2 / delta))


@pytest.mark.parametrize(("epsilon", "delta"), PARAMETERS)
def test_the_worst_delta_of_smooth_laplace_is_the_supremum_over_shifts_and_scales(epsilon, delta):
    """C081: no allowed shift and scale exceeds the closed form, and the extreme one attains it."""
    beta = one_dimensional_beta(epsilon, delta)
    with mpmath.workdps(60):
        low, high = map(real, laplace_worst_delta(epsilon=epsilon, beta=beta))
        extreme = mpmath.exp(-mpmath.mpf(beta))
        attained = laplace_hockey_stick(epsilon, mpmath.mpf(epsilon) / 2 * extreme, extreme)
        assert low <= high <= low * (1 + mpmath.mpf(2) ** -90)
        assert abs(attained - high) <= mpmath.mpf(10) ** -40 * (1 + mpmath.exp(epsilon))
        for step in range(-8, 9):
            ratio = mpmath.exp(mpmath.mpf(beta) * step / 8)
            for part in range(5):
                shift = mpmath.mpf(epsilon) / 2 * min(ratio, 1) * part / 4
                assert laplace_hockey_stick(epsilon, shift, ratio) <= high + mpmath.mpf(10) ** -40


@pytest.mark.parametrize("dimensions", [1, 2, 7, 100, 1000])
@pytest.mark.parametrize(("epsilon", "beta"), [(0.1, 0.0026), (1, 0.0345), (1, 0.007), (3, 0.4), (0.5, 1.5)])
def test_scale_change_alone_is_a_difference_of_gamma_tails(epsilon, beta, dimensions):
    """C082: against mpmath's regularised incomplete gamma function, rounded outward."""
    low, high = scale_change_delta(epsilon=epsilon, beta=beta, dimensions=dimensions)
    with mpmath.workdps(400):
        e, b = mpmath.mpf(epsilon), mpmath.mpf(beta)
        r = mpmath.exp(-b)
        g = r * (e + dimensions * b) / (1 - r)
        true = mpmath.gammainc(dimensions, g, regularized=True) - mpmath.exp(e) * mpmath.gammainc(
            dimensions, g / r, regularized=True
        )
        assert real(low) <= true <= real(high)
        assert real(high) <= real(low) * (1 + mpmath.mpf(2) ** -80)


@settings(max_examples=60, deadline=None)
@given(shape=st.integers(1, 300), x=st.floats(1e-2, 2000))
def test_gamma_tail_encloses_the_truth(shape, x):
    low, high = gamma_tail(Fraction(x), shape=shape)
    with mpmath.workdps(1600):  # 1 - 10**-1214 at worst
        true = mpmath.gammainc(shape, mpmath.mpf(x), regularized=True)
        assert real(low) <= true <= real(high)


@settings(max_examples=60, deadline=None)
@given(epsilon=st.floats(0.01, 20), gamma=st.floats(1.01, 30))
def test_cauchy_loss_never_exceeds_its_bound(epsilon, gamma):
    """C080: what a grid finds is below c(α + β), which is below ε."""
    found = cauchy_worst_loss_found(epsilon=epsilon, gamma=gamma, points=1001)
    bound = cauchy_loss_bound(epsilon=epsilon, gamma=gamma, slack=0)
    assert found <= float(bound) * (1 + 1e-9)
    assert bound < epsilon
