"""The discrete Gaussian law and mechanism: exact integer noise, priced by zero-concentrated differential privacy.

The law needs three sums of exp(-x²/2σ²), in as many digits as asked for and in milliseconds for every σ: over all
integers (its normaliser), weighted by x² (its variance) and from some integer on (its tails).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, getcontext
from fractions import Fraction
from functools import lru_cache
from math import comb, factorial
from typing import Final

from dpsql import randomness
from dpsql.mechanisms.mechanism import opened
from dpsql.mechanisms.normal import standard_tail_quantile
from dpsql.mechanisms.search import smallest_integer
from dpsql.mechanisms.whole import LARGEST_ROOT, require_whole, whole, whole_vector
from dpsql.privacy import events
from dpsql.privacy.digits import (
    DIGITS,
    HALF,
    decimal,
    digits_of,
    float_above,
    mills_ratio,
    pi,
    require_in_reach,
    share_of_failure,
    working,
)
from dpsql.privacy.exact import Exact
from dpsql.privacy.rounding import exact
from dpsql.randomness import Source
from dpsql.require import Number, require_count, require_open_unit, require_positive

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
        total += decimal(_bernoulli(2 * k) / factorial(2 * k)) * hermite / power
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


def rho_for(*, sigma_squared: Number, l2_squared: Number) -> Fraction:
    """The ρ of discrete Gaussian noise of parameter σ² on an integer vector that one unit moves by sqrt(l2_squared).

    Theorem   Canonne, Kamath, Steinke (2020), Thm 4 and 14:  ρ = l2² / 2σ², scalars and vectors alike.
    Requires  sigma_squared > 0, l2_squared > 0, stated for the same neighbour relation as the ρ.
    Rounds    nothing.
    """
    require_positive(sigma_squared=sigma_squared, l2_squared=l2_squared)
    return exact(l2_squared) / (2 * exact(sigma_squared))


def sigma_squared_for_rho(*, rho: Number, l2_squared: Number) -> Fraction:
    """The σ² of discrete Gaussian noise that makes an integer vector ρ-zCDP.

    Theorem   as `rho_for`, solved:  σ² = l2² / 2ρ.
    Requires  rho > 0, l2_squared > 0.
    Rounds    nothing.
    """
    require_positive(rho=rho, l2_squared=l2_squared)
    return exact(l2_squared) / (2 * exact(rho))


def gaussian_noise(*, sigma_squared: Number, size: int, source: Source) -> list[int]:
    """`size` independent draws with Pr[x] ∝ exp(-x²/2σ²).

    Theorem   docs/theorems/discrete_gaussian.md.
    Requires  sigma_squared > 0, size >= 0.
    Rounds    nothing: the draws are exact.
    """
    require_positive(sigma_squared=sigma_squared)
    require_in_reach(sigma_squared=sigma_squared)
    draws = randomness.discrete_gaussian(sigma_squared=exact(sigma_squared), size=size, source=source)
    return [int(draw) for draw in draws]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussianLaw:
    """Pr[x] = exp(-x²/2σ²) / Σ exp(-y²/2σ²), for every integer x."""

    sigma_squared: Fraction

    def __post_init__(self) -> None:
        require_positive(sigma_squared=self.sigma_squared)
        require_in_reach(sigma_squared=self.sigma_squared)
        object.__setattr__(self, "sigma_squared", exact(self.sigma_squared))

    @property
    def normaliser(self) -> float:
        """Σ exp(-y²/2σ²) over all integers y."""
        with working():
            return float(gaussian_sum(self.sigma_squared))

    @property
    def variance(self) -> float:
        """The variance, which is never above σ²."""
        with working():
            return float(gaussian_variance(self.sigma_squared))

    @property
    def std(self) -> float:
        """The square root of the variance."""
        return math.sqrt(self.variance)

    def pmf(self, x: int) -> float:
        """Pr[X = x]."""
        require_whole(x=x)
        with working():
            return float(weight(x, self.sigma_squared) / gaussian_sum(self.sigma_squared))

    def cdf(self, x: int) -> float:
        """Pr[X <= x]."""
        require_whole(x=x)
        with working():
            return float(upper_tail(-x, self.sigma_squared) if x < 0 else 1 - upper_tail(x + 1, self.sigma_squared))

    def tail(self, m: int) -> float:
        """Pr[|X| > m].

        Theorem   twice the sum of the probabilities from m + 1 on.
        Requires  m >= 0.
        Rounds    up.
        """
        require_whole(at_least=0, m=m)
        with working():
            return min(1.0, float_above(2 * upper_tail(m + 1, self.sigma_squared)))

    def margin(self, *, confidence: Number, outputs: int = 1) -> int:
        """The smallest m such that `outputs` independent draws all lie in [-m, m] with at least this probability.

        Theorem   Pr[|X| > m] <= q, with q = β for one draw and 1 - (1-β)^(1/k) for k, β = 1 - confidence.
        Requires  0 < confidence < 1, outputs >= 1.
        Rounds    up: the coverage is never below the confidence.
        """
        require_open_unit(confidence=confidence)
        require_count(outputs=outputs)
        wide = digits_of(self.sigma_squared)
        share = share_of_failure(beta=1 - exact(confidence), outputs=outputs, digits=DIGITS + wide)
        quantile = standard_tail_quantile(max(float(share) / 2, math.ulp(0.0)))
        guess = int(Fraction(quantile) * math.isqrt(math.ceil(self.sigma_squared)))
        with working(DIGITS + wide):
            limit = share * (1 - Decimal(10) ** -(30 + wide))  # one step of m changes the tail by more
            return smallest_integer(lambda m: 2 * upper_tail(m + 1, self.sigma_squared) <= limit, guess=guess)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussianMechanism:
    """Discrete Gaussian noise on a whole number: l2²/2σ²-zCDP, with nothing rounded.

    Theorem   docs/theorems/discrete_gaussian.md.
    Requires  l2 a whole number >= 1: how far one unit moves the released integer, in its own grains.
    """

    sigma_squared: Fraction
    l2: int

    def __post_init__(self) -> None:
        require_count(at_most=LARGEST_ROOT, l2=self.l2)
        object.__setattr__(self, "sigma_squared", self.law.sigma_squared)

    @property
    def law(self) -> DiscreteGaussianLaw:
        """The exact law of the noise: its variance, tails and margins."""
        return DiscreteGaussianLaw(sigma_squared=self.sigma_squared)

    @property
    def event(self) -> events.DiscreteGaussian:
        """σ² and the squared distance: an accountant prices a single number more tightly than a vector."""
        return events.DiscreteGaussian(sigma_squared=self.sigma_squared, l2_squared=Fraction(self.l2**2))

    def release(self, value: Exact[int], /, *, source: Source) -> int:
        """The value plus one draw of noise."""
        (noise,) = gaussian_noise(sigma_squared=self.sigma_squared, size=1, source=source)
        return whole(opened(value)) + noise


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorDiscreteGaussianMechanism:
    """Independent discrete Gaussian noise on every coordinate of an integer vector: l2²/2σ²-zCDP as a whole.

    Theorem   docs/theorems/discrete_gaussian.md.
    Requires  l2_squared a whole number >= 1: the squared L2 distance by which one unit moves the vector. The
              number of coordinates is public.
    """

    sigma_squared: Fraction
    l2_squared: int
    dimensions: int

    def __post_init__(self) -> None:
        require_count(dimensions=self.dimensions)
        require_whole(at_least=1, l2_squared=self.l2_squared)
        object.__setattr__(self, "sigma_squared", self.law.sigma_squared)

    @property
    def law(self) -> DiscreteGaussianLaw:
        """The exact law of the noise on one coordinate; `law.margin(outputs=dimensions)` covers all at once."""
        return DiscreteGaussianLaw(sigma_squared=self.sigma_squared)

    @property
    def event(self) -> events.DiscreteGaussian:
        """σ², the squared distance and the number of coordinates."""
        return events.DiscreteGaussian(
            sigma_squared=self.sigma_squared, l2_squared=Fraction(self.l2_squared), dimensions=self.dimensions
        )

    def release(self, value: Exact[Sequence[int]], /, *, source: Source) -> tuple[int, ...]:
        """The vector plus one draw of noise per coordinate."""
        values = whole_vector(opened(value), dimensions=self.dimensions)
        noises = gaussian_noise(sigma_squared=self.sigma_squared, size=self.dimensions, source=source)
        return tuple(exact_value + noise for exact_value, noise in zip(values, noises, strict=True))
