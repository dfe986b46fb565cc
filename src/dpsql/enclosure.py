"""Certified bounds of exp, log and square roots in integers: the irrational numbers that decide a draw or a charge.

Each function returns an interval (low, high) that contains the true value, computed with integer arithmetic
alone, so that no library, rounding mode or compiler can move it. Callers ask for more bits until the interval
decides their question. Open to every package, like `errors` and `require`.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Final

from dpsql.require import require_that

LARGEST_EXPONENT: Final = 100_000
"""exp(100 000) has 144 000 bits and takes a second or two; no promise is stated with such a number."""


def exp_negative_fixed(x: Fraction, *, bits: int) -> tuple[int, int]:
    """Integers (low, high) with low <= 2**bits * exp(-x) <= high and high - low <= 2.

    Theorem   exp(-x) = (exp(-x / 2**s))**(2**s); the Taylor series of exp(-y), 0 <= y <= 2**-8, alternates.
    Requires  x >= 0.
    Rounds    outward: every step keeps the true value inside the interval.
    """
    require_that(x.numerator >= 0, "exp_negative_fixed needs x >= 0")
    halvings = (x.numerator // x.denominator).bit_length() + 8
    work = bits + halvings + 16
    y = (x.numerator << work) // (x.denominator << halvings)  # y <= 2**work * x / 2**s < y + 1
    term = total = 1 << work
    steps = 0
    while term:
        steps += 1
        term = (term * y >> work) // steps
        total += -term if steps & 1 else term
    # Error of `total`: every term is short by at most 2 units, the tail by 1, and y by 1 unit moves exp by <= 1.
    slack = 2 * steps + 4
    low, high = max(total - slack, 0), min(total + slack, 1 << work)
    for _ in range(halvings):
        low, high = low * low >> work, (high * high >> work) + 1
    drop = work - bits
    return low >> drop, -(-high >> drop)


def exp_bounds(x: Fraction, *, bits: int = 64) -> tuple[Fraction, Fraction]:
    """(low, high) around exp(x) with a relative width of at most 2**-bits.

    Theorem   as `exp_negative_fixed`; exp(x) = 1 / exp(-x).
    Requires  |x| <= 100 000, where the integers stay small enough to be quick.
    Rounds    outward.
    """
    size = abs(x)
    require_that(size <= LARGEST_EXPONENT, f"exp_bounds needs |x| <= {LARGEST_EXPONENT}")
    extra = bits + 3 + (size.numerator * 3 // (2 * size.denominator))  # exp(-size) >= 2**-(1.5 * size)
    low, high = exp_negative_fixed(size, bits=extra)
    one = 1 << extra
    return (Fraction(low, one), Fraction(high, one)) if x <= 0 else (Fraction(one, high), Fraction(one, low))


@lru_cache(maxsize=8)
def _log_two_fixed(work: int) -> tuple[int, int]:
    low, high = _twice_atanh_fixed(Fraction(1, 3), work)
    return low, high


def _twice_atanh_fixed(z: Fraction, work: int) -> tuple[int, int]:
    """(low, high) around 2**work * 2 * atanh(z) for |z| <= 1/3, by its Taylor series."""
    fixed = (z.numerator << work) // z.denominator
    square = fixed * fixed >> work
    power, total, odd = fixed, 0, 1
    while power:
        total += power // odd
        power = power * square >> work
        if power == -1:  # the floor of a negative number never reaches 0
            power = 0
        odd += 2
    slack = 4 * odd + 8  # each of odd/2 terms is off by at most 4 units, the tail by less than 4
    return 2 * (total - slack), 2 * (total + slack)


def log_bounds(x: Fraction, *, bits: int = 64) -> tuple[Fraction, Fraction]:
    """(low, high) around ln(x) with an absolute width of at most 2**-bits.

    Theorem   ln(m * 2**e) = 2 atanh((m - 1) / (m + 1)) + e * ln 2, with ln 2 = 2 atanh(1/3).
    Requires  x > 0.
    Rounds    outward.
    """
    require_that(x.numerator > 0, "log_bounds needs x > 0")
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    mantissa = x / Fraction(2) ** exponent  # in (1/2, 2)
    work = bits + abs(exponent).bit_length() + 24
    low, high = _twice_atanh_fixed((mantissa - 1) / (mantissa + 1), work)
    two_low, two_high = _log_two_fixed(work)
    low += exponent * (two_low if exponent >= 0 else two_high)
    high += exponent * (two_high if exponent >= 0 else two_low)
    return Fraction(low, 1 << work), Fraction(high, 1 << work)


def sqrt_bounds(x: Fraction, *, bits: int = 64) -> tuple[Fraction, Fraction]:
    """(low, high) around sqrt(x) with a relative width of at most 2**-bits; equal where the root is rational.

    Theorem   isqrt(n)**2 <= n < (isqrt(n) + 1)**2, on the numerator and denominator scaled by a power of four.
    Requires  x >= 0.
    Rounds    outward.
    """
    require_that(x.numerator >= 0, "sqrt_bounds needs x >= 0")
    product = x.numerator * x.denominator  # sqrt(n / d) = sqrt(n * d) / d
    shift = max(0, bits + 2 - product.bit_length() // 2)
    root = isqrt(product << 2 * shift)
    high = root if root * root == product << 2 * shift else root + 1
    scale = x.denominator << shift
    return Fraction(root, scale), Fraction(high, scale)
