"""Noise whose scale follows a smooth bound of the local sensitivity: Laplace for (ε, δ), Cauchy-type for pure ε.

The bound is private, so it travels with the value inside one Exact and never leaves. Noise is the rounding of a real
number to a fixed grain: what is proven for the real number holds for the rounded one, whatever the scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpsql.enclosure import log_bounds
from dpsql.mechanisms.heavy_tail import require_gamma, require_supported_gamma, rounded_heavy_tail
from dpsql.mechanisms.mechanism import opened
from dpsql.mechanisms.smooth_loss import (
    LARGEST_DIMENSION,
    cauchy_loss_bound,
    laplace_worst_delta,
    scale_change_delta,
)
from dpsql.mechanisms.whole import whole_vector
from dpsql.privacy.events import Approximate, Pure
from dpsql.privacy.exact import Exact
from dpsql.privacy.rounding import exact, round_down
from dpsql.randomness import Source, discrete_laplace
from dpsql.require import (
    Number,
    require_count,
    require_epsilon,
    require_non_negative,
    require_open_unit,
    require_positive,
    require_type,
    unmet,
)

SLACK: Final = Fraction(1, 2**40)
"""How much the logarithm of the scale may move beyond β: the rounding of S (2**-42, relative) and of the scale."""

_SIGNIFICANT: Final = 64


def smooth_beta(*, epsilon: Number, delta: Number, dimensions: int) -> float:
    """The β to which S must be smooth for Laplace noise of scale 2S/ε on `dimensions` numbers.

    Theorem   Nissim, Raskhodnikova, Smith (2007), Lemma 2.9: one number ε / (2 ln(2/δ)); d numbers as in
              `smooth_beta_vector`. `SmoothLaplace` checks the resulting δ exactly.
    Requires  ε > 0, 0 < δ < 1, 1 <= dimensions <= 100 000.
    Rounds    down: a smaller β is a stricter demand on S.
    """
    if dimensions != 1:
        return smooth_beta_vector(epsilon=epsilon, delta=delta, dimensions=dimensions)
    _require_loss(epsilon=epsilon, delta=delta)
    return round_down(exact(epsilon) / (2 * log_bounds(2 / exact(delta))[1]))


def smooth_beta_vector(*, epsilon: Number, delta: Number, dimensions: int) -> float:
    """The β for d numbers that share one S: ε / (4(d + ln(2/δ))).

    Theorem   Nissim, Raskhodnikova, Smith (2007), Lemma 2.9. One change of scale shows in d noises at once, so the
              β of one number is not enough: see docs/theorems/smooth_noise_laplace.md.
    Requires  ε > 0, 0 < δ < 1, 1 <= dimensions <= 100 000.
    Rounds    down.
    """
    _require_loss(epsilon=epsilon, delta=delta)
    require_count(at_most=LARGEST_DIMENSION, dimensions=dimensions)
    return round_down(exact(epsilon) / (4 * (dimensions + log_bounds(2 / exact(delta))[1])))


def cauchy_beta(*, epsilon: Number, gamma: Number) -> float:
    """The β to which S must be smooth for Cauchy-type noise of scale 2(γ+1)S/ε: ε / (2(γ+1)).

    Theorem   Nissim, Raskhodnikova, Smith (2007), Corollary 2.4(1).
    Requires  ε > 0, γ > 1.
    Rounds    down.
    """
    require_epsilon(epsilon=epsilon)
    require_gamma(gamma=gamma)
    return round_down(exact(epsilon) / (2 * (exact(gamma) + 1)))


def smooth_laplace_scale(*, bound: Number, epsilon: Number) -> Fraction:
    """The scale of smooth Laplace noise, 2S/ε, with 64 significant bits.

    Theorem   Nissim, Raskhodnikova, Smith (2007), Lemma 2.9: α = ε/2, scale S/α.
    Requires  S > 0, ε > 0.
    Rounds    up, by a relative 2**-62 at most.
    """
    require_epsilon(epsilon=epsilon)
    return _shortened(2 * _positive(bound) / exact(epsilon))


def smooth_cauchy_scale(*, bound: Number, epsilon: Number, gamma: Number) -> Fraction:
    """The scale of smooth Cauchy-type noise, 2(γ+1)S/ε, with 64 significant bits.

    Theorem   Nissim, Raskhodnikova, Smith (2007), Corollary 2.4(1): α = ε/(2(γ+1)), scale S/α.
    Requires  S > 0, ε > 0, γ > 1.
    Rounds    up, by a relative 2**-62 at most.
    """
    require_epsilon(epsilon=epsilon)
    require_gamma(gamma=gamma)
    return _shortened(2 * (exact(gamma) + 1) * _positive(bound) / exact(epsilon))


def rounded_laplace(*, scale: Fraction, size: int, source: Source) -> list[int]:
    """`size` draws of the nearest whole number to a continuous Laplace variable of this scale.

    Theorem   docs/theorems/smooth_noise_laplace.md, Lemma 4: floor(2|X|) is geometric with exp(-1/(2·scale)), as is a
              discrete Laplace draw folded onto the non-negative numbers; |X| rounds to (floor(2|X|) + 1) div 2.
    Requires  scale > 0, rational; 1 <= size <= 100 000.
    Rounds    nothing: the law is exact.
    """
    require_positive(scale=scale)
    require_count(at_most=LARGEST_DIMENSION, size=size)
    signs = source.bits(size)
    draws = []
    for index, draw in enumerate(discrete_laplace(scale=2 * exact(scale), size=size, source=source)):
        halves = int(draw) if draw >= 0 else -int(draw) - 1
        size_of_noise = (halves + 1) // 2
        draws.append(-size_of_noise if signs >> index & 1 else size_of_noise)
    return draws


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Smoothed:
    """Exact values and the smooth bound S of their joint L1 sensitivity, all in grains. None of it may be printed.

    `beta` says how smooth S is: S(D) <= exp(beta)·S(D') for all neighbours, after a rounding up by a relative 2**-42 at
    most. A mechanism refuses a bound that is less smooth than it needs.
    """

    values: tuple[int, ...]
    bound: Fraction
    beta: Number

    def __repr__(self) -> str:
        return "Smoothed(hidden)"


@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothLaplace:
    """Laplace noise of scale 2S/ε on each of `dimensions` numbers, rounded to the grain: (ε, δ)-DP.

    Refuses parameters for which the exact δ of its noise is above the stated one, which happens for large ε.
    """

    epsilon: Number
    delta: Number
    dimensions: int
    grain: Fraction

    def __post_init__(self) -> None:
        require_positive(grain=self.grain)
        spent = smooth_laplace_delta(epsilon=self.epsilon, beta=exact(self.beta) + SLACK, dimensions=self.dimensions)
        if spent > exact(self.delta):
            raise unmet(f"smooth Laplace noise at epsilon={self.epsilon!r} does not keep delta={self.delta!r}")

    @property
    def beta(self) -> float:
        """How smooth S must be."""
        return smooth_beta(epsilon=self.epsilon, delta=self.delta, dimensions=self.dimensions)

    @property
    def event(self) -> Approximate:
        """(ε, δ), never pure: far out, a slightly narrower noise is unboundedly less likely."""
        return Approximate(epsilon=exact(self.epsilon), delta=exact(self.delta))

    def release(self, value: Exact[Smoothed], /, *, source: Source) -> tuple[Fraction, ...]:
        """The values with independent noise, as multiples of the grain."""
        smoothed = _opened(value, beta=self.beta)
        values = whole_vector(smoothed.values, dimensions=self.dimensions)
        scale = smooth_laplace_scale(bound=smoothed.bound, epsilon=self.epsilon)
        noise = rounded_laplace(scale=scale, size=self.dimensions, source=source)
        return tuple(self.grain * (exact_value + draw) for exact_value, draw in zip(values, noise, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothCauchy:
    """Noise with density ∝ 1/(1 + |z|^γ) and scale 2(γ+1)S/ε on one number, rounded to the grain: pure ε-DP.

    No variance for γ <= 3, no mean for γ <= 2.
    """

    epsilon: Number
    gamma: Number
    grain: Fraction

    def __post_init__(self) -> None:
        require_positive(grain=self.grain)
        require_gamma(gamma=self.gamma)
        require_supported_gamma(gamma=exact(self.gamma))
        if cauchy_loss_bound(epsilon=self.epsilon, gamma=self.gamma, slack=SLACK) > exact(self.epsilon):
            raise unmet(f"epsilon={self.epsilon!r} is too small for smooth noise")

    @property
    def beta(self) -> float:
        """How smooth S must be."""
        return cauchy_beta(epsilon=self.epsilon, gamma=self.gamma)

    @property
    def event(self) -> Pure:
        """Pure ε: the draw is exact, so no δ is needed for its digits."""
        return Pure(epsilon=exact(self.epsilon))

    def release(self, value: Exact[Smoothed], /, *, source: Source) -> tuple[Fraction, ...]:
        """The value with noise, as a multiple of the grain."""
        smoothed = _opened(value, beta=self.beta)
        (exact_value,) = whole_vector(smoothed.values, dimensions=1)
        scale = smooth_cauchy_scale(bound=smoothed.bound, epsilon=self.epsilon, gamma=self.gamma)
        noise = rounded_heavy_tail(gamma=exact(self.gamma), scale=scale, source=source)
        return (self.grain * (exact_value + noise),)


def smooth_laplace_delta(*, epsilon: Number, beta: Number, dimensions: int) -> Fraction:
    """An upper bound of the δ at ε of Laplace noise of scale 2S/ε with a β-smooth S; exact for one number.

    Theorem   docs/theorems/smooth_noise_laplace.md, Theorem 2 (one number) and Theorem 5 (d numbers: the shift costs
              ε/2 surely, the change of scale has the hockey-stick divergence of Lemma 3 at ε/2).
    Requires  d·β <= ε/2, and for one number exp(-β)·ε/2 + β <= ε.
    Rounds    up.
    """
    require_count(at_most=LARGEST_DIMENSION, dimensions=dimensions)
    if dimensions == 1:
        return laplace_worst_delta(epsilon=epsilon, beta=beta)[1]
    require_epsilon(epsilon=epsilon)
    half = exact(epsilon) / 2
    if dimensions * exact(beta) > half:
        raise unmet(f"beta={beta!r} is too large for {dimensions} numbers at epsilon={epsilon!r}")
    return scale_change_delta(epsilon=half, beta=beta, dimensions=dimensions)[1]


def _require_loss(*, epsilon: Number, delta: Number) -> None:
    require_epsilon(epsilon=epsilon)
    require_open_unit(delta=delta)


def _opened(value: Exact[Smoothed], *, beta: float) -> Smoothed:
    """What the mechanism may see, if its bound is smooth enough. Both numbers in the message are public parameters."""
    smoothed = opened(value)
    require_type(Smoothed, smoothed=smoothed)
    require_non_negative(beta=smoothed.beta)
    if smoothed.beta > beta:
        raise unmet(f"the bound is smooth to {float(smoothed.beta):.6g} only, and this noise needs {beta:.6g}")
    return smoothed


def _positive(bound: Number) -> Fraction:
    """S as a rational. It comes from private rows, so it stays out of the message."""
    try:
        value = Fraction(bound)
    except (TypeError, ValueError, OverflowError):
        value = Fraction(0)
    if value <= 0:
        raise unmet("a smooth bound must be a finite number above 0") from None
    return value


def _shortened(value: Fraction) -> Fraction:
    """The value rounded up to 64 significant bits, so that samplers work with short numbers."""
    shift = value.numerator.bit_length() - value.denominator.bit_length() - _SIGNIFICANT
    unit = Fraction(2) ** shift
    return -(-value // unit) * unit
