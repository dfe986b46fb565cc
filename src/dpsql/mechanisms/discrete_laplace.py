"""The discrete Laplace law and mechanism: exact integer noise, Pr[x] ∝ exp(-|x|/scale), what it costs, its margins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from dpsql import randomness
from dpsql.mechanisms.mechanism import opened
from dpsql.mechanisms.whole import require_whole, whole, whole_vector
from dpsql.privacy.digits import (
    DIGITS,
    MARGIN,
    decimal,
    digits_of,
    float_above,
    require_in_reach,
    share_of_failure,
    working,
)
from dpsql.privacy.events import Pure
from dpsql.privacy.exact import Exact
from dpsql.privacy.rounding import exact
from dpsql.privacy.shifts import GeometricShift
from dpsql.randomness import Source
from dpsql.require import (
    Number,
    require_count,
    require_epsilon,
    require_open_unit,
    require_positive,
)


def laplace_noise(*, l1: int, epsilon: Number, size: int, source: Source) -> list[int]:
    """`size` independent draws of the noise that makes an integer query of L1 sensitivity `l1` ε-DP.

    Theorem   docs/theorems/discrete_laplace.md: Pr[x] ∝ exp(-|x| ε / l1).
    Requires  l1 a whole number >= 1, ε > 0, size >= 0.
    Rounds    nothing: the draws are exact and the scale l1/ε is a rational number.
    """
    require_whole(at_least=1, l1=l1)
    require_epsilon(epsilon=epsilon)
    require_in_reach(epsilon=epsilon)
    draws = randomness.discrete_laplace(scale=l1 / exact(epsilon), size=size, source=source)
    return [int(draw) for draw in draws]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplaceLaw:
    """Pr[x] = (1-p)/(1+p) · p^|x| with p = exp(-1/scale), for every integer x."""

    scale: Fraction

    def __post_init__(self) -> None:
        require_positive(scale=self.scale)
        require_in_reach(scale=self.scale)
        object.__setattr__(self, "scale", exact(self.scale))

    @property
    def p(self) -> float:
        """The ratio of neighbouring probabilities, exp(-1/scale)."""
        with working(self._digits()):
            return float(self._power(1))

    @property
    def variance(self) -> float:
        """2p / (1-p)²: below the 2·scale² of the continuous law."""
        with working(self._digits()):
            p = self._power(1)
            return float(2 * p / ((1 - p) * (1 - p)))

    @property
    def std(self) -> float:
        """The square root of the variance."""
        return math.sqrt(self.variance)

    def pmf(self, x: int) -> float:
        """Pr[X = x]."""
        require_whole(x=x)
        with working(self._digits()):
            p = self._power(1)
            return float((1 - p) / (1 + p) * self._power(abs(x)))

    def cdf(self, x: int) -> float:
        """Pr[X <= x]: p^-x / (1+p) below 0, 1 - p^(x+1) / (1+p) from 0 on."""
        require_whole(x=x)
        with working(self._digits()):
            tail = self._power(-x if x < 0 else x + 1) / (1 + self._power(1))
            return float(tail if x < 0 else 1 - tail)

    def tail(self, m: int) -> float:
        """Pr[|X| > m].

        Theorem   a geometric series on each side: 2 p^(m+1) / (1+p).
        Requires  m >= 0.
        Rounds    up.
        """
        require_whole(at_least=0, m=m)
        with working(self._digits()):
            return min(1.0, float_above(2 * self._power(m + 1) / (1 + self._power(1))))

    def margin(self, *, confidence: Number, outputs: int = 1) -> int:
        """The smallest m such that `outputs` independent draws all lie in [-m, m] with at least this probability.

        Theorem   Pr[|X| > m] <= q exactly when (m+1)/scale >= ln(2 / (q(1+p))); q = β for one draw and
                  1 - (1-β)^(1/k) for k, β = 1 - confidence.
        Requires  0 < confidence < 1, outputs >= 1.
        Rounds    up: the coverage is never below the confidence.
        """
        require_open_unit(confidence=confidence)
        require_count(outputs=outputs)
        share = share_of_failure(beta=1 - exact(confidence), outputs=outputs, digits=self._digits())
        with working(self._digits()):
            bound = decimal(self.scale) * (2 / (share * (1 + self._power(1)))).ln()
            return max(0, math.ceil(Fraction(bound) + MARGIN) - 1)  # the digits are enough for an absolute error

    def delta(self, *, shift: int, epsilon: Number) -> float:
        """The δ at `epsilon` of telling this noise from itself moved by `shift`: the hockey-stick divergence.

        Theorem   docs/theorems/discrete_laplace.md: with c = floor((ε·scale - shift)/2) + 1,
                  δ = Pr[X >= c] - exp(ε) Pr[X >= c + shift] = (1 + p - p^(1-c) - exp(ε) p^(c+shift)) / (1 + p),
                  and 0 from ε = shift/scale on. No smaller shift has a larger δ.
        Requires  shift a whole number >= 1, ε >= 0.
        Rounds    up.
        """
        require_whole(at_least=1, shift=shift)
        return GeometricShift(epsilon=1 / self.scale, shift=shift).hockey_stick(epsilon=epsilon)

    def _power(self, exponent: int) -> Decimal:
        """p^exponent."""
        return decimal(-exponent / self.scale).exp()

    def _digits(self) -> int:
        """Enough to take 1 - p from 1, twice."""
        return DIGITS + 2 * digits_of(self.scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceMechanism:
    """Discrete Laplace noise of scale l1/ε on a whole number: ε-DP, with nothing rounded.

    Theorem   docs/theorems/discrete_laplace.md.
    Requires  l1 a whole number >= 1: how far one unit moves the released integer, in its own grains.
    """

    l1: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _checked_epsilon(l1=self.l1, epsilon=self.epsilon))

    @property
    def law(self) -> DiscreteLaplaceLaw:
        """The exact law of the noise: its variance, tails and margins."""
        return DiscreteLaplaceLaw(scale=self.l1 / self.epsilon)

    @property
    def event(self) -> Pure:
        """ε-DP."""
        return Pure(epsilon=self.epsilon)

    def release(self, value: Exact[int], /, *, source: Source) -> int:
        """The value plus one draw of noise."""
        (noise,) = laplace_noise(l1=self.l1, epsilon=self.epsilon, size=1, source=source)
        return whole(opened(value)) + noise


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorLaplaceMechanism:
    """Independent discrete Laplace noise of scale l1/ε on every coordinate of an integer vector: ε-DP as a whole.

    Theorem   docs/theorems/discrete_laplace.md.
    Requires  l1 a whole number >= 1: the L1 distance by which one unit moves the vector. The number of
              coordinates is public.
    """

    l1: int
    epsilon: Fraction
    dimensions: int

    def __post_init__(self) -> None:
        require_count(dimensions=self.dimensions)
        object.__setattr__(self, "epsilon", _checked_epsilon(l1=self.l1, epsilon=self.epsilon))

    @property
    def law(self) -> DiscreteLaplaceLaw:
        """The exact law of the noise on one coordinate; `law.margin(outputs=dimensions)` covers all at once."""
        return DiscreteLaplaceLaw(scale=self.l1 / self.epsilon)

    @property
    def event(self) -> Pure:
        """ε-DP, once for the whole vector."""
        return Pure(epsilon=self.epsilon)

    def release(self, value: Exact[Sequence[int]], /, *, source: Source) -> tuple[int, ...]:
        """The vector plus one draw of noise per coordinate."""
        values = whole_vector(opened(value), dimensions=self.dimensions)
        noises = laplace_noise(l1=self.l1, epsilon=self.epsilon, size=self.dimensions, source=source)
        return tuple(exact_value + noise for exact_value, noise in zip(values, noises, strict=True))


def _checked_epsilon(*, l1: int, epsilon: Number) -> Fraction:
    require_whole(at_least=1, l1=l1)
    require_epsilon(epsilon=epsilon)
    require_in_reach(epsilon=epsilon, scale=l1 / exact(epsilon))
    return exact(epsilon)
