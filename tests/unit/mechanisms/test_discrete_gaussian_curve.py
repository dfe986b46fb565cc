"""The exact (ε, δ) of the discrete Gaussian against plain summation in 60 digits. No chance involved."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.mechanisms.gaussian import gaussian_sigma
from tests.kits.digits import digits, mp
from tests.kits.samples import examples
from tests.oracles.discrete_gaussian_curve import (
    discrete_gaussian_delta,
    discrete_gaussian_epsilon,
    discrete_gaussian_sigma_squared,
)

many_digits = digits(60)
ONE_ULP = 2.3e-16
DUST = mpmath.mpf("1e-40")  # what rounding leaves of the sums below


def hockey_stick(sigma_squared, shift, epsilon):
    """Σ (P(x) - exp(ε) P(x + shift))₊ from the definition."""
    twice, loss = 2 * mp(sigma_squared), mp(epsilon)
    size = float(sigma_squared) ** 0.5
    crossing = float(epsilon) * float(sigma_squared) / shift - shift / 2
    low, high = int(max(crossing, -17 * size)) - 5, int(max(crossing, 0) + 10 * size) + 20
    total = 1 + 2 * mpmath.fsum(mpmath.exp(-x * x / twice) for x in range(1, int(17 * size) + 20))
    zero = mpmath.mpf(0)
    return (
        mpmath.fsum(
            max(zero, mpmath.exp(-x * x / twice) - mpmath.exp(loss - (x + shift) ** 2 / twice))
            for x in range(low, high)
        )
        / total
    )


spreads = st.fractions(Fraction(1, 100), 150, max_denominator=100)
losses = st.one_of(st.just(0), st.floats(1e-6, 12), st.fractions(0, 5, max_denominator=50))


@settings(max_examples=60)
@given(spreads, st.integers(1, 40), losses)
def test_delta_is_the_hockey_stick(sigma_squared, shift, epsilon):
    """CKS Theorem 7 by summation, rounded up by at most one float."""
    true = hockey_stick(sigma_squared, shift, epsilon)
    got = discrete_gaussian_delta(sigma_squared=sigma_squared, shift=shift, epsilon=epsilon)
    if true < 1e-300:
        assert 0 < got < 1e-290
    else:
        assert true * (1 - DUST) <= mp(got) <= true * (1 + ONE_ULP)


@pytest.mark.parametrize(("sigma", "shift"), [(50, 1), (60, 20), (150, 300), (40, 13)])
@pytest.mark.parametrize("epsilon", [0, 0.05, 0.4])
def test_delta_of_wide_laws(sigma, shift, epsilon):
    """The same where sums are taken by Euler and Maclaurin."""
    true = hockey_stick(sigma**2, shift, epsilon)
    got = discrete_gaussian_delta(sigma_squared=sigma**2, shift=shift, epsilon=epsilon)
    assert true <= mp(got) <= true * (1 + ONE_ULP)


@examples(10, every=25)
@given(st.integers(1, 30), st.one_of(st.just(0), st.floats(0.05, 6)), st.floats(1e-12, 0.3))
def test_calibrated_noise_is_enough(shift, epsilon, delta):
    """σ² for (ε, δ): enough by summation, the float below not, and close to the continuous calibration."""
    sigma_squared = discrete_gaussian_sigma_squared(shift=shift, epsilon=epsilon, delta=delta)
    if sigma_squared < 10**4:
        assert hockey_stick(sigma_squared, shift, epsilon) <= mp(delta)
    below = Fraction(math.nextafter(float(sigma_squared), 0))
    assert discrete_gaussian_delta(sigma_squared=below, shift=shift, epsilon=epsilon) > delta
    assert float(sigma_squared) ** 0.5 >= 0.8 * gaussian_sigma(l2=shift, epsilon=epsilon, delta=delta) - 1


@settings(max_examples=25)
@given(st.fractions(Fraction(1, 10), 400, max_denominator=100), st.integers(1, 30), st.floats(1e-12, 0.3))
def test_epsilon_is_the_smallest(sigma_squared, shift, delta):
    epsilon = discrete_gaussian_epsilon(sigma_squared=sigma_squared, shift=shift, delta=delta)
    assert hockey_stick(sigma_squared, shift, epsilon) <= mp(delta)
    assert epsilon == 0 or hockey_stick(sigma_squared, shift, epsilon * (1 - 1e-12)) > mp(delta)
