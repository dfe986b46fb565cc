"""The exact samplers as their authors wrote them, one draw at a time: short enough to check by eye.

They serve scales too large for tables and are the yardstick the fast samplers are tested against.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from dpsql.randomness.bernoulli import exp_coin
from dpsql.randomness.source import Source, uniform_below
from dpsql.require import require_positive


def discrete_laplace_draw(*, scale: Fraction, source: Source) -> int:
    """One draw with Pr[x] proportional to exp(-|x| / scale).

    Theorem   Canonne, Kamath, Steinke (2020), Algorithm 2, with scale = t / s.
    Requires  scale > 0, rational.
    Rounds    nothing: the draw is exact.
    """
    require_positive(scale=scale)
    t, s = scale.numerator, scale.denominator
    while True:
        low = uniform_below(t, source=source)
        if not exp_coin(low, t, source):
            continue
        high = 0
        while exp_coin(1, 1, source):
            high += 1
        magnitude = (low + t * high) // s
        negative = source.bits(1)
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


def discrete_gaussian_draw(*, sigma_squared: Fraction, source: Source) -> int:
    """One draw with Pr[x] proportional to exp(-x² / (2 sigma_squared)).

    Theorem   Canonne, Kamath, Steinke (2020), Algorithm 3: a discrete Laplace draw of scale t = floor(σ) + 1,
              accepted with probability exp(-(|y| - σ²/t)² / (2σ²)).
    Requires  sigma_squared > 0, rational.
    Rounds    nothing: the draw is exact.
    """
    require_positive(sigma_squared=sigma_squared)
    n, d = sigma_squared.numerator, sigma_squared.denominator
    t = isqrt(n // d) + 1
    while True:
        y = discrete_laplace_draw(scale=Fraction(t), source=source)
        if exp_coin((abs(y) * t * d - n) ** 2, 2 * n * d * t * t, source):
            return y
