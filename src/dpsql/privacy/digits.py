"""Sixty digits: what the laws of noise are computed with, so that a result can be rounded in a stated direction.

Decimal's exp, ln and sqrt are correctly rounded, and its exponents reach far beyond those of floats. Every formula
here is evaluated with enough digits that what is lost to rounding and cancellation stays below `MARGIN`; results
then leave as floats, above, below or next to the true value.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
    getcontext,
    localcontext,
)
from fractions import Fraction
from functools import lru_cache
from typing import Final

from dpsql.errors import BadParameter
from dpsql.privacy.rounding import exact, round_down, round_up
from dpsql.require import Number

DIGITS: Final = 60
MARGIN: Final = Fraction(1, 10**30)
"""No Decimal computed in this package is further from its true value, relatively."""

REACH: Final = 500
"""Sizes lie between 2**-REACH and 2**REACH, so that their squares and quotients are still floats."""

NEGLIGIBLE: Final = 400
"""Below 10**-NEGLIGIBLE nothing is a float."""

HALF: Final = Decimal("0.5")


def require_in_reach(**named: Number) -> None:
    """Each positive value lies between 2**-REACH and 2**REACH."""
    for name, value in named.items():
        size = abs(exact(value))
        if size and not -REACH <= size.numerator.bit_length() - size.denominator.bit_length() <= REACH:
            raise BadParameter(
                f"{name} is out of reach: sizes must lie between 2**-{REACH} and 2**{REACH}",
                why="beyond, variances and probabilities no longer fit into floating-point numbers",
                fix="measure in other units",
            )


def working(digits: int = DIGITS) -> AbstractContextManager[Context]:
    """A block in which Decimal computes with `digits` digits and practically unlimited exponents."""
    traps = [DivisionByZero, InvalidOperation, Overflow]
    return localcontext(Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=traps))


def decimal(value: Fraction) -> Decimal:
    """`value` to the digits of the current block.

    Rounds    to nearest, half a unit in the last digit.
    """
    return Decimal(value.numerator) / Decimal(value.denominator)


def digits_of(value: Fraction) -> int:
    """How many digits the whole part of |value| has, about.

    Theorem   a number of n bits is below 2^n < 10^(0.302 n), and cutting the exponent to a whole number loses less
              than 1.
    Rounds    up, and to 1 at least.
    """
    return (abs(value.numerator) // value.denominator).bit_length() * 302 // 1000 + 1


def float_above(value: Decimal) -> float:
    """The smallest float that is surely at least the true value behind `value`.

    Theorem   x <= value · (1 + MARGIN) for every x that `value` stands for; the product is exact.
    Requires  value >= 0, known to a relative error of MARGIN, or 0 where it was too small even for a Decimal.
    Rounds    up; a value too small for a float becomes the smallest float above 0.
    """
    if not value or value.adjusted() < -NEGLIGIBLE:
        return math.ulp(0.0)
    return round_up(Fraction(value) * (1 + MARGIN)) if value.adjusted() < NEGLIGIBLE else math.inf


def float_below(value: Decimal) -> float:
    """The largest float that is surely at most the true value behind `value`.

    Theorem   x >= value · (1 − MARGIN) for every x that `value` stands for; the product is exact.
    Requires  value >= 0, known to a relative error of MARGIN.
    Rounds    down; a value too small for a float becomes 0.
    """
    if not value or value.adjusted() < -NEGLIGIBLE:
        return 0.0
    largest = math.nextafter(math.inf, 0)
    return round_down(Fraction(value) * (1 - MARGIN)) if value.adjusted() < NEGLIGIBLE else largest


def log_of_inverse(probability: Fraction) -> Decimal:
    """ln(1 / probability), however close the probability is to 1.

    Theorem   |ln x| >= 1 - x: the digits that 1 - x begins after are carried in addition.
    Requires  0 < probability < 1.
    Rounds    to nearest, well within MARGIN.
    """
    with working(DIGITS + digits_of(1 / (1 - probability))):
        return -decimal(probability).ln()


def share_of_failure(*, beta: Fraction, outputs: int, digits: int = DIGITS) -> Decimal:
    """1 - (1 - β)^(1/outputs): how often each of several independent outputs may fail if all may together in β.

    Theorem   all k succeed together with probability (1 - q)^k, which is 1 - β for this q; q >= β / k.
    Requires  0 < β < 1, outputs >= 1.
    Rounds    to nearest, with at least `digits` - 5 digits.
    """
    with working(digits + digits_of(outputs / beta) + digits_of(1 / (1 - beta))):
        return 1 - (decimal(1 - beta).ln() / outputs).exp() if outputs > 1 else decimal(beta)


@lru_cache(maxsize=16)
def _pi(digits: int) -> Decimal:
    """π = 16 atan(1/5) - 4 atan(1/239), in integers."""
    one = 10 ** (digits + 10)

    def atan_of_inverse(n: int) -> int:
        term, total, odd, square = one // n, 0, 1, n * n
        while term:
            total += term // odd if odd % 4 == 1 else -(term // odd)
            term, odd = term // square, odd + 2
        return total

    return Decimal(16 * atan_of_inverse(5) - 4 * atan_of_inverse(239)).scaleb(-(digits + 10))


def pi() -> Decimal:
    """π to the digits of the current block."""
    return +_pi(getcontext().prec + 5)


def normal_density(x: Decimal) -> Decimal:
    """φ(x) = exp(-x²/2) / sqrt(2π)."""
    return (-x * x / 2).exp() / (2 * pi()).sqrt()


def normal_tail(x: Decimal) -> Decimal:
    """Pr[N > x] of a standard normal N, however far out.

    Theorem   φ(x) times `mills_ratio` above 0, by symmetry below.
    Rounds    to nearest, to the digits of the current block less five.
    """
    near = normal_density(x) * mills_ratio(abs(x))
    return near if x >= 0 else 1 - near


def mills_ratio(x: Decimal) -> Decimal:
    """Pr[N > x] / φ(x) of a standard normal N.

    Theorem   for small x the series  Pr[0 < N < x] = φ(x) · Σ x^(2k+1) / (1·3···(2k+1)),  all of whose terms are
              positive; for large x Laplace's continued fraction 1/(x + 1/(x + 2/(x + 3/(x + …)))), whose
              convergents lie on alternating sides of the value.
    Requires  x >= 0.
    Rounds    to nearest, to the digits of the current block less five.
    """
    digits = getcontext().prec
    return _mills_by_series(x, digits) if x * x < digits // 2 else _mills_by_fraction(x, digits)


def _mills_by_series(x: Decimal, digits: int) -> Decimal:
    with working(digits + 5 + digits // 4):  # the difference below loses exp(-x²/2) >= exp(-digits/4)
        square, term, total, odd = x * x, x, x, 1
        limit = Decimal(10) ** -(digits + digits // 4)
        while term > limit:
            odd += 2
            term = term * square / odd
            total += term
        return HALF / normal_density(x) - total


def _mills_by_fraction(x: Decimal, digits: int) -> Decimal:
    limit = Decimal(10) ** -digits
    above, below = Decimal(1), x  # numerator and denominator of the latest convergent
    above_before, below_before = Decimal(0), Decimal(1)
    value, step = above / below, 0
    while True:
        step += 1
        above, above_before = x * above + step * above_before, above
        below, below_before = x * below + step * below_before, below
        value, before = above / below, value
        if abs(value - before) <= limit * value:
            return value
