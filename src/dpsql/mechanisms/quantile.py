"""Quantiles, minimum and maximum by the exponential mechanism on the line between declared bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any, Final

from dpsql.enclosure import exp_negative_fixed, log_bounds
from dpsql.mechanisms.mechanism import opened
from dpsql.mechanisms.whole import require_listed
from dpsql.privacy.events import BoundedRange
from dpsql.privacy.exact import Exact
from dpsql.privacy.rounding import exact, round_up
from dpsql.privacy.unit import Neighbours, require_neighbours
from dpsql.randomness import Source, uniform_below
from dpsql.randomness.uniform import LazyUniform
from dpsql.require import (
    Number,
    require_bounds,
    require_count,
    require_epsilon,
    require_open_unit,
    require_probability,
)
from dpsql.sensitivity.grain import column_grain

LARGEST_BOUND: Final = 2**62


def rank_sensitivity(*, q: Number, neighbours: Neighbours, values_per_unit: int) -> Fraction:
    """How far one unit moves the utility −|#{x < r} − q·n| of any point r.

    Theorem   Smith (2011). A value that arrives moves #{x < r} − q·n by 1 − q or −q; one that is replaced, or
              becomes no value, by at most 1. A unit with several values moves it by as many such steps.
    Requires  0 <= q <= 1; values_per_unit >= 1.
    Rounds    nothing.
    """
    require_probability(q=q)
    require_count(values_per_unit=values_per_unit)
    require_neighbours(neighbours)
    step = max(exact(q), 1 - exact(q)) if neighbours is Neighbours.ADD_REMOVE else Fraction(1)
    return values_per_unit * step


def _exact_exponents(lengths: Sequence[Fraction] | Sequence[int], *, q: Fraction, scale: Fraction) -> list[Fraction]:
    """The exponent of every gap, 0 for the best gap that is not empty."""
    values = len(lengths) - 1
    distances = [abs(index - q * values) for index in range(values + 1)]
    best = min(distance for distance, length in zip(distances, lengths, strict=True) if length)
    return [max(distance - best, Fraction(0)) / scale for distance in distances]


def draw_weighted(*, lengths: Sequence[int], exponents: Sequence[Fraction], source: Source) -> int:
    """An index with probability exactly proportional to length · exp(−exponent).

    Theorem   inversion of a uniform real number known by its first bits: certified bounds of the cumulative weights
              are refined, and further bits drawn, until they leave one index. Refining is rare.
    Requires  lengths >= 0; exponents >= 0, one of them 0 where the length is not.
    Rounds    nothing: the draw is exact.
    """
    live = [index for index, length in enumerate(lengths) if length]

    def only_one(uniform: int, bits: int) -> int | None:
        bounds = [_weight(lengths[index], exponents[index], bits) for index in live]
        lows = list(accumulate(low for low, _ in bounds))
        highs = [0, *accumulate(high for _, high in bounds)]
        least, most = uniform * lows[-1] >> bits, -(-(uniform + 1) * highs[-1] >> bits)
        for index, before, after in zip(live, highs, lows, strict=False):
            if before <= least and (most <= after or index == live[-1]):
                return index
        return None

    return LazyUniform(source, bits=128).decided(only_one)


def _weight(length: int, exponent: Fraction, bits: int) -> tuple[int, int]:
    """Bounds of 2**bits · length · exp(−exponent)."""
    low, high = (0, 1) if exponent >= bits else exp_negative_fixed(exponent, bits=bits)
    return length * low, length * high


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileMechanism:
    """A point of the integer grid lower, …, upper whose rank among the values is close to q·n.

    Values are whole numbers of grains: others are rounded, and all are clamped to the bounds. What is missing (None,
    NaN, ±infinity, not a number) is no value and is skipped; no row is an error, for an error that depends on a row
    would be an answer about it. q = 0 and q = 1 stand for minimum and maximum: the answer then falls anywhere
    between the last value and the bound.
    """

    q: Number
    lower: int
    upper: int
    epsilon: Number
    neighbours: Neighbours
    values_per_unit: int

    def __post_init__(self) -> None:
        require_count(lower=self.lower, upper=self.upper, at_least=-LARGEST_BOUND, at_most=LARGEST_BOUND)
        require_bounds(lower=self.lower, upper=self.upper)
        require_epsilon(epsilon=self.epsilon)
        rank_sensitivity(q=self.q, neighbours=self.neighbours, values_per_unit=self.values_per_unit)

    @property
    def scale(self) -> Fraction:
        """The unit of the exponent, 2Δ/ε in ranks."""
        sensitivity = rank_sensitivity(q=self.q, neighbours=self.neighbours, values_per_unit=self.values_per_unit)
        return 2 * sensitivity / exact(self.epsilon)

    @property
    def event(self) -> BoundedRange:
        """The exponential mechanism: ε-bounded range."""
        return BoundedRange(epsilon=exact(self.epsilon))

    def release(self, value: Exact[Sequence[Any]], /, *, source: Source) -> int:
        """One grid point, with probability exactly proportional to exp(−ε·|#{x < r} − q·n| / 2Δ)."""
        rows = opened(value)
        require_listed(rows, name="the rows")
        grid = column_grain(lower=int(self.lower), upper=int(self.upper), whole=True)
        ordered = sorted(x for x in map(grid.to_grains, rows) if x is not None)
        edges = [grid.low - 1, *ordered, grid.high]  # points r in (edge, next edge] have equally many values below
        lengths = [right - left for left, right in pairwise(edges)]
        exponents = _exact_exponents(lengths, q=exact(self.q), scale=self.scale)
        chosen = draw_weighted(lengths=lengths, exponents=exponents, source=source)
        return edges[chosen] + 1 + uniform_below(lengths[chosen], source=source)

    def rank_error(self, *, beta: Number) -> float:
        """How many ranks further from q·n than the best grid point the released one is, except with probability β.

        Theorem   Dwork, Roth (2014), Cor 3.12:  (2Δ/ε)·(ln(number of grid points) + ln(1/β)).
        Requires  0 < beta < 1.
        Rounds    up.
        """
        require_open_unit(beta=beta)
        points = int(self.upper) - int(self.lower) + 1
        return round_up(self.scale * log_bounds(points / exact(beta))[1])
