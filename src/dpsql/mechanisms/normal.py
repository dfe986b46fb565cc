"""The normal distribution, accurate far into its tails."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpsql.privacy.digits import require_in_reach
from dpsql.privacy.rounding import exact, round_up
from dpsql.require import require_finite, require_open_unit, require_positive

_ROOT_TWO: Final = math.sqrt(2.0)
_ROOT_HALF: Final = math.sqrt(0.5)
_ROOT_HALF_REST: Final = float(Fraction(1, 2) - Fraction(_ROOT_HALF) ** 2) / _ROOT_TWO  # √½ = _ROOT_HALF + this
_SPLIT: Final = float(2**27 + 1)
_STEPS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Normal:
    """A normal distribution with the given mean and standard deviation."""

    mean: float
    sigma: float

    def __post_init__(self) -> None:
        require_finite(mean=self.mean)
        require_positive(sigma=self.sigma)
        require_in_reach(mean=self.mean, sigma=self.sigma)
        object.__setattr__(self, "mean", float(self.mean))
        object.__setattr__(self, "sigma", float(self.sigma))

    @property
    def variance(self) -> float:
        """σ²."""
        return self.sigma * self.sigma

    def pdf(self, x: float) -> float:
        """The density exp(-(x - mean)²/2σ²) / (σ sqrt(2π))."""
        return standard_density(self._standard(x)) / self.sigma

    def cdf(self, x: float) -> float:
        """Pr[X <= x]."""
        return standard_tail(-self._standard(x))

    def tail(self, x: float) -> float:
        """Pr[X > x], accurate where 1 - cdf(x) would be 0."""
        return standard_tail(self._standard(x))

    def ppf(self, probability: float) -> float:
        """The x with Pr[X <= x] = probability.

        Requires  0 < probability < 1.
        """
        return self.mean - self.sigma * standard_tail_quantile(probability)

    def _standard(self, x: float) -> float:
        return (round_up(exact(x)) - self.mean) / self.sigma


def standard_density(x: float) -> float:
    """φ(x) of the standard normal, to a few units in the last place.

    Theorem   exp(-x²/2) / sqrt(2π), with the rounding error of x² put back: it would cost x² units.
    Requires  x is not NaN.
    Rounds    to nearest, within 10⁻¹⁵ of the value.
    """
    if abs(x) > 40:
        return 0.0  # below the smallest float
    high, low = _times(x, x)
    return math.exp(-high / 2) * (1 - low / 2) / math.sqrt(2 * math.pi)


def standard_tail(x: float) -> float:
    """Pr[N > x] of the standard normal, to a few units in the last place.

    Theorem   Pr[N > x] = erfc(x/√2)/2. The rounding error r of x/√2 is put back with the derivative -2/√π·exp(-z²).
    Requires  x is not NaN.
    Rounds    to nearest, within 10⁻¹⁴ of the value.
    """
    if abs(x) > 40:
        return 0.0 if x > 0 else 1.0
    z, rest = _times(x, _ROOT_HALF)
    rest += x * _ROOT_HALF_REST
    return 0.5 * math.erfc(z) - rest * standard_density(x) * _ROOT_TWO


def standard_tail_quantile(probability: float) -> float:
    """The x with Pr[N > x] = probability.

    Theorem   Newton. In the middle on erf(x/√2) = 1 - 2p, whose right side is exact; in the tails on ln Pr[N > x],
              which is concave, from sqrt(-2 ln 2p), which is never below the root: the steps descend to it.
    Requires  0 < probability < 1.
    Rounds    to nearest, within 10⁻¹⁴ of the value.
    """
    require_open_unit(probability=probability)
    probability = float(probability)
    require_open_unit(probability=probability)  # a rational may have become 0 or 1
    if probability > 0.5:
        return -_middle(probability) if probability < 0.75 else -_far(1 - probability)
    return _far(probability) if probability <= 0.25 else -_middle(probability)


def _middle(probability: float) -> float:
    """The x with Pr[N <= x] = probability, for probabilities in [1/4, 3/4]."""
    wanted = 2 * probability - 1
    x = wanted / (2 * standard_density(0.0))
    for _ in range(_STEPS):
        step = (math.erf(x * _ROOT_HALF) - wanted) / (2 * standard_density(x))
        x -= step
        if abs(step) <= 1e-16 * abs(x):
            break
    return x


def _far(probability: float) -> float:
    """The x with Pr[N > x] = probability, for probabilities up to 1/4."""
    wanted = math.log(probability)
    x = math.sqrt(-2 * (wanted + math.log(2)))
    for _ in range(_STEPS):
        log_tail, ratio = _log_tail(x)
        step = (wanted - log_tail) * ratio
        x -= step
        if abs(step) <= 1e-16 * x:
            break
    return x


def _log_tail(x: float) -> tuple[float, float]:
    """ln Pr[N > x] and Pr[N > x]/φ(x), also where the tail itself is below the smallest float."""
    if x < 10:
        tail = standard_tail(x)
        return math.log(tail), tail / standard_density(x)
    below = x
    for step in range(60, 0, -1):  # Laplace's continued fraction; 60 steps are plenty from 10 on
        below = x + step / below
    return -x * x / 2 - math.log(2 * math.pi) / 2 - math.log(below), 1 / below


def _times(a: float, b: float) -> tuple[float, float]:
    """The product of two floats and its rounding error, exactly (Dekker)."""
    product = a * b
    a_high = _SPLIT * a - (_SPLIT * a - a)
    b_high = _SPLIT * b - (_SPLIT * b - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
