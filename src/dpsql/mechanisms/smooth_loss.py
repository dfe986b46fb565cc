"""What smooth noise really costs: exact hockey-stick divergences between neighbours whose noise differs in scale too.

Noise of scale t = 2S/ε around f(x) is compared with that of a neighbour: another centre, at most the smaller S
away, and another S, at most a factor exp(β) away. All bounds are rational and certified; the proofs are in
docs/theorems/smooth_noise_laplace.md and smooth_noise_cauchy.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Final

from dpsql.enclosure import exp_bounds, log_bounds
from dpsql.mechanisms.heavy_tail import require_gamma
from dpsql.privacy.rounding import exact
from dpsql.require import Number, require_count, require_epsilon, require_positive, require_that, unmet

_BITS: Final = 192
_TINY: Final = 4096  # exp(-4096) < 2**-5900: below every δ
LARGEST_DIMENSION: Final = 10**5


def laplace_worst_delta(*, epsilon: Number, beta: Number) -> tuple[Fraction, Fraction]:
    """(low, high) around the δ that Laplace noise of scale 2S/ε with a β-smooth S really has at ε, for one number.

    Theorem   docs/theorems/smooth_noise_laplace.md, Theorem 2. The worst neighbour has S smaller by exp(-β) = r and
              its centre that S away:  δ = (1-r)/2 · (exp(-r(3ε/2+β)/(1-r)) + exp(-r(ε/2+β)/(1-r))).
    Requires  exp(-β)·ε/2 + β <= ε, so that a neighbour with wider noise never exceeds ε.
    Rounds    outward, to a relative 2**-100.
    """
    _require_reach(epsilon=epsilon, beta=beta)
    loss, step = exact(epsilon), exact(beta)
    low_ratio, high_ratio = _ratio(step)
    require_that(high_ratio * loss / 2 + step <= loss, "smaller for this epsilon", beta=beta, epsilon=epsilon)

    def delta(r: Fraction) -> tuple[Fraction, Fraction]:
        far, near = (_exp(-r * (factor * loss + step) / (1 - r)) for factor in (Fraction(3, 2), Fraction(1, 2)))
        return (1 - r) / 2 * (far[0] + near[0]), (1 - r) / 2 * (far[1] + near[1])

    return delta(high_ratio)[0], min(delta(low_ratio)[1], Fraction(1))  # the expression falls as r rises


def scale_change_delta(*, epsilon: Number, beta: Number, dimensions: int) -> tuple[Fraction, Fraction]:
    """(low, high) around the δ at ε between d Laplace noises of scale 1 and d of scale exp(-β), with equal centres.

    Theorem   docs/theorems/smooth_noise_laplace.md, Lemma 3: the sum of the sizes is Gamma(d); the event is its tail:
              δ = G(g) - exp(ε)·G(g/r),  g = r(ε + dβ)/(1-r),  r = exp(-β),  G(x) = exp(-x)·Σ_{j<d} x^j/j!.
    Requires  ε > 0, β > 0, 1 <= dimensions <= 100 000.
    Rounds    outward, to a relative 2**-80 where δ is above exp(-4096); wider below.
    """
    _require_reach(epsilon=epsilon, beta=beta)
    require_count(at_most=LARGEST_DIMENSION, dimensions=dimensions)
    loss, step = exact(epsilon), exact(beta)
    (low_ratio, high_ratio), (low_growth, high_growth) = (
        _ratio(step),
        exp_bounds(loss, bits=_BITS),
    )
    low_edge, high_edge = (r * (loss + dimensions * step) / (1 - r) for r in (low_ratio, high_ratio))
    inner = gamma_tail(high_edge, shape=dimensions)[0], gamma_tail(low_edge, shape=dimensions)[1]
    outer = (
        gamma_tail(high_edge / low_ratio, shape=dimensions)[0],
        gamma_tail(low_edge / high_ratio, shape=dimensions)[1],
    )
    return max(inner[0] - high_growth * outer[1], Fraction(0)), inner[1] - low_growth * outer[0]


def gamma_tail(x: Fraction, *, shape: int) -> tuple[Fraction, Fraction]:
    """(low, high) around Pr[Gamma(shape) > x] = exp(-x) · Σ_{j<shape} x^j / j!.

    Theorem   a Gamma(d) variable is the d-th point of a Poisson process: it exceeds x when fewer than d points came.
              For x < d the other terms, j >= d, are summed and taken from 1: on either side each sum falls.
    Requires  x > 0, shape a whole number from 1 to 100 000.
    Rounds    outward, to a relative 2**-90 where the tail is above exp(-4096); wider below.
    """
    require_positive(x=x)
    require_count(at_most=LARGEST_DIMENSION, shape=shape)
    x = Fraction(x)
    points = shape if x < shape else shape - 1  # the largest term of the sum: exp(-x) x^points / points!
    low_sum, high_sum = _sum_above(x, shape) if x < shape else _sum_below(x, shape)
    low_log, high_log = log_bounds(x, bits=_BITS)
    low_factorial, high_factorial = _log_factorial(points)
    low = _exp(points * low_log - high_factorial - x)[0] * low_sum
    high = min(_exp(points * high_log - low_factorial - x)[1] * high_sum, Fraction(1))
    return (1 - high, 1 - low) if x < shape else (low, high)


def _sum_below(x: Fraction, shape: int) -> tuple[Fraction, Fraction]:
    """Around Σ_{j<d} (x^j / j!) / (x^(d-1) / (d-1)!) for x >= d, from its largest term down, in fixed point."""
    low = high = low_total = high_total = 1 << _BITS
    for j in range(shape - 1, 0, -1):
        low, high = low * j * x.denominator // x.numerator, -(-high * j * x.denominator // x.numerator)
        low_total, high_total = low_total + low, high_total + high
        if high == 1:  # and so is every further term at most: the factors are below 1
            high_total += j
            break
    return Fraction(low_total, 1 << _BITS), Fraction(high_total, 1 << _BITS)


def _sum_above(x: Fraction, shape: int) -> tuple[Fraction, Fraction]:
    """Around Σ_{j>=d} (x^j / j!) / (x^d / d!) for x < d, from its largest term up, in fixed point."""
    low = high = low_total = high_total = 1 << _BITS
    j = shape
    while high > 1 or 2 * x > j:
        j += 1
        low = low * x.numerator // (j * x.denominator)
        high = -(-high * x.numerator // (j * x.denominator))
        low_total, high_total = low_total + low, high_total + high
    return Fraction(low_total, 1 << _BITS), Fraction(high_total + 1, 1 << _BITS)  # from here every term halves


@lru_cache(maxsize=64)
def _log_factorial(n: int) -> tuple[Fraction, Fraction]:
    """Around ln(n!), from the leading bits of the factorial."""
    value = math.factorial(n)
    shift = max(value.bit_length() - 2 * _BITS, 0)
    two = log_bounds(Fraction(2), bits=_BITS + 32)
    head = value >> shift
    low, high = log_bounds(Fraction(head), bits=_BITS)[0], log_bounds(Fraction(head + (shift > 0)), bits=_BITS)[1]
    return low + shift * two[0], high + shift * two[1]


def _require_reach(*, epsilon: Number, beta: Number) -> None:
    require_epsilon(epsilon=epsilon)
    require_positive(beta=beta)
    if exact(epsilon) > _TINY or not Fraction(1, 2**100) <= exact(beta) <= _TINY:
        raise unmet(f"epsilon={epsilon!r} or beta={beta!r} is out of reach")


def _ratio(beta: Fraction) -> tuple[Fraction, Fraction]:
    """Around exp(-β), strictly inside (0, 1)."""
    return exp_bounds(-beta, bits=_BITS)


def _exp(x: Fraction) -> tuple[Fraction, Fraction]:
    """exp(x) for x <= 0 or little above; far below, only "less than exp(-4096)" is computed."""
    if x < -_TINY:
        return Fraction(0), exp_bounds(Fraction(-_TINY), bits=_BITS)[1]
    return exp_bounds(_rounded(x, -1), bits=_BITS)[0], exp_bounds(_rounded(x, 1), bits=_BITS)[1]


def _rounded(x: Fraction, side: int) -> Fraction:
    """x on a grid of 2**-256, below (-1) or above (+1): long quotients make exp slow."""
    scaled = x * (1 << 256)
    return Fraction(math.floor(scaled) if side < 0 else math.ceil(scaled), 1 << 256)


def cauchy_loss_bound(*, epsilon: Number, gamma: Number, slack: Number) -> Fraction:
    """A proven upper bound of the privacy loss of smooth Cauchy-type noise at scale 2(γ+1)S/ε.

    Theorem   docs/theorems/smooth_noise_cauchy.md, Theorem 2: with α = β = ε/(2(γ+1)) and slopes of the log density
              of at most c = max(1, γ-1) in the shift and in the logarithm of the scale, the loss is at most c(α+β).
    Requires  γ > 1, and an S that is (β + slack)-smooth.
    Rounds    nothing: rational.
    """
    require_epsilon(epsilon=epsilon)
    require_gamma(gamma=gamma)
    loss, power = exact(epsilon), exact(gamma)
    return max(Fraction(1), power - 1) * (loss / (power + 1) + exact(slack))
