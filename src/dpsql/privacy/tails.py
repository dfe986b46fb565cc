"""The probability the proofs lean on: Chernoff, Azuma, Stirling, and exact binomial tails to hold them against."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpsql.enclosure import exp_negative_fixed
from dpsql.privacy.rounding import exact, round_up
from dpsql.require import (
    Number,
    require_count,
    require_finite,
    require_non_negative,
    require_positive,
    require_probability,
)

_UNIT_BITS: Final = 1400
"""Fixed point far below the smallest float: a tail keeps more than 300 bits wherever it can be printed."""


def chernoff_additive(*, n: int, t: Number) -> float:
    """A bound of Pr[mean > expectation + t] for n independent values in [0, 1]: exp(-2nt²). Two-sided: twice that.

    Theorem   Hoeffding (1963); Dwork, Roth (2014), Theorem 3.1.
    Requires  n >= 1, t >= 0.
    Rounds    up.
    """
    require_count(n=n)
    require_non_negative(t=t)
    return _exp_minus_up(2 * n * exact(t) ** 2)


def chernoff_multiplicative_upper(*, n: int, mean: Number, t: Number) -> float:
    """A bound of Pr[mean of values > (1 + t)·expectation] for n independent values in [0, 1]: exp(-n·mean·t²/3).

    Theorem   Dwork, Roth (2014), Theorem 3.2: (1 + t) ln(1 + t) - t >= t²/3 on [0, 1].
    Requires  n >= 1, 0 <= mean <= 1, 0 <= t <= 1: beyond 1 the exponent is too good to be true.
    Rounds    up.
    """
    require_count(n=n)
    require_probability(mean=mean, t=t)
    return _exp_minus_up(n * exact(mean) * exact(t) ** 2 / 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class TailBound:
    """The sum passes `threshold` with probability at most `probability`."""

    threshold: float
    probability: float


def azuma_bound(*, k: int, alpha: Number, beta: Number, z: Number) -> TailBound:
    """Pr[C_1 + … + C_k > kβ + z√k·α] <= exp(-z²/2) where |C_i| <= α and E[C_i | earlier ones] <= β.

    Theorem   Azuma (1967); Dwork, Roth (2014), Lemma 3.19 (docs/theorems/tails.md).
    Requires  k >= 1, α > 0, z > 0, β finite.
    Rounds    up, threshold and probability.
    """
    require_count(k=k)
    require_positive(alpha=alpha, z=z)
    require_finite(beta=beta)
    spread = exact(alpha) * exact(z)
    # √k enters as a rational just above it.
    root = Fraction(math.isqrt(k << 256) + 1, 1 << 128) if math.isqrt(k) ** 2 != k else Fraction(math.isqrt(k))
    return TailBound(threshold=round_up(k * exact(beta) + spread * root), probability=_exp_minus_up(exact(z) ** 2 / 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stirling:
    """ln n! by Stirling's formula, and between Robbins' bounds."""

    approximation: float
    lower: float
    upper: float


def stirling_log_factorial(*, n: int) -> Stirling:
    """ln(√(2πn) (n/e)^n), which lies below ln n!, and Robbins' bounds: 1/(12n+1) and 1/(12n) above it.

    Theorem   Robbins (1955).
    Requires  n >= 1.
    Rounds    lower down, upper up; the approximation to nearest.
    """
    require_count(n=n)
    leading = n * math.log(n)
    value = math.fsum([leading, -n, 0.5 * math.log(2 * math.pi * n)])
    error = 4 * math.ulp(leading + 1) + 4 * math.ulp(value)
    return Stirling(approximation=value, lower=value + 1 / (12 * n + 1) - error, upper=value + 1 / (12 * n) + error)


def _exp_minus_up(x: Fraction) -> float:
    """exp(-x) rounded up; the smallest float where it is below every float."""
    if x == 0:
        return 1.0
    high = exp_negative_fixed(min(x, Fraction(2000)), bits=_UNIT_BITS)[1]
    return min(1.0, round_up(Fraction(high, 1 << _UNIT_BITS)))
