"""Several independent measurements of one number, averaged by their precision: the law of what comes out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.errors import InternalError
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.noise_sum import Law


@dataclass(frozen=True, slots=True, kw_only=True)
class Average:
    """The noise Σ share · Z of independent noises Z, in whole steps of which `steps` are one grain of each of them.

    Theorem   docs/theorems/top_up.md.
    Requires  whole shares above 0.
    """

    parts: tuple[tuple[int, Law], ...]

    def __post_init__(self) -> None:
        if not self.parts or any(type(share) is not int or share < 1 for share, _ in self.parts):
            raise InternalError(
                "an average of nothing, or with a weight that is not a whole number above 0",
                why="its noise would not be that of what was measured",
                fix="report this with the SQL text",
            )

    @property
    def steps(self) -> int:
        """How many steps of the average are one grain of a measurement: the shares add up to 1."""
        return sum(share for share, _ in self.parts)

    def of(self, measured: Sequence[int]) -> int:
        """The average of measured numbers of grains, in steps."""
        pairs = zip(self.parts, measured, strict=True)
        return sum(share * number for (share, _), number in pairs)


def averaged(laws: Sequence[Law]) -> Average:
    """The unbiased weighted mean of independent measurements whose noise has the smallest variance.

    Theorem   docs/theorems/top_up.md: weights proportional to 1/variance; σ² stands for the variance of Gaussian
              noise, twice the squared scale for that of Laplace noise. With weights ρ_i/Σρ the average of Gaussian
              measurements has the parameter σ² that Σρ buys.
    Requires  at least one law.
    Rounds    nothing: the weights are quotients of whole numbers.
    """
    precisions = [1 / _variance(law) for law in laws]
    common = math.lcm(*(precision.denominator for precision in precisions))
    whole = [int(precision * common) for precision in precisions]
    divisor = math.gcd(*whole)
    return Average(parts=tuple((share // divisor, law) for share, law in zip(whole, laws, strict=True)))


def _variance(law: Law) -> Fraction:
    return 2 * law.scale**2 if isinstance(law, DiscreteLaplaceLaw) else law.sigma_squared
