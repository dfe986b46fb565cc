"""Continuous Laplace noise: the distribution, its calibration, its accuracy, and how many people it needs.

A library for planning and comparison. What is released carries exact integer noise
(`dpsql.mechanisms.discrete_laplace`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpsql.errors import NoTheorem
from dpsql.privacy.digits import (
    DIGITS,
    MARGIN,
    decimal,
    digits_of,
    float_above,
    log_of_inverse,
    require_in_reach,
    share_of_failure,
    working,
)
from dpsql.privacy.rounding import exact, round_up
from dpsql.privacy.unit import Neighbours, require_neighbours
from dpsql.require import (
    Number,
    require_count,
    require_epsilon,
    require_non_negative,
    require_open_unit,
    require_positive,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace:
    """The continuous Laplace distribution around 0. Its variance is 2·scale², not the scale."""

    scale: float

    def __post_init__(self) -> None:
        require_positive(scale=self.scale)
        require_in_reach(scale=self.scale)
        object.__setattr__(self, "scale", float(self.scale))

    @property
    def variance(self) -> float:
        """2·scale²."""
        return 2 * self.scale * self.scale

    @property
    def std(self) -> float:
        """sqrt(2)·scale."""
        return math.sqrt(2) * self.scale

    def pdf(self, x: Number) -> float:
        """The density exp(-|x|/scale) / (2·scale)."""
        return math.exp(-self._sizes(x)) / (2 * self.scale)

    def cdf(self, x: Number) -> float:
        """Pr[X <= x]."""
        tail = math.exp(-self._sizes(x)) / 2
        return tail if x < 0 else 1 - tail

    def tail(self, x: Number) -> float:
        """Pr[X > x], accurate where 1 - cdf(x) would be 0."""
        return self.cdf(-exact(x))

    def ppf(self, probability: Number) -> float:
        """The x with Pr[X <= x] = probability.

        Requires  0 < probability < 1.
        """
        require_open_unit(probability=probability)
        below = exact(probability)
        size = float(log_of_inverse(2 * min(below, 1 - below))) if below != Fraction(1, 2) else 0.0
        return self.scale * (size if below > Fraction(1, 2) else -size)

    def _sizes(self, x: Number) -> float:
        """|x| in scales; infinite where no float holds it."""
        return round_up(abs(exact(x))) / self.scale


def laplace_scale(*, l1: Number, epsilon: Number) -> float:
    """The scale of Laplace noise that makes a query of L1 sensitivity `l1` ε-DP.

    Theorem   Dwork, McSherry, Nissim, Smith (TCC 2006), Laplace mechanism:  scale = l1 / ε.
    Requires  l1 > 0 and ε > 0, with l1 stated for the same neighbour relation as the ε.
    Rounds    up, toward more noise.
    """
    return round_up(_scale(l1=l1, epsilon=epsilon))


def laplace_epsilon(*, scale: Number, l1: Number) -> float:
    """The ε of adding Laplace(scale) noise to a query of L1 sensitivity `l1`.

    Theorem   Dwork, McSherry, Nissim, Smith (TCC 2006), Laplace mechanism:  ε = l1 / scale.
    Requires  scale > 0 and l1 >= 0, with l1 stated for the same neighbour relation as the ε.
    Rounds    up.
    """
    require_positive(scale=scale)
    require_non_negative(l1=l1)
    require_in_reach(scale=scale, l1=l1)
    return round_up(exact(l1) / exact(scale))


def laplace_tail(*, t: Number) -> float:
    """Pr[|Y| >= t · scale] of Laplace noise Y.

    Theorem   exactly exp(-t): integrate the density on both sides.
    Requires  t >= 0.
    Rounds    up.
    """
    require_non_negative(t=t)
    with working():
        return min(1.0, float_above((-decimal(exact(t))).exp()))


def laplace_accuracy(*, l1: Number, epsilon: Number, beta: Number) -> float:
    """The α that the error of one Laplace answer exceeds with probability β.

    Theorem   Pr[|Y| >= t·scale] = exp(-t), solved:  α = (l1/ε) ln(1/β).
    Requires  l1 > 0, ε > 0, 0 < β < 1.
    Rounds    up: the error stays below the value returned at least as often as promised.
    """
    require_open_unit(beta=beta)
    scale = _scale(l1=l1, epsilon=epsilon)
    with working():
        return float_above(decimal(scale) * log_of_inverse(exact(beta)))


def laplace_epsilon_for(*, l1: Number, alpha: Number, beta: Number) -> float:
    """The ε at which the error of one Laplace answer exceeds `alpha` with probability β.

    Theorem   as `laplace_accuracy`, solved for ε:  ε = l1 ln(1/β) / α.
    Requires  l1 > 0, α > 0, 0 < β < 1.
    Rounds    up: the accuracy asked for is reached.
    """
    require_positive(l1=l1, alpha=alpha)
    require_in_reach(l1=l1, alpha=alpha)
    require_open_unit(beta=beta)
    with working():
        return float_above(decimal(exact(l1) / exact(alpha)) * log_of_inverse(exact(beta)))


def laplace_accuracy_union(*, l1: Number, epsilon: Number, beta: Number, outputs: int) -> float:
    """An α that the largest of `outputs` errors exceeds with probability at most β.

    Theorem   Dwork, Roth (2014), Thm 3.8: α = (l1/ε) ln(outputs/β), by the union bound. l1 is that of the vector.
    Requires  l1 > 0, ε > 0, 0 < β < 1, outputs >= 1.
    Rounds    up.
    """
    require_open_unit(beta=beta)
    require_count(outputs=outputs)
    scale = _scale(l1=l1, epsilon=epsilon)
    with working():
        return float_above(decimal(scale) * log_of_inverse(exact(beta) / outputs))


def laplace_accuracy_exact(*, l1: Number, epsilon: Number, beta: Number, outputs: int) -> float:
    """The α that the largest of `outputs` errors exceeds with probability exactly β.

    Theorem   the noises are independent: Pr[max <= α] = (1 - exp(-α/scale))^k, solved:
              α = -(l1/ε) ln(1 - (1-β)^(1/k)). Never above the union bound. l1 is that of the vector.
    Requires  l1 > 0, ε > 0, 0 < β < 1, outputs >= 1.
    Rounds    up.
    """
    require_open_unit(beta=beta)
    require_count(outputs=outputs)
    scale, share = _scale(l1=l1, epsilon=epsilon), share_of_failure(beta=exact(beta), outputs=outputs)
    with working(DIGITS + digits_of(1 / (1 - exact(beta)))):
        return float_above(-decimal(scale) * share.ln())


def laplace_sample_size(*, epsilon: Number, alpha: Number, beta: Number, neighbours: Neighbours) -> int:
    """How many people a mean of values in [0, 1] needs so that Laplace noise exceeds `alpha` with probability β.

    Theorem   the mean of n values has sensitivity 1/n when one is changed, so α = ln(1/β) / (ε n):
              n = ln(1/β) / (ε α).
    Requires  change_one, where n is public; ε > 0, α > 0, 0 < β < 1.
    Rounds    up.
    """
    require_open_unit(beta=beta)
    wanted = 1 / _mean_error(epsilon=epsilon, alpha=alpha, neighbours=neighbours)
    with working(DIGITS + digits_of(wanted)):
        return math.ceil(Fraction(decimal(wanted) * log_of_inverse(exact(beta))) * (1 + MARGIN))


def _scale(*, l1: Number, epsilon: Number) -> Fraction:
    require_positive(l1=l1)
    require_epsilon(epsilon=epsilon)
    require_in_reach(l1=l1, epsilon=epsilon)
    return exact(l1) / exact(epsilon)


def _mean_error(*, epsilon: Number, alpha: Number, neighbours: Neighbours) -> Fraction:
    """α·ε, after checking that a mean of [0, 1] values with public n is what is asked about."""
    require_epsilon(epsilon=epsilon)
    require_positive(alpha=alpha)
    require_in_reach(epsilon=epsilon, alpha=alpha)
    require_neighbours(neighbours)
    if neighbours is not Neighbours.CHANGE_ONE:
        raise NoTheorem(
            "the size of a sample is not public under add_remove",
            why="the mean then has sensitivity up to half the range whatever n is, so no n makes its noise small",
            fix="plan with Neighbours.CHANGE_ONE, or plan a noisy sum and a noisy count",
        )
    return exact(epsilon) * exact(alpha)
