"""A differentially private sum of numbers, one per person: clamp, add whole grains, add exact noise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpsql.mechanisms.discrete_laplace import LaplaceMechanism
from dpsql.privacy.events import Pure
from dpsql.privacy.exact import Exact
from dpsql.privacy.rounding import exact, round_up
from dpsql.privacy.unit import Neighbours
from dpsql.randomness import SYSTEM, Source
from dpsql.require import Number, require_epsilon
from dpsql.sensitivity.grain import column_grain

CONFIDENCE: Final = Fraction(95, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class DpSum:
    """A released sum: `value` is within `margin` of the bounded sum with 95 % probability.

    The bounded sum is that of the values after clamping and rounding to the grain; each rounding moves it by at most
    half a grain, 2**-21 of the range (1/2 if the values were declared whole).
    """

    value: float
    margin: float
    epsilon: Fraction
    neighbours: Neighbours

    @property
    def event(self) -> Pure:
        """What the release cost, for the books."""
        return Pure(epsilon=self.epsilon)


def dp_sum(
    values: Iterable[object],
    *,
    lower: Number,
    upper: Number,
    epsilon: Number,
    neighbours: Neighbours,
    whole: bool = False,
    every_unit_contributes: bool = False,
    source: Source = SYSTEM,
) -> DpSum:
    """The sum of `values`, one value per protected unit, each clamped to [lower, upper], with discrete Laplace noise.

    What is missing (None, NaN, ±infinity, not a number) is no value and adds 0. It is never an error: an error that
    depends on a row would be an answer about it. Under change_one that makes "no value" one more thing a person can
    change to, so the range includes 0 and the sensitivity is max(upper, 0) - min(lower, 0). Where the owner knows
    that every unit has a value, `every_unit_contributes=True` buys the smaller upper - lower; should a value be
    missing all the same, it counts as the bound nearest to 0, and the promise holds.

    Theorem   docs/theorems/grain.md (sensitivity of the sum) and docs/theorems/discrete_laplace.md (ε-DP).
    Requires  bounds, ε > 0 and the neighbour relation, all chosen without looking at the values. Each call spends ε.
    Rounds    values to the grain, at least 2**20 to the range (1 if `whole`); the margin up.
    """
    require_epsilon(epsilon=epsilon)
    grain = column_grain(lower=lower, upper=upper, whole=whole)
    l1 = grain.sum_sensitivity(neighbours=neighbours, every_unit_contributes=every_unit_contributes)
    mechanism = LaplaceMechanism(l1=l1, epsilon=exact(epsilon))
    missing = min(max(0, grain.low), grain.high) if every_unit_contributes else 0
    total = Exact(sum(missing if (grains := grain.to_grains(value)) is None else grains for value in values))
    released = mechanism.release(total, source=source)
    return DpSum(
        value=float(grain.from_grains(released)),
        margin=round_up(grain.from_grains(mechanism.law.margin(confidence=CONFIDENCE))),
        epsilon=mechanism.epsilon,
        neighbours=neighbours,
    )
