"""Tail bounds hold against exact probabilities and are rounded in their direction."""

import math
from fractions import Fraction
from itertools import product

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import BadParameter
from dpsql.privacy import tails
from tests.kits.refusals import raised
from tests.kits.samples import examples

M = mpmath.MPContext()
M.dps = 120
COUNTS = st.one_of(st.integers(1, 50), st.integers(1, 2**53))
UNIT = st.one_of(st.floats(0, 1), st.fractions(0, 1))


def mp(x) -> mpmath.mpf:
    x = Fraction(x)
    return M.mpf(x.numerator) / x.denominator


def assert_just_above(value: float, true):
    assert true <= mp(value) <= true * (1 + M.mpf("1e-15")) + M.mpf(2) ** -1074


def binomial(n: int, p: Fraction, i: int) -> Fraction:
    return math.comb(n, i) * p**i * (1 - p) ** (n - i)


@given(n=COUNTS, t=st.one_of(UNIT, st.floats(0, 1e300)), mean=UNIT, share=UNIT)
def test_chernoff_bounds_are_their_formulas_rounded_up(n, t, mean, share):
    """C125: additive and multiplicative Chernoff bounds."""
    assert_just_above(tails.chernoff_additive(n=n, t=t), M.exp(-2 * n * mp(t) ** 2))
    exponent = n * mp(mean) * mp(share) ** 2
    assert_just_above(tails.chernoff_multiplicative_upper(n=n, mean=mean, t=share), M.exp(-exponent / 3))


@examples(40)
@given(n=st.integers(1, 40), p=st.fractions(0, 1, max_denominator=20), t=st.fractions(0, 1, max_denominator=20))
def test_chernoff_bounds_hold_for_binomials(n, p, t):
    """C125: they bound the exact tails."""
    laws = [binomial(n, p, i) for i in range(n + 1)]
    above = sum((w for i, w in enumerate(laws) if Fraction(i, n) > p + t), Fraction(0))
    assert above <= tails.chernoff_additive(n=n, t=t)
    over = sum((w for i, w in enumerate(laws) if Fraction(i, n) > p * (1 + t)), Fraction(0))
    assert over <= tails.chernoff_multiplicative_upper(n=n, mean=p, t=t)


def test_beyond_twice_the_mean_the_multiplicative_form_is_refused():
    """C125: exp(-n·mean·t²/3) is false for large t: the exact tail of Poisson-like counts is heavier."""
    n, p, t = 10_000, Fraction(1, 10_000), 9
    assert 1 - sum(binomial(n, p, i) for i in range(11)) > math.exp(-float(n * p * t * t) / 3)
    raised(BadParameter, lambda: tails.chernoff_multiplicative_upper(n=n, mean=p, t=t))


@given(k=COUNTS, alpha=st.floats(1e-9, 1e9), beta=st.floats(-1e9, 1e9), z=st.floats(1e-9, 60))
def test_azuma_is_its_formula_rounded_up(k, alpha, beta, z):
    """C124: Azuma's bound."""
    bound = tails.azuma_bound(k=k, alpha=alpha, beta=beta, z=z)
    true = k * mp(beta) + mp(z) * M.sqrt(k) * mp(alpha)
    size = k * abs(mp(beta)) + mp(z) * M.sqrt(k) * mp(alpha)
    assert (
        true - size * M.mpf("1e-55") <= mp(bound.threshold) <= true + abs(true) * M.mpf("1e-15") + size * M.mpf("1e-30")
    )
    assert_just_above(bound.probability, M.exp(-(mp(z) ** 2) / 2))


@pytest.mark.parametrize(("k", "beta", "z"), list(product([1, 4, 9], [Fraction(0), Fraction(1, 2)], [1, 2])))
def test_azuma_holds_for_a_walk_that_remembers(k, beta, z):
    """C124: steps ±1 whose bias depends on the past, with conditional mean at most β; all 2^k paths enumerated."""
    bound = tails.azuma_bound(k=k, alpha=1, beta=beta, z=z)
    passed = Fraction(0)
    for path in product((1, -1), repeat=k):
        chance, position = Fraction(1), 0
        for step in path:
            mean = beta if position >= 0 else beta / 3  # bolder when ahead
            chance *= (1 + step * mean) / 2
            position += step
        passed += chance * (position > Fraction(bound.threshold))
    assert passed <= Fraction(bound.probability)


@given(n=st.one_of(st.integers(1, 200), st.integers(1, 2**53)))
def test_robbins_bounds_hold(n):
    """C126: Stirling's approximation between Robbins' bounds."""
    bounds = tails.stirling_log_factorial(n=n)
    true = M.loggamma(n + 1)
    stirling = n * M.log(n) - n + M.log(2 * M.pi * n) / 2
    assert mp(bounds.lower) <= stirling + M.mpf(1) / (12 * n + 1) <= true <= stirling + M.mpf(1) / (12 * n)
    assert stirling + M.mpf(1) / (12 * n) <= mp(bounds.upper)
    assert bounds.approximation == pytest.approx(float(stirling), rel=1e-15)
    assert bounds.upper - bounds.lower <= 1 / (12 * n * n) + 20 * math.ulp(n * math.log(n) + 1)
