"""Sums over the integers against plain summation in 90 digits. No chance involved."""

from fractions import Fraction

import mpmath
import pytest

from dpsql.mechanisms.discrete_gaussian import gaussian_sum, gaussian_variance, is_short, tail_ratio
from dpsql.privacy.digits import working
from tests.kits.digits import digits

many_digits = digits(90)
SPREADS = [
    Fraction(1, 50),
    Fraction(1, 2),
    Fraction(99, 100),
    Fraction(1),
    Fraction(5),
    Fraction(36**2),
    Fraction(10**4),
]


def mp(value):
    return mpmath.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else mpmath.mpf(str(value))


def weights(spread, start):
    """exp(-(x² - start²)/2σ²) for x = start, start + 1, … until nothing is left."""
    x, twice = start, 2 * mp(spread)
    while (weight := mpmath.exp(-mpmath.mpf(x * x - start * start) / twice)) > mpmath.mpf(10) ** -80:
        yield x, weight
        x += 1


@pytest.mark.parametrize("spread", SPREADS)
def test_sum_and_variance(spread):
    """Poisson's forms equal the sums they stand for, on both sides of σ = 1."""
    terms = list(weights(spread, 0))
    total = 2 * mpmath.fsum(w for _, w in terms) - 1
    square = 2 * mpmath.fsum(x * x * w for x, w in terms)
    with working():
        assert abs(mp(gaussian_sum(spread)) / total - 1) < mpmath.mpf(10) ** -57
        assert abs(mp(gaussian_variance(spread)) / (square / total) - 1) < mpmath.mpf(10) ** -55


@pytest.mark.parametrize("spread", [*SPREADS, Fraction(1297), Fraction(250**2)])
@pytest.mark.parametrize("sizes", [0, 1, 4, 11, 20])
def test_tail_ratio(spread, sizes):
    """Term by term and by Euler and Maclaurin, next to the line between them and far out."""
    start = int(sizes * float(spread) ** 0.5)
    true = mpmath.fsum(w for _, w in weights(spread, start))
    with working():
        assert abs(mp(tail_ratio(start, spread)) / true - 1) < mpmath.mpf(10) ** -54


def test_tail_ratio_at_the_line():
    """The series is used up to start = σ²/4, where it converges most slowly."""
    spread = Fraction(1300)
    for start in (324, 325):
        true = mpmath.fsum(w for _, w in weights(spread, start))
        with working():
            assert is_short(start, spread) is (start == 325)
            assert abs(mp(tail_ratio(start, spread)) / true - 1) < mpmath.mpf(10) ** -54


def test_tail_ratio_of_a_wide_law_is_the_integral():
    """At σ = 10³⁰ the sum from 0 is σ sqrt(π/2) + 1/2 up to 1/12σ."""
    with working(90):
        got = mp(tail_ratio(0, Fraction(10**60)))
    assert abs(got - (mpmath.mpf(10) ** 30 * mpmath.sqrt(mpmath.pi / 2) + 0.5)) < mpmath.mpf(10) ** -29
