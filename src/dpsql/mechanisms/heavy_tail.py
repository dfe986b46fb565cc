"""The law with density ∝ 1 / (1 + |z|^γ): its shape, and exact draws from it, scaled and rounded to whole numbers.

A uniform number is revealed bit by bit and compared with certified bounds of the tail probability, so each draw is
the rounding of a real number with exactly this law: nothing is truncated and nothing is a float.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Final

from dpsql.enclosure import exp_bounds, log_bounds
from dpsql.privacy.rounding import exact
from dpsql.randomness import Source
from dpsql.randomness.uniform import LazyUniform
from dpsql.require import Number, require_positive, require_that, unmet

LARGEST_GAMMA: Final = 10**6
SMALLEST_DRAWN: Final = Fraction(5, 4)
LARGEST_DRAWN: Final = Fraction(64)
_GUARD: Final = 16

Interval = tuple[int, int]
"""(low, high) around a real number times 2**bits."""


def rounded_heavy_tail(*, gamma: Fraction, scale: Fraction, source: Source) -> int:
    """The nearest whole number to scale · Z, where Z has density ∝ 1 / (1 + |z|^γ) on the line.

    Theorem   docs/theorems/smooth_noise_cauchy.md, Lemma 3: inversion. |scale · Z| rounds to m or more with
              probability T((m - 1/2) / scale); a uniform u below T means "m or more".
    Requires  5/4 <= γ <= 64, scale > 0, both rational.
    Rounds    nothing: u gets more bits until the bounds of T decide. The law is exact.
    """
    require_supported_gamma(gamma=gamma)
    require_positive(scale=scale)
    uniform = LazyUniform(source)

    def reaches(size: int) -> bool:
        z = Fraction(2 * size - 1, 2) / scale
        return size == 0 or uniform.is_below(lambda bits: tail_fixed(z, gamma=gamma, bits=bits))

    high = 1
    while reaches(high):
        high *= 2
    low = high // 2  # reached, or 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if reaches(middle) else (low, middle)
    return -low if source.bits(1) else low


def tail_fixed(z: Fraction, *, gamma: Fraction, bits: int) -> Interval:
    """Integers around 2**bits · Pr[|Z| >= z], at most 2 apart.

    Theorem   docs/theorems/smooth_noise_cauchy.md, Lemma 4: below 1 the mass of [0, z], above 1 the mass beyond z,
              each by a series of positive terms that at least halve.
    Requires  z >= 0, 5/4 <= γ <= 64, bits >= 1.
    Rounds    outward.
    """
    work = bits + _GUARD + 8
    below, beyond = _masses_around_one(gamma, work)
    total = below[0] + beyond[0], below[1] + beyond[1]
    one = 1 << bits
    if z <= 1:
        part = _mass(z, gamma=gamma, first=Fraction(1), work=work)
        return one - -(-(part[1] << bits) // total[0]), one - (part[0] << bits) // total[1]
    part = _mass(1 / z, gamma=gamma, first=gamma - 1, work=work)
    return (part[0] << bits) // total[1], -(-(part[1] << bits) // total[0])


@lru_cache(maxsize=32)
def _masses_around_one(gamma: Fraction, work: int) -> tuple[Interval, Interval]:
    """The integrals of 1 / (1 + z^γ) over [0, 1] and over [1, ∞)."""
    one = Fraction(1)
    return _mass(one, gamma=gamma, first=one, work=work), _mass(one, gamma=gamma, first=gamma - 1, work=work)


def _mass(y: Fraction, *, gamma: Fraction, first: Fraction, work: int) -> Interval:
    """Around 2**work · ∫_0^y x^(first-1) / (1 + x^γ) dx, for 0 <= y <= 1.

    With p = y^γ and w = p/(1+p) <= 1/2 the integral is y^first / (first·(1+p)) · Σ_n w^n · n! / Π_{j<=n} (c + j),
    c = first/γ. Every term is at most half of the one before, so the rest of the series is at most its last term.
    """
    one = 1 << work
    low_lead, high_lead = _power(y, first, work)
    low_p, high_p = _power(y, gamma, work)
    low_w, high_w = (low_p << work) // (one + low_p), -(-(high_p << work) // (one + high_p))
    c = first / gamma
    low = high = low_sum = high_sum = one
    n = 0
    while high > 1:
        n += 1
        above, below = n * c.denominator, c.numerator + n * c.denominator
        low = low * low_w * above // (below << work)
        high = -(-high * high_w * above // (below << work))
        low_sum, high_sum = low_sum + low, high_sum + high
    high_sum += 2  # the terms left out add up to at most the last one; w itself may be one unit too large
    below = first.numerator
    return (
        low_lead * low_sum * first.denominator // (below * (one + high_p)),
        -(-high_lead * high_sum * first.denominator // (below * (one + low_p))),
    )


def _power(y: Fraction, exponent: Fraction, work: int) -> Interval:
    """Around 2**work · y^exponent for 0 <= y <= 1 and exponent > 0."""
    one = 1 << work
    if y in (0, 1):
        return (int(y) * one,) * 2
    if exponent.denominator == 1:
        low, high = y.numerator**exponent.numerator, y.denominator**exponent.numerator
        return (low << work) // high, -(-(low << work) // high)
    low_log, high_log = log_bounds(y, bits=work + 16)
    if exponent * high_log < -work:  # exp(-work) < 2**-work
        return 0, 1
    low_power = exp_bounds(exponent * low_log, bits=work + 8)[0]
    high_power = exp_bounds(exponent * high_log, bits=work + 8)[1]
    return math.floor(low_power * one), math.ceil(high_power * one)


def require_supported_gamma(*, gamma: Fraction) -> None:
    """An exponent whose draws end soon: nearer to 1 the law has hardly any centre, above 64 it is a box."""
    require_positive(gamma=gamma)
    if not SMALLEST_DRAWN <= gamma <= LARGEST_DRAWN:
        raise unmet(f"gamma={gamma!r} must lie between {SMALLEST_DRAWN} and {LARGEST_DRAWN}")


def require_gamma(*, gamma: Number) -> None:
    """The exponent of a Cauchy-type law is a number above 1, up to a million."""
    require_positive(gamma=gamma)
    require_that(1 < exact(gamma) <= LARGEST_GAMMA, f"above 1 and at most {LARGEST_GAMMA}", gamma=gamma)
