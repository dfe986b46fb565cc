"""Sums of exp(-x²/2σ²) over the integers, in as many digits as asked for and in milliseconds for every σ.

The discrete Gaussian needs three of them: over all integers (its normaliser), weighted by x² (its variance) and from
some integer on (its tails).
"""

from __future__ import annotations

from decimal import Decimal, getcontext
from fractions import Fraction
from functools import lru_cache
from math import comb, factorial
from typing import Final

from dpsql.privacy.digits import HALF, decimal, mills_ratio, pi

_TERMS: Final = 30  # of the Euler-Maclaurin series
_SMALL: Final = 36**2  # below this σ², or from σ²/4 on, a tail has some hundred terms that matter


def gaussian_sum(sigma_squared: Fraction) -> Decimal:
    """Σ exp(-x²/2σ²) over all integers x.

    Theorem   Poisson summation: it equals sqrt(2πσ²) (1 + 2 Σ_{k>=1} exp(-2π²σ²k²)). The direct sum is short for
              σ < 1, this one for σ >= 1.
    Requires  sigma_squared > 0.
    Rounds    to nearest, to the digits of the current block less five.
    """
    if sigma_squared < 1:
        return 1 + 2 * _series(decimal(1 / (2 * sigma_squared)), power=0)
    rate = 2 * pi() ** 2 * decimal(sigma_squared)
    return (2 * pi() * decimal(sigma_squared)).sqrt() * (1 + 2 * _series(rate, power=0))


def gaussian_variance(sigma_squared: Fraction) -> Decimal:
    """Σ x² exp(-x²/2σ²) / Σ exp(-x²/2σ²).

    Theorem   it is 2s² d/ds ln Σ exp(-x²/2s) at s = σ²; with Poisson's form of the sum
              σ² - 8π²σ⁴ Σ k² exp(-2π²σ²k²) / (1 + 2 Σ exp(-2π²σ²k²)), at most σ².
    Requires  sigma_squared > 0.
    Rounds    to nearest, to the digits of the current block less five.
    """
    if sigma_squared < 1:
        rate = decimal(1 / (2 * sigma_squared))
        return 2 * _series(rate, power=2) / (1 + 2 * _series(rate, power=0))
    spread = decimal(sigma_squared)
    rate = 2 * pi() ** 2 * spread
    return spread - 8 * pi() ** 2 * spread**2 * _series(rate, power=2) / (1 + 2 * _series(rate, power=0))


def _series(rate: Decimal, *, power: int) -> Decimal:
    """Σ_{k>=1} k^power exp(-rate k²), for rates from 1/2 on."""
    digits = getcontext().prec
    total, k = Decimal(0), 0
    while True:
        k += 1
        term = Decimal(k) ** power * (-rate * k * k).exp()
        total += term
        if term == 0 or term.adjusted() < total.adjusted() - digits:
            return total


def weight(x: int, sigma_squared: Fraction) -> Decimal:
    """exp(-x²/2σ²)."""
    return decimal(-x * x / (2 * sigma_squared)).exp()


def upper_tail(start: int, sigma_squared: Fraction) -> Decimal:
    """Pr[X >= start] of the discrete Gaussian.

    Theorem   `weight` times `tail_ratio` over `gaussian_sum`.
    Requires  start >= 0.
    Rounds    to nearest, to the digits of the current block less six.
    """
    first = weight(start, sigma_squared)
    return first * tail_ratio(start, sigma_squared) / gaussian_sum(sigma_squared) if first else first


def is_short(start: int, sigma_squared: Fraction) -> bool:
    """Whether the sum from `start` on is quickly added up term by term."""
    return sigma_squared <= _SMALL or 4 * start >= sigma_squared


def tail_ratio(start: int, sigma_squared: Fraction) -> Decimal:
    """Σ_{x>=start} exp(-x²/2σ²), divided by its first term.

    Theorem   term by term where that is short, else by Euler and Maclaurin. Then σ > 36 and y/σ < 1/4 for
              y = start/σ; the remainder after 30 terms is at most 2ζ(60) (2πσ)^-60 ∫ |He_60(y)| exp(-y²/2), and
              |He_n(y)| <= max(y, 2 sqrt(n))^n because its roots lie within 2 sqrt(n): below 10**-65 (36/σ)^60 of
              the sum.
    Requires  start >= 0.
    Rounds    to nearest, to the digits of the current block less six.
    """
    return (_term_by_term if is_short(start, sigma_squared) else _euler_maclaurin)(start, sigma_squared)


def _term_by_term(start: int, sigma_squared: Fraction) -> Decimal:
    ratio = decimal(-(2 * start + 1) / (2 * sigma_squared)).exp()  # of the second term to the first
    shrink = decimal(-1 / sigma_squared).exp()
    limit = Decimal(10) ** -getcontext().prec
    term = total = Decimal(1)
    while term > limit * (1 - ratio):  # the rest is less than a geometric series
        term *= ratio
        ratio *= shrink
        total += term
    return total


def _euler_maclaurin(start: int, sigma_squared: Fraction) -> Decimal:
    """σ m(y) + 1/2 + Σ_k B_2k/(2k)! He_{2k-1}(y) / σ^(2k-1), with y = start/σ and m the ratio tail/density."""
    sigma = decimal(sigma_squared).sqrt()
    y = start / sigma
    total = sigma * mills_ratio(y) + HALF
    before, hermite = Decimal(1), y  # He_0 and He_1
    power = sigma
    for k in range(1, _TERMS + 1):
        total += decimal(_bernoulli_over_factorial(2 * k)) * hermite / power
        for n in (2 * k - 1, 2 * k):
            before, hermite = hermite, y * hermite - n * before
        power *= decimal(sigma_squared)
    return total


@lru_cache(maxsize=2 * _TERMS + 1)
def _bernoulli(n: int) -> Fraction:
    """The Bernoulli number B_n, from Σ_{j<=n} C(n+1, j) B_j = 0."""
    if n == 0:
        return Fraction(1)
    return -sum((comb(n + 1, j) * _bernoulli(j) for j in range(n)), start=Fraction(0)) / (n + 1)


def _bernoulli_over_factorial(n: int) -> Fraction:
    return _bernoulli(n) / factorial(n)
