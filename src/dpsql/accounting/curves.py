"""Exact privacy curves δ(ε) of common histories, by closed forms: what every numerical accountant is measured by.

Curves of continuous noise. They describe the mathematics; a release is priced by theorems about what is drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Final

import numpy as np

from dpsql.accounting.calibrate import smallest_within
from dpsql.accounting.limits import asked_epsilon, counted, priced_epsilon, require_within, slack
from dpsql.accounting.optimal import optimal_delta
from dpsql.enclosure import exp_bounds, log_bounds
from dpsql.errors import Refused
from dpsql.privacy.rounding import exact, round_down, round_up
from dpsql.privacy.unit import Neighbours
from dpsql.require import Number

_UNIT: Final = 2.0**-52
_ROOT_HALF: Final = math.sqrt(0.5)
LARGEST_LAPLACE_K: Final = 100


def laplace_delta(*, epsilon0: Number, epsilon: Number) -> float:
    """The smallest δ at ε of one Laplace release of scale l1/ε₀: 1 − e^{(ε−ε₀)/2}, and 0 from ε₀ on.

    Theorem   Pr[x <= t] of the two centres, at the t where the densities have ratio e^ε.
    Requires  ε₀ > 0, ε >= 0.
    Rounds    up.
    """
    gap = asked_epsilon(epsilon=epsilon) - priced_epsilon(epsilon0=epsilon0)
    return 0.0 if gap >= 0 else min(1.0, -math.expm1(round_down(gap / 2)) * (1 + 4 * _UNIT))


def composed_laplace_delta(*, epsilon0: Number, k: int, epsilon: Number) -> float:
    """The smallest δ at ε of k Laplace releases of ε₀ each.

    Theorem   the loss is kε₀ − 2S, with S the sum of k copies of B · min(T, ε₀), B a fair coin, T exponential;
              the law of S by expanding its Laplace transform (docs/theorems/pld.md).
    Requires  1 <= k <= 100, ε₀ > 0, ε >= 0.
    Rounds    up, by at most one part in 10**12.
    """
    k = counted(k=k, at_most=LARGEST_LAPLACE_K)
    size, asked = priced_epsilon(epsilon0=epsilon0), asked_epsilon(epsilon=epsilon)
    room = (k * size - asked) / 2
    if room <= 0:
        return 0.0
    # The terms are at most 8**k while δ is at least 2**-k · (1 − e^{−2 room}): so many digits may cancel.
    lost = max(0, room.denominator.bit_length() - room.numerator.bit_length()) // 3
    context = Context(prec=40 + 2 * k + lost)
    half, step = _decimal(room, context), _decimal(size, context)
    total, scale, shrink = Decimal(0), Decimal(1), context.exp(context.minus(step))
    for j in range(k + 1):
        width = context.subtract(half, context.multiply(Decimal(j), step))
        if width <= 0:
            break
        line = Decimal(0)
        for coefficient, value in zip(_coefficients(k, j), _truncated_means(width, k, context), strict=True):
            line = context.fma(Decimal(coefficient), value, line)
        total = context.fma(scale, line, total)
        scale = context.multiply(scale, shrink)
    exactly = Fraction(context.divide(total, Decimal(2**k)))
    return min(1.0, max(0.0, round_up(exactly * (1 + Fraction(1, 10**12)))))


def _decimal(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def _coefficients(k: int, j: int) -> list[int]:
    """2^k times the coefficient of e^{−jε₀(1+s)} (1 + s)^{−m}, m = 0..k, in the k-th power of the transform of S."""
    return [
        sum(
            math.comb(k, n) * math.comb(n, j) * math.comb(j, n - m) * (-1) ** (j - n + m)
            for n in range(max(j, m), min(k, m + j) + 1)
        )
        for m in range(k + 1)
    ]


def _truncated_means(width: Decimal, k: int, context: Context) -> list[Decimal]:
    """E[(1 − e^{2(X − width)})₊] for X = 0 and for X of the Gamma(m) law, m = 1..k."""
    grown, shrunk = context.exp(width), context.exp(context.minus(width))
    decay = context.multiply(shrunk, shrunk)
    below, tilted, power = context.subtract(Decimal(1), shrunk), context.subtract(grown, Decimal(1)), Decimal(1)
    means = [context.subtract(Decimal(1), decay)]
    for m in range(1, k + 1):
        means.append(context.subtract(below, context.multiply(decay, tilted)))
        power = context.divide(context.multiply(power, width), Decimal(m))
        below = context.subtract(below, context.multiply(power, shrunk))
        tilted = context.subtract(context.multiply(power, grown), tilted)
    return means


def randomized_response_delta(*, epsilon0: Number, k: int, epsilon: Number) -> float:
    """The smallest δ at ε of k randomized responses of ε₀ each: the worst k-fold ε₀-DP release.

    Theorem   Kairouz, Oh, Viswanath (2015).
    Requires  1 <= k <= 10**6, ε₀ > 0, ε >= 0.
    Rounds    up.
    """
    return optimal_delta(k=k, epsilon=epsilon0, delta=0, epsilon_total=epsilon)


def gaussian_delta(*, sigma: Number, l2: Number, k: int, epsilon: Number) -> float:
    """The smallest δ at ε of k Gaussian releases.

    Theorem   Balle, Wang (2018), Thm. 8, at μ = sqrt(k) l2/σ: Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ).
    Requires  k >= 1, and μ between 2**-40 and 2**20.
    Rounds    up.
    """
    return _gaussian_delta(_mu(sigma, l2, k), round_down(asked_epsilon(epsilon=epsilon)))


def gaussian_exact_epsilon(*, sigma: Number, l2: Number, k: int, delta: Number) -> float:
    """The smallest ε at δ of k Gaussian releases.

    Theorem   `gaussian_delta`, which falls with ε.
    Requires  as `gaussian_delta`; δ >= 1e-250.
    Rounds    up.
    """
    mu, failure = _mu(sigma, l2, k), round_down(slack(delta=delta))
    require_within(lowest=1e-250, highest=1, delta=delta)
    # δ(ε) <= e^{−t²/2} at ε = μ²/2 + tμ, so this ε is large enough.
    high = mu * mu / 2 + mu * (math.sqrt(-2 * math.log(failure)) + 1)
    return smallest_within(lambda x: _gaussian_delta(mu, x), limit=failure, low=0.0, high=high)


def _mu(sigma: Number, l2: Number, k: int) -> float:
    k = counted(k=k)
    require_within(lowest=Fraction(1, 2**60), highest=2**60, sigma=sigma, l2=l2)
    mu = math.sqrt(k) * round_up(exact(l2) / exact(sigma)) * (1 + 2 * _UNIT)
    require_within(lowest=2.0**-40, highest=2.0**20, mu=mu)
    return mu


def _gaussian_delta(mu: float, epsilon: float) -> float:
    m, e = Fraction(mu), Fraction(epsilon)
    near = float((2 * e - m * m) / (2 * m)) * _ROOT_HALF  # one rounding: for a large ε the two parts nearly cancel
    far = float((2 * e + m * m) / (2 * m)) * _ROOT_HALF
    if far < 6:
        first, second = math.erfc(near) / 2, math.exp(epsilon) * math.erfc(far) / 2
        value, error = first - second, (first + second) * (16 + 8 * far * far)
    elif near < 6:
        # e^ε Φ(−far) = e^{−near²} erfcx(far) / 2: neither overflows nor loses digits, whatever ε.
        first, second = math.erfc(near) / 2, math.exp(-near * near) * _scaled_erfc(far) / 2
        value, error = first - second, (first + second) * (16 + 8 * near * near)
    else:
        common, first, second = math.exp(-near * near) / 2, _scaled_erfc(near), _scaled_erfc(far)
        value = common * (first - second)
        error = value * (16 + 8 * near * near) + common * (first + second) * 16
    return min(1.0, max(0.0, value) + error * _UNIT + 5e-308)


def _scaled_erfc(x: float) -> float:
    """e^{x²} erfc(x) for x >= 6, by its continued fraction, to a few units in the last place."""
    fraction = x
    for n in range(60, 0, -1):
        fraction = x + n / 2 / fraction
    return 1 / (fraction * math.sqrt(math.pi))


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledDelta:
    """δ in both directions: with the person against without, and the reverse."""

    remove: float
    add: float

    @property
    def delta(self) -> float:
        return max(self.remove, self.add)


def sampled_gaussian_delta(
    *, rate: Number, sigma: Number, l2: Number, epsilon: Number, neighbours: Neighbours
) -> SampledDelta:
    """The smallest δ at ε of Gaussian noise on a Poisson sample, in both directions.

    Theorem   with M = (1 − q) N(0) + q N(1): δ(M, N(0)) = q δ_G(ln(1 + (e^ε − 1)/q)), and with
              r = (e^{−ε} − 1 + q)/q, δ(N(0), M) = e^ε q r δ_G(ln(1/r)) for r > 0, else 0.
    Requires  0 < rate < 1, 0 <= ε <= 700, add_remove.
    Rounds    up.
    """
    if neighbours is not Neighbours.ADD_REMOVE:
        raise Refused(
            f"no curve for Poisson sampling under {neighbours!r}",
            why="the two mixtures are those of a person who may be in the sample or not exist",
            fix="use add_remove",
        )
    require_within(lowest=Fraction(1, 2**60), highest=1 - Fraction(1, 2**60), rate=rate)
    require_within(lowest=0, highest=700, epsilon=epsilon)
    mu, q, asked = _mu(sigma, l2, 1), exact(rate), exact(epsilon)
    low, high = exp_bounds(asked, bits=128)
    inner = log_bounds(1 + (low - 1) / q, bits=128)[0]
    remove = round_up(q) * _gaussian_delta(mu, max(0.0, round_down(inner))) * (1 + 4 * _UNIT)
    ratio = (1 / low - 1 + q) / q  # an upper bound of r, and r δ_G(ln(1/r)) grows with r
    add = 0.0
    if ratio > 0:
        inner = log_bounds(1 / min(Fraction(1), ratio), bits=128)[0]
        add = round_up(high * q * ratio) * _gaussian_delta(mu, max(0.0, round_down(inner))) * (1 + 4 * _UNIT)
    return SampledDelta(remove=min(1.0, remove), add=min(1.0, add))


def laplace_and_gaussian_delta(*, laplace_epsilon0: Number, sigma: Number, l2: Number, epsilon: Number) -> float:
    """The smallest δ at ε of one Laplace release of ε₀ together with one Gaussian release.

    Theorem   δ(ε) = E[δ_G(ε − L)] over the Laplace loss L: an atom 1/2 at ε₀, an atom e^{−ε₀}/2 at −ε₀, and the
              density e^{(ℓ − ε₀)/2}/4 between; the integral by Gauss-Legendre on panels half as wide as μ.
    Requires  0 < ε₀ <= 64, 0 <= ε <= 1000, and μ = l2/σ between 2**-6 and 2**10.
    Rounds    up, by at most one part in 10**9.
    """
    size, asked = float(priced_epsilon(epsilon0=laplace_epsilon0)), float(asked_epsilon(epsilon=epsilon))
    require_within(lowest=0, highest=64, laplace_epsilon0=laplace_epsilon0)
    require_within(lowest=0, highest=1000, epsilon=epsilon)
    mu = _mu(sigma, l2, 1)
    require_within(lowest=2.0**-6, highest=2.0**10, mu=mu)
    value = _signed_gaussian(mu, asked - size) / 2 + math.exp(-size) / 2 * _signed_gaussian(mu, asked + size)
    panels = math.ceil(2 * size / min(mu / 2, 1.0))
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = size / panels
    points = (-size + half * (2 * np.arange(panels) + 1))[:, None] + half * nodes
    terms = [_signed_gaussian(mu, asked - x) * math.exp((x - size) / 2) for x in points.ravel().tolist()]
    value += math.fsum(np.array(terms) * np.tile(weights, panels)) * half / 4
    return min(1.0, value * (1 + 1e-9) + 1e-300)


def _signed_gaussian(mu: float, epsilon: float) -> float:
    """δ_G at any ε: for a negative one, δ(ε) = 1 − e^ε + e^ε δ(−ε)."""
    if epsilon >= 0:
        return _gaussian_delta(mu, epsilon)
    return -math.expm1(epsilon) + math.exp(epsilon) * _gaussian_delta(mu, -epsilon)
