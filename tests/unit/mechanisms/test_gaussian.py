"""The continuous Gaussian mechanism against 50-digit arithmetic. No chance involved."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import BadParameter, NoTheorem
from dpsql.mechanisms.gaussian import (
    gaussian_accuracy,
    gaussian_accuracy_bound,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_sigma,
    gaussian_sigma_classic,
)
from tests.kits.digits import digits, mp
from tests.kits.refusals import raised
from tests.kits.samples import examples

many_digits = digits(60)
deltas = st.integers(-15, -1).flatmap(lambda e: st.floats(10.0**e, 9.9 * 10.0**e))
ONE_ULP = 2.3e-16


def true_delta(l2, sigma, epsilon):
    """Balle and Wang's formula as printed, with digits enough for its cancellation."""
    with mpmath.workdps(150):
        ratio, epsilon = mp(l2) / mp(sigma), mp(epsilon)
        return mpmath.ncdf(ratio / 2 - epsilon / ratio) - mpmath.exp(epsilon) * mpmath.ncdf(
            -ratio / 2 - epsilon / ratio
        )


@pytest.mark.parametrize(("sigma", "epsilon"), [(1, 1), (2, 0.5), (0.5, 5), (10, 0), (0.7, 0.1)])
def test_delta_is_the_hockey_stick(sigma, epsilon):
    """C029: the curve by quadrature of (f(x) - exp(ε) f(x - 1))₊, no formula but the density."""
    factor = mpmath.exp(epsilon)
    start = mpmath.mpf(epsilon) * sigma**2 - mpmath.mpf(1) / 2  # where the two densities cross

    def excess(x):
        return mpmath.npdf(x, 0, sigma) - factor * mpmath.npdf(x, -1, sigma)

    true = mpmath.quad(excess, mpmath.linspace(start, start + 40 * sigma, 40))
    assert gaussian_delta(l2=1, sigma=sigma, epsilon=epsilon) == pytest.approx(float(true), rel=1e-14)


@given(st.floats(1e-6, 1e6), st.floats(-9, 9), st.one_of(st.just(0.0), st.floats(1e-9, 50)))
def test_delta_rounds_up_by_one_unit(l2, exponent, epsilon):
    """C029: never below the exact curve and at most one float above it, from σ = 10⁻⁹ l2 to σ = 10⁹ l2."""
    sigma = l2 * 10.0**exponent
    true, got = true_delta(l2, sigma, epsilon), gaussian_delta(l2=l2, sigma=sigma, epsilon=epsilon)
    if true < 1e-300:
        assert 0 < got < 1e-299
    else:
        assert true <= mp(got) <= true * (1 + ONE_ULP)


@examples(25)
@given(st.floats(1e-3, 1e5), st.one_of(st.just(0), st.floats(1e-4, 30)), deltas)
def test_analytic_sigma_is_the_smallest_float(l2, epsilon, delta):
    """C029: enough noise, and the float below is not enough."""
    sigma = gaussian_sigma(l2=l2, epsilon=epsilon, delta=delta)
    assert true_delta(l2, sigma, epsilon) <= mp(delta)
    assert true_delta(l2, sigma * (1 - 1e-13), epsilon) > mp(delta)


@examples(25)
@given(st.floats(0.05, 100), deltas)
def test_epsilon_is_the_smallest_float(sigma, delta):
    """C029: the curve read the other way; 0 where δ alone is enough."""
    epsilon = gaussian_epsilon(l2=1, sigma=sigma, delta=delta)
    assert true_delta(1, sigma, epsilon) <= mp(delta)
    assert epsilon == 0 or true_delta(1, sigma, epsilon * (1 - 1e-13)) > mp(delta)


@examples(25)
@given(st.floats(1e-3, 1e5), st.floats(1e-6, 1, exclude_max=True), st.floats(1e-15, 1 - 1e-9))
def test_classic_sigma_is_enough_below_one(l2, epsilon, delta):
    """C028: for ε < 1 the textbook σ satisfies its δ, by the exact curve, and rounds up."""
    sigma = gaussian_sigma_classic(l2=l2, epsilon=epsilon, delta=delta)
    true = mp(l2) * mpmath.sqrt(2 * mpmath.log(mpmath.mpf("1.25") / mp(delta))) / mp(epsilon)
    assert true <= mp(sigma) <= true * (1 + ONE_ULP)
    assert true_delta(l2, sigma, epsilon) <= mp(delta)
    assert gaussian_sigma(l2=l2, epsilon=epsilon, delta=delta) <= sigma


@pytest.mark.parametrize("epsilon", [1, 1.0, Fraction(1), 4, 20, 10**400])
def test_classic_sigma_is_refused_from_one_on(epsilon):
    """C028: ε < 1 is enforced."""
    raised(NoTheorem, lambda: gaussian_sigma_classic(l2=1, epsilon=epsilon, delta=1e-5))


@examples(40)
@given(st.floats(1e-6, 1e6), st.floats(1e-100, 1 - 1e-12))
def test_accuracy_is_exceeded_with_probability_beta(sigma, beta):
    """C030: Pr[|N| > α] = β, rounded so that it is never above; the closed bound is never smaller."""
    with mpmath.workdps(150):
        alpha = gaussian_accuracy(sigma=sigma, beta=beta)
        size = mp(alpha) / mp(sigma)
        assert mpmath.erfc(size / mpmath.sqrt(2)) <= mp(beta)
        assert mpmath.erfc(size * (1 - 1e-15) / mpmath.sqrt(2)) > mp(beta)
        bound = gaussian_accuracy_bound(sigma=sigma, beta=beta)
        true = mp(sigma) * mpmath.sqrt(-2 * mpmath.log(mp(beta)))
        assert true <= mp(bound) <= true * (1 + ONE_ULP)
        assert alpha <= bound


def test_accuracy_of_a_rational_next_to_one():
    """C030: β = 1 - 10⁻²⁰ is no float; its α is 10⁻²⁰ sqrt(π/2), not 0."""
    got = gaussian_accuracy(sigma=1, beta=1 - Fraction(1, 10**20))
    assert got == pytest.approx(1e-20 * math.sqrt(math.pi / 2), rel=1e-9)


@pytest.mark.parametrize("sigma", [1e-150, 1e-3, 1e3, 1e150])
def test_extremes_of_the_curve(sigma):
    assert gaussian_delta(l2=1, sigma=sigma, epsilon=0) == pytest.approx(float(true_delta(1, sigma, 0)), rel=1e-15)
    assert gaussian_delta(l2=1, sigma=1e-150, epsilon=1) == 1.0
    assert gaussian_delta(l2=1, sigma=1e150, epsilon=1) == math.ulp(0.0)


def test_no_float_is_large_enough():
    raised(BadParameter, lambda: gaussian_epsilon(l2=1e150, sigma=1e-150, delta=1e-5), match="no floating-point number")
