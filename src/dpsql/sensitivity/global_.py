"""Global sensitivity: how far one unit can move an answer on any database. One closed form per aggregate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any

from dpsql.enclosure import sqrt_bounds
from dpsql.errors import NoTheorem
from dpsql.privacy.rounding import exact
from dpsql.privacy.unit import Neighbours, require_neighbours
from dpsql.require import Number, require_non_negative, require_that, require_type, unmet
from dpsql.sensitivity.aggregates import (
    Count,
    Histogram,
    MarkCounts,
    Mean,
    Quantile,
    Range,
    Sum,
    Variance,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """How far one unit moves an answer, in three norms: l1 for Laplace, l2 for Gaussian noise, linf per coordinate.

    Requires  0 <= linf <= l2 <= l1, as for any vector. Numbers are kept as exact rationals.
    Rounds    nothing; an irrational l2 is computed by whoever builds the value, rounded up.
    """

    l1: Fraction
    l2: Fraction
    linf: Fraction

    def __post_init__(self) -> None:
        for name in ("l1", "l2", "linf"):
            require_non_negative(**{name: getattr(self, name)})
            object.__setattr__(self, name, exact(getattr(self, name)))
        if not self.linf <= self.l2 <= self.l1:
            raise unmet(f"l1={self.l1}, l2={self.l2}, linf={self.linf} must satisfy linf <= l2 <= l1")

    @classmethod
    def scalar(cls, value: Number) -> Sensitivity:
        """The sensitivity of one number, where all norms agree."""
        require_non_negative(value=value)
        return cls(l1=exact(value), l2=exact(value), linf=exact(value))

    @classmethod
    def of_squares(cls, *, l1: Fraction, l2_squared: Fraction, linf: Fraction) -> Sensitivity:
        """From the square of l2, whose root is rounded up by at most 2**-64 of itself and never above l1."""
        require_non_negative(l1=l1, l2_squared=l2_squared, linf=linf)
        return cls(l1=l1, l2=min(sqrt_bounds(exact(l2_squared), bits=64)[1], exact(l1)), linf=linf)


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomQuery:
    """A function of the rows whose sensitivity its author has proved, for one neighbour relation."""

    function: Callable[[Sequence[Any]], object]
    sensitivity: Sensitivity
    neighbours: Neighbours


def custom_query(
    function: Callable[[Sequence[Any]], object], *, sensitivity: Sensitivity | None, neighbours: Neighbours
) -> CustomQuery:
    """A query dpsql has no theorem for (a diameter, a model, a graph statistic), with its author's sensitivity.

    Theorem   none of ours: the promise rests on the stated number.
    Requires  a stated sensitivity; without one the query is refused with `NoTheorem`.
    Rounds    nothing.
    """
    require_neighbours(neighbours)
    require_that(callable(function), "function must be callable")
    if sensitivity is None:
        raise NoTheorem(
            "no sensitivity is known for this function",
            why="dpsql cannot derive how far one unit moves an arbitrary program, and will not guess",
            fix="prove a bound and pass sensitivity=Sensitivity(l1=…, l2=…, linf=…), or use a built-in aggregate",
        )
    require_type(Sensitivity, sensitivity=sensitivity)
    return CustomQuery(function=function, sensitivity=sensitivity, neighbours=neighbours)


@singledispatch
def global_sensitivity(aggregate: object, *, neighbours: Neighbours) -> Sensitivity:
    """The global sensitivity of an aggregate: the largest move over all pairs of neighbouring databases.

    Theorem   docs/theorems/global_sensitivity.md, one closed form per aggregate; `global_sensitivity.registry` is
              the table of them. What is not in it is refused.
    Requires  one row per unit. Under add_remove, aggregates that need a row range over databases of one row or more.
    Rounds    l2 of vectors up by at most 2**-64 of itself; nothing else.
    """
    raise NoTheorem(
        f"no sensitivity is known for {type(aggregate).__name__}",
        why="an aggregate without a theorem has no noise scale that is known to protect anybody",
        fix="use one of: "
        + ", ".join(sorted(kind.__name__ for kind in global_sensitivity.registry if kind is not object)),
    )


@global_sensitivity.register
def count_sensitivity(aggregate: Count, *, neighbours: Neighbours) -> Sensitivity:
    """1; but 0 for COUNT(*) without a filter under change_one, where the relation itself makes the size public.

    Theorem   docs/theorems/global_sensitivity.md, counts.
    Requires  every_unit_contributes only without filter, join or grouping. A 0 means "public", not "no noise needed"
              for an owner who keeps the size private: state every_unit_contributes=False then.
    Rounds    nothing.
    """
    require_neighbours(neighbours)
    constant = aggregate.every_unit_contributes and neighbours is Neighbours.CHANGE_ONE
    return Sensitivity.scalar(0 if constant else 1)


@global_sensitivity.register
def sum_sensitivity(aggregate: Sum, *, neighbours: Neighbours) -> Sensitivity:
    """add_remove: max(|a|, |b|). change_one: b - a, of the range widened to include 0 unless every unit contributes.

    Theorem   docs/theorems/global_sensitivity.md, sums.
    Requires  bounds [a, b], which a Column has by construction.
    Rounds    nothing.
    """
    require_neighbours(neighbours)
    lower, upper = aggregate.column.lower, aggregate.column.upper
    if neighbours is Neighbours.ADD_REMOVE:
        return Sensitivity.scalar(max(abs(lower), abs(upper)))
    if aggregate.every_unit_contributes:
        return Sensitivity.scalar(upper - lower)
    return Sensitivity.scalar(max(upper, Fraction(0)) - min(lower, Fraction(0)))


@global_sensitivity.register
def mean_sensitivity(aggregate: Mean, *, neighbours: Neighbours) -> Sensitivity:
    """change_one: (b - a)/n, n public (n = 1 where not stated). add_remove: (b - a)/2, the worst over all sizes >= 1.

    Theorem   docs/theorems/global_sensitivity.md, means.
    Requires  every unit has a value: behind a filter n is not public. Then divide a noisy sum by a noisy count.
    Rounds    nothing.
    """
    rows = _public_rows(aggregate.rows, neighbours)
    return Sensitivity.scalar(aggregate.column.width / (2 if neighbours is Neighbours.ADD_REMOVE else rows or 1))


@global_sensitivity.register
def variance_sensitivity(aggregate: Variance, *, neighbours: Neighbours) -> Sensitivity:
    """change_one: (n - 1)/n² · (b - a)², n public. Where n is not stated, and under add_remove: (b - a)²/4.

    Theorem   docs/theorems/global_sensitivity.md, population variance.
    Requires  every unit has a value; the population variance (divided by n, not n - 1).
    Rounds    nothing.
    """
    rows = _public_rows(aggregate.rows, neighbours)
    factor = Fraction(1, 4) if rows is None else Fraction(rows - 1, rows**2)
    return Sensitivity.scalar(factor * aggregate.column.width**2)


@global_sensitivity.register
def range_sensitivity(aggregate: Range, *, neighbours: Neighbours) -> Sensitivity:
    """b - a under both relations; 0 where exactly one row is public.

    Theorem   docs/theorems/global_sensitivity.md, extremes and quantiles.
    Requires  at least one row; an empty table may answer 0.
    Rounds    nothing.
    """
    rows = _public_rows(aggregate.rows, neighbours)
    return Sensitivity.scalar(0 if rows == 1 else aggregate.column.width)


@global_sensitivity.register
def quantile_sensitivity(aggregate: Quantile, *, neighbours: Neighbours) -> Sensitivity:
    """b - a under both relations, for every q and every size: also the minimum, the maximum and the median.

    Theorem   docs/theorems/global_sensitivity.md, extremes and quantiles. As large as the domain: a scale of b - a
              drowns the answer. Use the exponential mechanism or smooth sensitivity.
    Requires  at least one row; an empty table may answer any fixed value in [a, b].
    Rounds    nothing.
    """
    _public_rows(aggregate.rows, neighbours)
    return Sensitivity.scalar(aggregate.column.width)


@global_sensitivity.register
def histogram_sensitivity(aggregate: Histogram, *, neighbours: Neighbours) -> Sensitivity:
    """add_remove: 1 in every norm. change_one: l1 = 2, l2 = √2, linf = 1 from two cells on.

    Theorem   docs/theorems/global_sensitivity.md, histograms. One cell is a count.
    Requires  disjoint cells fixed without looking at the data, one row per unit.
    Rounds    l2 up by at most 2**-64 of itself.
    """
    require_neighbours(neighbours)
    if aggregate.bins == 1:
        return count_sensitivity(Count(every_unit_contributes=aggregate.every_unit_contributes), neighbours=neighbours)
    moved = Fraction(1 if neighbours is Neighbours.ADD_REMOVE else 2)
    return Sensitivity.of_squares(l1=moved, l2_squared=moved, linf=Fraction(1))


@global_sensitivity.register
def marks_sensitivity(aggregate: MarkCounts, *, neighbours: Neighbours) -> Sensitivity:
    """l1 = m, l2 = √m, linf = 1 for m items of which a unit may mark any, under both relations.

    Theorem   docs/theorems/global_sensitivity.md, marks.
    Requires  one row of marks per unit.
    Rounds    l2 up by at most 2**-64 of itself.
    """
    require_neighbours(neighbours)
    items = Fraction(aggregate.attributes)
    return Sensitivity.of_squares(l1=items, l2_squared=items, linf=Fraction(1))


@global_sensitivity.register
def custom_sensitivity(aggregate: CustomQuery, *, neighbours: Neighbours) -> Sensitivity:
    """What the author stated, for the relation it was stated for.

    Theorem   none: see `custom_query`.
    Requires  the same relation; constants of one do not hold for the other.
    Rounds    nothing.
    """
    require_neighbours(neighbours)
    if neighbours is not aggregate.neighbours:
        raise NoTheorem(
            f"the sensitivity was stated for {aggregate.neighbours.value}, not for {neighbours.value}",
            why="changing a row is two steps of adding and removing, so the constants differ",
            fix="state the sensitivity for the relation of this deployment",
        )
    return aggregate.sensitivity


def _public_rows(rows: int | None, neighbours: Neighbours) -> int | None:
    require_neighbours(neighbours)
    if rows is not None and neighbours is Neighbours.ADD_REMOVE:
        raise unmet("a public number of rows contradicts add_remove")
    return rows
