"""zCDP conversions: certified, against 60-digit minimisation over all Rényi orders."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.accounting import zcdp
from dpsql.accounting.triple import Triple
from dpsql.enclosure import sqrt_bounds
from dpsql.errors import BadParameter, UnsupportedEvent
from dpsql.mechanisms.gaussian import gaussian_epsilon
from dpsql.privacy.events import Approximate, Composed, Event, PoissonSampled, Pure
from tests.kits.accountant_kit import AccountantKit, one_of_each
from tests.kits.digits import mp
from tests.kits.refusals import raised
from tests.kits.samples import examples
from tests.oracles.accounting import standard_epsilon, standard_rho

F = Fraction
rhos = st.floats(1e-12, 1e3)
epsilons = st.floats(1e-6, 500)
deltas = st.floats(1e-250, 0.9)


class TestZcdp(AccountantKit):
    events = one_of_each(without={PoissonSampled})

    def price(self, event: Event) -> float:
        return zcdp.epsilon_of(event, delta=F(1, 1000))


def cks(rho: mpmath.mpf, delta: mpmath.mpf, order: mpmath.mpf) -> mpmath.mpf:
    """Proposition 12 of Canonne, Kamath, Steinke (2020), as the paper prints it, at one order."""
    return rho * order + mpmath.log(1 / (order * delta)) / (order - 1) + mpmath.log(1 - 1 / order)


def best(rho: float | Fraction, delta: float) -> mpmath.mpf:
    """The minimum over orders, by golden-section search in ln(α − 1): the function has one valley."""
    low, high = mpmath.mpf(-120), mpmath.mpf(800)
    ratio = (mpmath.sqrt(5) - 1) / 2

    def at(x: mpmath.mpf) -> mpmath.mpf:
        return cks(mp(rho), mp(delta), 1 + mpmath.exp(x))

    a, b = high - ratio * (high - low), low + ratio * (high - low)
    for _ in range(220):
        if at(a) < at(b):
            high, b, a = b, a, b - ratio * (b - low)
        else:
            low, a, b = a, b, a + ratio * (high - a)
    return max(mpmath.mpf(0), at((low + high) / 2))


@settings(deadline=None, max_examples=30)
@given(rhos, deltas)
def test_cks_conversion_is_the_minimum_over_orders(rho: float, delta: float) -> None:
    """C109: never below the true minimum, and within 1e-14 of it."""
    with mpmath.workdps(60):
        true = best(rho, delta)
        got = zcdp.optimal_epsilon(rho=rho, delta=delta)
        assert true - mpmath.mpf(10) ** -25 <= got <= true * (1 + mpmath.mpf(10) ** -14) + mpmath.mpf(10) ** -25
    assert got <= standard_epsilon(rho=rho, delta=delta)


@pytest.mark.parametrize("rho", [1e-4, 0.1, 0.5, 2.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-5, 0.1])
def test_the_conversion_covers_gaussian_noise(rho: float, delta: float) -> None:
    """C109: Gaussian noise of this ρ has an exact ε below the converted one."""
    sigma = zcdp.gaussian_sigma(rho=rho, l2=1)
    assert gaussian_epsilon(l2=1, sigma=sigma, delta=delta) <= zcdp.optimal_epsilon(rho=rho, delta=delta)


@settings(deadline=None, max_examples=60)
@given(epsilons, deltas)
def test_the_largest_rho_is_proven_and_largest(epsilon: float, delta: float) -> None:
    """C109: some order proves it at 60 digits; one part in 10**12 more converts to more than ε."""
    rho = zcdp.largest_rho(epsilon=epsilon, delta=delta)
    with mpmath.workdps(60):
        assert best(rho, delta) <= mp(epsilon) < best(rho * (1 + F(1, 10**12)), delta)
    assert zcdp.optimal_epsilon(rho=rho, delta=delta) <= epsilon
    assert rho >= standard_rho(epsilon=epsilon, delta=delta)


@examples(8, every=25)
@given(st.floats(1e-4, 50), st.floats(1e-60, 0.5))
def test_no_other_order_certifies_more(epsilon: float, delta: float) -> None:
    """C109: the order found is the best of a fine grid of orders, evaluated at 60 digits."""
    largest = zcdp.largest_rho(epsilon=epsilon, delta=delta)
    with mpmath.workdps(60):
        for step in range(-300, 600):
            order = 1 + mpmath.exp(mpmath.mpf(step) / 20)
            rho = (mp(epsilon) + mpmath.log(order * mp(delta)) / (order - 1) - mpmath.log(1 - 1 / order)) / order
            assert rho <= mp(largest) * (1 + mpmath.mpf(10) ** -15)


def test_the_price_of_gaussian_noise_is_exact() -> None:
    """C109: ρ = l2²/2σ²."""
    assert zcdp.gaussian_rho(sigma=5, l2=2) == F(2, 25)
    assert zcdp.gaussian_rho(sigma=5, l2=0) == 0


@given(st.floats(1e-30, 1e6), st.floats(0, 1e6))
def test_gaussian_sigma_rounds_up(rho: float, l2: float) -> None:
    sigma = zcdp.gaussian_sigma(rho=rho, l2=l2)
    assert sigma == 0 if l2 == 0 else zcdp.gaussian_rho(sigma=sigma, l2=l2) <= F(rho)


def test_the_accountant_pays_the_deltas_first() -> None:
    history = Composed((Approximate(epsilon=F(1), delta=F(1, 10**6)),) * 3)
    assert zcdp.epsilon_of(history, delta=F(4, 10**6)) == zcdp.optimal_epsilon(rho=F(3, 2), delta=F(1, 10**6))
    raised(BadParameter, lambda: zcdp.epsilon_of(history, delta=F(3, 10**6)))


@given(st.fractions(min_value=0, max_value=F(10**30)), st.integers(8, 200))
def test_square_roots_are_enclosed(x: Fraction, bits: int) -> None:
    low, high = sqrt_bounds(x, bits=bits)
    assert low * low <= x <= high * high
    assert high - low <= low / 2**bits


def test_a_release_without_a_finite_rho_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """No event of today is one; a triple may be."""
    without = Triple(epsilon=F(1), delta=F(0), rho=None)
    monkeypatch.setattr(zcdp, "approximate_zcdp", lambda event: without)
    raised(UnsupportedEvent, lambda: zcdp.epsilon_of(Pure(epsilon=F(1)), delta=F(1, 1000)), match="finite ρ")
