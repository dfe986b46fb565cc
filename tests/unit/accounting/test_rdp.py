"""Rényi curves against 60-digit closed forms and, for the sampled Gaussian, against integrals of the definition."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.accounting.rdp import (
    ORDERS,
    epsilon_of,
    gaussian_rdp,
    improved_epsilon,
    laplace_rdp,
    randomized_response_rdp,
    rdp_at,
    subsampled_gaussian_rdp,
)
from dpsql.errors import BadParameter
from dpsql.privacy.events import Approximate, Composed, ContinuousGaussian, Event, PoissonSampled, Pure
from tests.kits.accountant_kit import AccountantKit, one_of_each
from tests.kits.digits import mp
from tests.kits.refusals import raised
from tests.kits.samples import some

F = Fraction
orders = st.one_of(st.sampled_from([1.25, 2.0, 3.0, 16.0, 4096.0]), st.floats(1.01, 4000))


def just_above(got: float, true: mpmath.mpf, relative: float) -> bool:
    return bool(true * (1 - mpmath.mpf(10) ** -40) <= got <= true * (1 + mpmath.mpf(relative)))


class TestRdp(AccountantKit):
    events = (*one_of_each(), PoissonSampled(event=Pure(epsilon=F(1)), rate=F(1, 10)))

    def price(self, event: Event) -> float:
        return epsilon_of(event, delta=F(1, 1000))


@given(orders, st.floats(1e-15, 1e5))
def test_mironov_proposition_6_laplace(alpha: float, epsilon: float) -> None:
    """C109: the Rényi curve of Laplace noise, rounded up by a hair at every size."""
    with mpmath.workdps(80):
        a, e = mp(alpha), mp(epsilon)
        inside = a / (2 * a - 1) * mpmath.exp((a - 1) * e) + (a - 1) / (2 * a - 1) * mpmath.exp(-a * e)
        assert just_above(laplace_rdp(alpha=alpha, epsilon=epsilon), mpmath.log(inside) / (a - 1), 1e-12)


@given(orders, st.floats(1e-15, 1e5))
def test_randomized_response_curve(alpha: float, epsilon: float) -> None:
    """C109: from the two probabilities themselves."""
    with mpmath.workdps(80):
        a, e = mp(alpha), mp(epsilon)
        true = mpmath.log((mpmath.exp(a * e) + mpmath.exp((1 - a) * e)) / (1 + mpmath.exp(e))) / (a - 1)
        got = randomized_response_rdp(alpha=alpha, epsilon=epsilon)
        assert just_above(got, true, 1e-12)
    assert laplace_rdp(alpha=alpha, epsilon=epsilon) <= got * (1 + 1e-12)
    assert got <= min(F(epsilon), F(alpha) * F(epsilon) ** 2 / 2) * (1 + F(1, 10**12))


@given(orders, st.floats(1e-3, 1e6), st.floats(0, 1e3))
def test_mironov_proposition_7_gaussian(alpha: float, sigma: float, l2: float) -> None:
    """C109: αl2²/2σ², rounded up."""
    true = F(alpha) * F(l2) ** 2 / (2 * F(sigma) ** 2)
    got = F(gaussian_rdp(alpha=alpha, sigma=sigma, l2=l2))
    assert true <= got <= true * (1 + F(1, 2**52)) + F(1, 2**1074)


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 120), st.floats(0.05, 100), st.floats(1e-6, 0.999))
def test_mironov_talwar_zhang_sampled_gaussian(alpha: int, sigma: float, rate: float) -> None:
    """C109: the sum over whole orders, at 60 digits."""
    with mpmath.workdps(60):
        q, s = mp(rate), mp(sigma)
        true = mpmath.log(
            mpmath.fsum(
                mpmath.binomial(alpha, j) * (1 - q) ** (alpha - j) * q**j * mpmath.exp(j * (j - 1) / (2 * s * s))
                for j in range(alpha + 1)
            )
        ) / (alpha - 1)
        assert just_above(subsampled_gaussian_rdp(alpha=alpha, sigma=sigma, rate=rate), true, 1e-9)


@pytest.mark.parametrize(
    ("rate", "sigma", "alpha"),
    some([(r, s, a) for a in (5, 2) for r, s in ((0.3, 0.7), (0.01, 1.0), (0.7, 2.0))], step=4),
)
def test_both_directions_of_the_sampled_gaussian_are_covered(rate: float, sigma: float, alpha: int) -> None:
    """C109: integrals of the definition; the mixture in front is the larger direction (rdp.md proves it)."""
    got = subsampled_gaussian_rdp(alpha=alpha, sigma=sigma, rate=rate)

    def density(x: mpmath.mpf, centre: int) -> mpmath.mpf:
        return mpmath.exp(-((x - centre) ** 2) / (2 * mp(sigma) ** 2)) / (mp(sigma) * mpmath.sqrt(2 * mpmath.pi))

    def divergence(first: str) -> mpmath.mpf:
        def integrand(x: mpmath.mpf) -> mpmath.mpf:
            mixed, plain = (1 - mp(rate)) * density(x, 0) + mp(rate) * density(x, 1), density(x, 0)
            p, q = (mixed, plain) if first == "mixed" else (plain, mixed)
            return p**alpha * q ** (1 - alpha)

        reach = 12 * sigma + alpha
        return mpmath.log(mpmath.quad(integrand, mpmath.linspace(-reach, reach, 33))) / (alpha - 1)

    assert divergence("mixed") == pytest.approx(got, rel=1e-8)
    assert divergence("plain") <= got


@given(orders, st.floats(1e-9, 1e4), st.floats(1e-250, 0.99))
def test_conversions_round_up(alpha: float, rdp: float, delta: float) -> None:
    """C109: the improved conversion."""
    with mpmath.workdps(60):
        a, r, d = mp(alpha), mp(rdp), mp(delta)
        better = r + mpmath.log((a - 1) / a) - (mpmath.log(d) + mpmath.log(a)) / (a - 1)
        got = improved_epsilon(alpha=alpha, rdp=rdp, delta=delta)
        size = r + abs(mpmath.log((a - 1) / a)) + (abs(mpmath.log(d)) + mpmath.log(a)) / (a - 1)
        assert max(better, 0) <= got <= max(better, 0) + size * mpmath.mpf(10) ** -13


def test_a_pure_history_never_costs_more_than_its_sum() -> None:
    """C109: the order infinity is basic composition."""
    history = Composed((Pure(epsilon=F(1, 10)),) * 3)
    assert epsilon_of(history, delta=1e-9) <= 0.3000000000000001
    many = Composed((Pure(epsilon=F(1, 10)),) * 400)
    assert epsilon_of(many, delta=1e-5) < 12


def test_the_sampled_gaussian_has_no_bound_at_broken_orders() -> None:
    event = PoissonSampled(event=ContinuousGaussian(noise_multiplier=F(1)), rate=F(1, 10))
    assert rdp_at(event, order=2.5).rdp is None
    assert rdp_at(event, order=2.0).rdp is not None
    assert epsilon_of(event, delta=1e-5) > 0


def test_more_delta_than_offered_is_refused() -> None:
    raised(BadParameter, lambda: epsilon_of(Approximate(epsilon=F(1), delta=F(1, 100)), delta=F(1, 100)))


def test_the_orders_are_legal() -> None:
    assert all(1 < order <= 4096 for order in ORDERS)
    assert list(ORDERS) == sorted(set(ORDERS))


def test_a_release_far_outside_the_range_of_its_curve_has_the_simple_bounds() -> None:
    """C109: an ε-DP release has Rényi loss at most αε²/2, and at most ε."""
    tiny, huge = F(1, 2**70), F(2**30)
    assert rdp_at(Pure(epsilon=tiny), order=3).rdp == 3 * tiny**2 / 2
    assert rdp_at(Pure(epsilon=huge), order=3).rdp == huge


def test_the_loss_of_a_composition_is_the_sum_at_every_order() -> None:
    """C109: and nothing, for nothing."""
    parts = (ContinuousGaussian(noise_multiplier=F(2)), ContinuousGaussian(noise_multiplier=F(4)))
    history = Composed((*parts, Composed(parts[:1])))
    assert rdp_at(history, order=3).rdp == 3 * (F(1, 8) + F(1, 32) + F(1, 8))
    assert rdp_at(Composed(()), order=3).rdp == 0
