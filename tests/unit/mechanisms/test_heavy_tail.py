"""Draws of density ∝ 1/(1 + |z|^γ): certified tails against 60-digit hypergeometric functions, then the draws.

The one statistical test is a χ² test at a false-alarm rate of 1e-9 per case with fixed seeds, so it fails always or
never for a given code.
"""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpsql.errors import DpsqlError
from dpsql.mechanisms.heavy_tail import rounded_heavy_tail, tail_fixed
from dpsql.testing.fixed import SeededSource
from tests.kits.refusals import raised

GAMMAS = [Fraction(2), Fraction(4), Fraction(3), Fraction(5, 4), Fraction(7, 2), Fraction(2.1), Fraction(64)]


def true_tail(z, gamma):
    """Pr[|Z| >= z] by Gauss's hypergeometric function."""
    z, g = (mpmath.mpf(value.numerator) / value.denominator for value in (z, gamma))
    half = mpmath.pi / g / mpmath.sin(mpmath.pi / g)
    if z <= 1:
        return 1 - z * mpmath.hyp2f1(1, 1 / g, 1 + 1 / g, -(z**g)) / half
    c = (g - 1) / g
    return z ** (1 - g) / (g - 1) * mpmath.hyp2f1(1, c, 1 + c, -(z**-g)) / half


class Words:
    """A source that plays back given 64-bit words, then zeros, and one sign; it counts the words asked for."""

    def __init__(self, *words, sign=0):
        self.words, self.sign, self.asked = list(words), sign, 0

    def bits(self, count):
        if count == 1:
            return self.sign
        self.asked += 1
        return self.words.pop(0) if self.words else 0


WORD = 2**64


@pytest.mark.parametrize("gamma", GAMMAS)
def test_tails_are_enclosed(gamma):
    """C080: the certified tail contains the true one and is two units wide at most."""
    points = [
        Fraction(1, 10**9),
        Fraction(1, 3),
        Fraction(999, 1000),
        Fraction(1),
        Fraction(1001, 1000),
        Fraction(10**12, 7),
    ]
    with mpmath.workdps(90):
        for z in points:
            for bits in (64, 128):
                low, high = tail_fixed(z, gamma=gamma, bits=bits)
                assert low <= true_tail(z, gamma) * 2**bits <= high
                assert high - low <= 2


@settings(max_examples=100, deadline=None)
@given(
    u=st.integers(0, 2**128 - 1),
    sign=st.integers(0, 1),
    scale=st.fractions(Fraction(1, 100), 10**6, max_denominator=1000),
)
def test_a_draw_is_the_rounded_quantile(u, sign, scale):
    """C080: with γ = 2 the draw is round(scale · tan(π(1-u)/2)), as computed with 90 digits."""
    source = Words(u >> 64, u % WORD, WORD // 2, sign=sign)  # half a unit below, so that u lies inside its cell
    found = rounded_heavy_tail(gamma=Fraction(2), scale=scale, source=source)
    with mpmath.workdps(90):
        quantile = mpmath.cot(mpmath.pi * (mpmath.mpf(u) + mpmath.mpf("0.5")) / 2**129)
        wanted = int(mpmath.floor(mpmath.mpf(scale.numerator) / scale.denominator * quantile + mpmath.mpf("0.5")))
    assert found == (-wanted if sign else wanted)


def test_an_undecided_draw_asks_for_more_bits():
    """C080: u next to a boundary is refined until the bounds of the tail decide; nothing is rounded away."""
    scale, gamma = Fraction(10), Fraction(2)
    boundary = tail_fixed(Fraction(7, 2) / scale, gamma=gamma, bits=192)[0] - 5  # u just below "4 or more"

    below, above = (Words(u >> 128, (u >> 64) % WORD, u % WORD) for u in (boundary, boundary + 20))
    assert rounded_heavy_tail(gamma=gamma, scale=scale, source=below) == 4
    assert rounded_heavy_tail(gamma=gamma, scale=scale, source=above) == 3
    assert below.asked >= 3
    assert above.asked >= 3


@pytest.mark.parametrize("gamma", [Fraction(2), Fraction(4), Fraction(5, 2)])
def test_draws_follow_the_law(gamma):
    """C080: 2000 draws at scale 3 in cells -6 … 6 and the two tails."""
    scale, size = Fraction(3), 2000
    source = SeededSource(int(gamma * 10))
    draws = [rounded_heavy_tail(gamma=gamma, scale=scale, source=source) for _ in range(size)]
    beyond = [float(true_tail(Fraction(2 * m - 1, 2) / scale, gamma)) if m else 1.0 for m in range(8)]
    positive = [(beyond[m] - beyond[m + 1]) / 2 for m in range(1, 7)]
    law = [beyond[7] / 2, *reversed(positive), 1 - beyond[1], *positive, beyond[7] / 2]
    seen = [sum(d <= -7 for d in draws), *(draws.count(m) for m in range(-6, 7)), sum(d >= 7 for d in draws)]
    assert stats.chisquare(seen, [size * p for p in law]).pvalue > 1e-9


@pytest.mark.parametrize("gamma", [1, 0, -2, Fraction(9, 8), 65, None, "2", True, float("nan"), float("inf")])
def test_exponents_without_a_law_are_refused(gamma):
    raised(DpsqlError, lambda: rounded_heavy_tail(gamma=gamma, scale=Fraction(1), source=Words()))


@pytest.mark.parametrize("scale", [0, -1, None, "1", float("nan"), float("inf"), True])
def test_scales_that_are_none_are_refused(scale):
    raised(DpsqlError, lambda: rounded_heavy_tail(gamma=Fraction(2), scale=scale, source=Words()))
