"""Closed-form privacy curves against integrals and sums of their definitions at high precision."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.privacy.unit import Neighbours
from tests.oracles.curves import (
    composed_laplace_delta,
    gaussian_delta,
    gaussian_exact_epsilon,
    laplace_and_gaussian_delta,
    laplace_delta,
    sampled_gaussian_delta,
)

F = Fraction


def mp(value: float | Fraction) -> mpmath.mpf:
    rational = F(value)
    return mpmath.mpf(rational.numerator) / rational.denominator


def normal_tail(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def balle_wang(mu: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    return normal_tail(epsilon / mu - mu / 2) - mpmath.exp(epsilon) * normal_tail(epsilon / mu + mu / 2)


def test_one_laplace_release_by_integration() -> None:
    """C109: ∫ (p − e^ε q)₊ over the line."""
    for epsilon0, epsilon in ((1.0, 0.5), (2.0, 1.9), (0.3, 0.0)):
        with mpmath.workdps(30):

            def excess(x: mpmath.mpf, e0: float = epsilon0, e: float = epsilon) -> mpmath.mpf:
                p = mp(e0) / 2 * mpmath.exp(-mp(e0) * abs(x))
                q = mp(e0) / 2 * mpmath.exp(-mp(e0) * abs(x - 1))
                return max(mpmath.mpf(0), p - mpmath.exp(mp(e)) * q)

            cut = (1 - mp(epsilon) / mp(epsilon0)) / 2
            true = mpmath.quad(excess, [-200 / mp(epsilon0), 0, cut])
            assert laplace_delta(epsilon0=epsilon0, epsilon=epsilon) == pytest.approx(float(true), rel=1e-12)
    assert laplace_delta(epsilon0=1, epsilon=1) == 0


def laplace_by_recursion(epsilon0: float, k: int, epsilon: mpmath.mpf) -> mpmath.mpf:
    """δ_k(ε) = E[δ_{k−1}(ε − L)] over one Laplace loss, integrated numerically: the definition of composition."""
    e0 = mp(epsilon0)
    if k == 0:
        return max(mpmath.mpf(0), -mpmath.expm1(epsilon))
    inner = [laplace_by_recursion(epsilon0, k - 1, epsilon + shift) for shift in (-e0, e0)]
    breaks = sorted({-e0, e0, *(epsilon + j * e0 for j in range(-k, k + 1) if -e0 < epsilon + j * e0 < e0)})
    middle = mpmath.quad(
        lambda x: laplace_by_recursion(epsilon0, k - 1, epsilon - x) * mpmath.exp((x - e0) / 2) / 4, breaks, maxdegree=4
    )
    return inner[0] / 2 + mpmath.exp(-e0) / 2 * inner[1] + middle


@pytest.mark.parametrize(("epsilon0", "k", "epsilon"), [(1.0, 1, 0.5), (1.0, 2, 1.0), (0.5, 2, 0.0), (3.0, 2, 4.5)])
def test_composed_laplace_by_integration(epsilon0: float, k: int, epsilon: float) -> None:
    """C109: the transform formula against nested integrals."""
    with mpmath.workdps(20):
        true = laplace_by_recursion(epsilon0, k, mp(epsilon))
    assert composed_laplace_delta(epsilon0=epsilon0, k=k, epsilon=epsilon) == pytest.approx(float(true), rel=1e-9)


@given(st.floats(1e-4, 1e3), st.floats(-5, 35))
def test_balle_wang_rounds_up(mu: float, deviations: float) -> None:
    """C109: the Gaussian curve from its middle to 1e-270, without cancellation."""
    epsilon = max(0.0, mu * mu / 2 + deviations * mu)
    got = gaussian_delta(sigma=1 / F(mu), l2=1, k=1, epsilon=epsilon)
    with mpmath.workdps(600 if epsilon > 500 else 150):
        true = balle_wang(mp(mu), mp(epsilon))
        assert true <= got <= true * (1 + mpmath.mpf(10) ** -6) + mpmath.mpf(10) ** -300


@pytest.mark.parametrize(
    ("sigma", "k", "delta"), [(10.0, 30, 1e-5), (1.0, 1, 0.3), (0.5, 4, 1e-12), (50.0, 1000, 1e-6)]
)
def test_the_gaussian_epsilon_is_the_smallest(sigma: float, k: int, delta: float) -> None:
    """C109: k releases are one of sqrt(k) times the distance."""
    found = gaussian_exact_epsilon(sigma=sigma, l2=1, k=k, delta=delta)
    with mpmath.workdps(50):
        mu = mpmath.sqrt(k) / mp(sigma)
        assert balle_wang(mu, mp(found)) <= delta < balle_wang(mu, mp(found * (1 - 1e-9)))


@settings(deadline=None)
@given(st.floats(1e-4, 0.99), st.floats(0.2, 20), st.floats(0, 3))
def test_the_sampled_gaussian_in_both_directions(rate: float, sigma: float, epsilon: float) -> None:
    """C109: from the point where the densities have ratio e^ε, at 60 digits."""
    found = sampled_gaussian_delta(rate=rate, sigma=sigma, l2=1, epsilon=epsilon, neighbours=Neighbours.ADD_REMOVE)
    with mpmath.workdps(120):
        q, s, e = mp(rate), mp(sigma), mp(epsilon)
        cut = s * s * mpmath.log((mpmath.expm1(e) + q) / q) + mpmath.mpf(1) / 2
        remove = q * normal_tail((cut - 1) / s) - (mpmath.expm1(e) + q) * normal_tail(cut / s)
        assert remove * (1 - mpmath.mpf(10) ** -50) <= found.remove <= remove * (1 + mpmath.mpf(10) ** -9) + 1e-290
        left = q + mpmath.expm1(-e)
        add = mpmath.mpf(0)
        if left > 0:
            cut = s * s * mpmath.log(left / q) + mpmath.mpf(1) / 2
            add = (1 - mpmath.exp(e) * (1 - q)) * normal_tail(-cut / s) - mpmath.exp(e) * q * normal_tail(
                -(cut - 1) / s
            )
        assert add * (1 - mpmath.mpf(10) ** -50) <= found.add <= add * (1 + mpmath.mpf(10) ** -9) + 1e-30
    assert found.delta == max(found.remove, found.add)


@pytest.mark.parametrize(
    ("epsilon0", "sigma", "epsilon"),
    [(0.5, 2.0, 1.0), (2.0, 0.5, 3.0), (0.1, 10.0, 0.2), (5.0, 1.0, 0.0), (3.0, 20.0, 3.1)],
)
def test_laplace_with_gaussian_by_integration(epsilon0: float, sigma: float, epsilon: float) -> None:
    """C109: E[δ_G(ε − L)] over the Laplace noise itself, not over its loss."""
    with mpmath.workdps(30):
        e0, mu = mp(epsilon0), 1 / mp(sigma)

        def excess(x: mpmath.mpf) -> mpmath.mpf:
            loss = e0 * (abs(x - 1) - abs(x))
            return e0 / 2 * mpmath.exp(-e0 * abs(x)) * balle_wang(mu, mp(epsilon) - loss)

        true = mpmath.quad(excess, [-60 / e0, -10 / e0, 0, 0.5, 1, 1 + 10 / e0, 1 + 60 / e0])
    got = laplace_and_gaussian_delta(laplace_epsilon0=epsilon0, sigma=sigma, l2=1, epsilon=epsilon)
    assert true * (1 - mpmath.mpf(10) ** -14) <= got <= true * (1 + mpmath.mpf(10) ** -12)
