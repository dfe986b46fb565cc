"""The discrete Gaussian law and mechanism.

Tests of chance are those of `MechanismKit`: each comparison fails by accident less than once in 10⁹ runs. All others
sum probabilities.
"""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql import randomness
from dpsql.mechanisms.discrete_gaussian import (
    DiscreteGaussianLaw,
    DiscreteGaussianMechanism,
    VectorDiscreteGaussianMechanism,
    gaussian_noise,
    rho_for,
    sigma_squared_for_rho,
    upper_tail,
)
from dpsql.privacy import events
from dpsql.privacy.digits import working
from dpsql.testing.fixed import SeededSource
from tests.kits.digits import digits, mp
from tests.kits.mechanism_kit import MechanismKit
from tests.kits.methods import always

many_digits = digits(50)


def law_by_summation(sigma_squared, reach):
    """Probabilities of -reach..reach from the definition, normalised by their own sum."""
    raw = {x: mpmath.exp(-x * x / (2 * mp(sigma_squared))) for x in range(-reach, reach + 1)}
    total = mpmath.fsum(raw.values())
    return {x: weight / total for x, weight in raw.items()}, total


@pytest.mark.parametrize("sigma_squared", [Fraction(1, 4), Fraction(1), Fraction(9, 2), Fraction(100)])
def test_law_by_summation(sigma_squared):
    law = DiscreteGaussianLaw(sigma_squared=sigma_squared)
    true, total = law_by_summation(sigma_squared, 160)
    assert mpmath.almosteq(mp(law.normaliser), total, rel_eps=1e-15)
    variance = mpmath.fsum(x * x * w for x, w in true.items())
    assert mpmath.almosteq(mp(law.variance), variance, rel_eps=1e-15)
    assert law.std == pytest.approx(math.sqrt(law.variance), rel=1e-15)
    for x in range(-15, 16):
        assert mpmath.almosteq(mp(law.pmf(x)), true[x], rel_eps=1e-15)
        assert mpmath.almosteq(mp(law.cdf(x)), mpmath.fsum(w for y, w in true.items() if y <= x), rel_eps=1e-15)
    for m in range(15):
        tail = mpmath.fsum(w for y, w in true.items() if abs(y) > m)
        assert tail <= mp(law.tail(m)) <= tail * (1 + 3e-16)


@pytest.mark.parametrize("sigma", [37, 60, 150])
@pytest.mark.parametrize("share", [0, Fraction(1, 3), 2, 5, 14])
def test_tails_of_wide_laws_by_summation(sigma, share):
    """Where sums are taken by Euler and Maclaurin, as far out as that goes and beyond."""
    m = int(sigma * share)
    true, _ = law_by_summation(Fraction(sigma**2), 25 * sigma)
    tail = mpmath.fsum(true[x] for x in range(m + 1, 25 * sigma + 1))
    with working():
        got = mp(upper_tail(m + 1, Fraction(sigma**2)))
    assert abs(got - tail) <= tail * mpmath.mpf("1e-40")


@given(st.fractions(Fraction(1, 10**4), 10**12, max_denominator=10**4))
def test_variance_is_never_above_sigma_squared(sigma_squared):
    assert DiscreteGaussianLaw(sigma_squared=sigma_squared).variance <= sigma_squared * (1 + Fraction(1, 2**52))


def coverage(sigma_squared, m):
    """Pr[|X| <= m]; wide laws by the continuous integral, which differs by exp(-2π²σ²) and less at its ends."""
    reach = int(16 * float(sigma_squared) ** 0.5) + 20
    true, _ = law_by_summation(sigma_squared, reach)
    return mpmath.fsum(true[x] for x in range(-min(m, reach), min(m, reach) + 1))


@settings(max_examples=25)
@given(
    st.fractions(Fraction(1, 20), 900, max_denominator=100),
    st.fractions(Fraction(1, 100), Fraction(999_999, 10**6)),
    st.sampled_from([1, 3, 500]),
)
def test_margin_is_the_smallest_that_covers(sigma_squared, confidence, outputs):
    """Coverage of [-m, m] by summation of the law: at least the confidence, and below it for m - 1."""
    m = DiscreteGaussianLaw(sigma_squared=sigma_squared).margin(confidence=confidence, outputs=outputs)
    assert coverage(sigma_squared, m) ** outputs >= mp(confidence)
    assert m == 0 or coverage(sigma_squared, m - 1) ** outputs < mp(confidence)


@pytest.mark.parametrize("sigma", [10**4, 10**9, 10**40])
def test_margin_of_a_wide_law(sigma):
    """Between σ z - 1 and σ z + 1 with z the normal quantile: the law is nearly continuous there."""
    m = DiscreteGaussianLaw(sigma_squared=Fraction(sigma) ** 2).margin(confidence=Fraction(19, 20))
    quantile = mpmath.sqrt(2) * mpmath.erfinv(mpmath.mpf("0.95"))
    assert abs(m - sigma * quantile) <= 1


@given(st.fractions(Fraction(1, 1000), 1000), st.fractions(Fraction(1, 1000), 1000))
def test_rho_and_back_exactly(sigma_squared, l2_squared):
    rho = rho_for(sigma_squared=sigma_squared, l2_squared=l2_squared)
    assert rho == l2_squared / sigma_squared / 2
    assert sigma_squared_for_rho(rho=rho, l2_squared=l2_squared) == sigma_squared


@pytest.mark.parametrize("sigma_squared", [Fraction(1, 4), Fraction(1), Fraction(20)])
@pytest.mark.parametrize("shift", [1, 2, 5])
@pytest.mark.parametrize("alpha", [Fraction(5, 4), 2, 7])
def test_renyi_divergence_is_at_most_alpha_rho(sigma_squared, shift, alpha):
    """The zCDP theorem, by summation: D_α(X + shift ‖ X) <= α ρ, with equality at whole α·shift."""
    true, _ = law_by_summation(sigma_squared, 300)
    order = mp(alpha)
    moment = mpmath.fsum(true[x - shift] ** order * true[x] ** (1 - order) for x in range(-200, 201))
    divergence = mpmath.log(moment) / (order - 1)
    bound = order * mp(rho_for(sigma_squared=sigma_squared, l2_squared=shift**2))
    assert divergence <= bound * (1 + mpmath.mpf(10) ** -30)
    if Fraction(alpha * shift).denominator == 1:
        assert mpmath.almosteq(divergence, bound, rel_eps=1e-30)


def gauss(x, sigma_squared):
    return math.exp(-x * x / (2 * sigma_squared)) / math.fsum(
        math.exp(-y * y / (2 * sigma_squared)) for y in range(-100, 101)
    )


class TestDiscreteGaussianMechanism(MechanismKit):
    """C047: discrete Gaussian noise on a whole number."""

    mechanism = always(lambda: DiscreteGaussianMechanism(sigma_squared=Fraction(9, 4), l2=2))
    value = always(lambda: -3)
    neighbour = always(lambda: -1)
    outputs = always(lambda: range(-12, 9))

    def probability(self, value, output):
        return gauss(output - value, 2.25)

    def bad_parameters(self):
        for bad in (0, -1, math.nan, math.inf, "1", None, True, 2.0**-600):
            yield {"sigma_squared": bad}
        for bad in (0, -1, 1.5, "1", None, True, 2**300):
            yield {"l2": bad}

    ill_typed = always(lambda: (0.8675309, "0.8675309", None))


class TestVectorDiscreteGaussianMechanism(MechanismKit):
    """C047: discrete Gaussian noise on a vector of whole numbers."""

    mechanism = always(lambda: VectorDiscreteGaussianMechanism(sigma_squared=Fraction(2), l2_squared=5, dimensions=2))
    value = always(lambda: (0, 4))
    neighbour = always(lambda: (1, 6))
    outputs = always(lambda: [(x, y) for x in range(-5, 6) for y in range(-1, 10)])

    def probability(self, value, output):
        return math.prod(gauss(y - x, 2.0) for x, y in zip(value, output, strict=True))

    def bad_parameters(self):
        return ({"sigma_squared": 0}, {"l2_squared": 0}, {"l2_squared": 2.5}, {"dimensions": 0}, {"dimensions": None})

    ill_typed = always(lambda: ((0.8675309, 1), (8675309,), (1, "0.8675309")))


def test_events_say_what_the_accountants_need():
    scalar = DiscreteGaussianMechanism(sigma_squared=10, l2=3)
    assert scalar.event == events.DiscreteGaussian(sigma_squared=Fraction(10), l2_squared=Fraction(9), dimensions=1)
    vector = VectorDiscreteGaussianMechanism(sigma_squared=10, l2_squared=3, dimensions=7)
    assert vector.event == events.DiscreteGaussian(sigma_squared=Fraction(10), l2_squared=Fraction(3), dimensions=7)


def test_draws_come_from_the_exact_sampler():
    """C047: the sampler behind the mechanism, σ² as an exact rational."""
    ours = gaussian_noise(sigma_squared=0.1, size=40, source=SeededSource(2))
    theirs = randomness.discrete_gaussian(sigma_squared=Fraction(0.1), size=40, source=SeededSource(2))
    assert ours == list(theirs)
    assert all(type(draw) is int for draw in ours)
