"""The aggregates with a known sensitivity: what each one is, as a value and as a function of rows.

A row is one protected unit with one value. `None` is a unit that contributes nothing (filtered out, or NULL); only
counts, sums and histograms accept it, and say whether it can occur by `every_unit_contributes`. A column has a declared
range: without one, a single row could move an answer by any amount.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import InitVar, dataclass, field
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from math import isfinite
from numbers import Real
from typing import Any, ClassVar, TypeAlias

from dpsql.errors import Unbounded
from dpsql.privacy.rounding import exact
from dpsql.require import (
    Number,
    require_bounds,
    require_count,
    require_flag,
    require_probability,
    require_that,
    require_type,
    unmet,
)

Bounds: TypeAlias = tuple[Number | None, Number | None]
"""(lower, upper). None and infinities say that a side has no limit, and are refused where a limit is needed."""


class Outside(Enum):
    """What becomes of a value outside the declared range. Chosen by the owner, before any value is seen."""

    CLAMP = "clamp"
    """It counts as the nearest bound: the answer is about the clamped column."""

    REJECT = "reject"
    """It is refused. For loading data on the owner's side: an error that depends on a row must not reach an analyst."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of numbers with a declared range, given as bounds=(lower, upper) and kept as exact rationals.

    Requires  finite bounds with lower < upper. No limit on a side is refused with `Unbounded`.
    """

    bounds: InitVar[Bounds]
    outside: Outside
    lower: Fraction = field(init=False)
    upper: Fraction = field(init=False)

    def __post_init__(self, bounds: Bounds) -> None:
        if not isinstance(bounds, tuple | list) or len(bounds) != 2:
            raise unmet("bounds must be a pair (lower, upper)")
        require_type(Outside, outside=self.outside)
        lower, upper = _limited(bounds[0]), _limited(bounds[1])
        require_bounds(lower=lower, upper=upper)
        object.__setattr__(self, "lower", exact(lower))
        object.__setattr__(self, "upper", exact(upper))

    @property
    def width(self) -> Fraction:
        """upper - lower."""
        return self.upper - self.lower

    def admit(self, value: Number) -> Fraction:
        """`value` as it enters every computation: itself if inside, else the nearest bound or a refusal.

        Theorem   the clamp is row by row, so it keeps neighbours neighbours, and its results lie in [lower, upper]:
                  a sensitivity stated for data inside the range holds for any data that passed here.
        Requires  a finite number. Messages do not repeat the value: it is a private row.
        Rounds    nothing.
        """
        require_that(_is_number(value), "a value of the column is not a finite number")
        number = exact(value)
        if self.outside is Outside.REJECT and not self.lower <= number <= self.upper:
            raise unmet(f"a value of the column lies outside [{self.lower}, {self.upper}]")
        return min(max(number, self.lower), self.upper)

    def admit_all(self, values: Iterable[Number]) -> tuple[Fraction, ...]:
        """Every value as `admit` lets it in, in the given order."""
        return tuple(self.admit(value) for value in values)


def _limited(bound: Number | None) -> Number:
    infinite = isinstance(bound, Decimal) and bound.is_infinite()
    if bound is None or infinite or (isinstance(bound, float) and bound in (float("inf"), float("-inf"))):
        raise Unbounded(
            "the column has no limit on one side",
            why="one row could move a sum, a mean or an extreme by any amount, and no noise hides that",
            fix="declare the smallest and the largest value, for example bounds=(0, 100000); the rest is clamped",
        )
    return bound


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, Decimal):
        return value.is_finite()
    return isinstance(value, int | Fraction) or (isinstance(value, Real) and isfinite(value))


Row: TypeAlias = Number | None
MOST_CELLS = 2**20


def rank(*, q: Number, rows: int) -> int:
    """The place, counted from 1, of the q-quantile among `rows` sorted values: the smallest r >= 1 with r >= q·rows.

    Theorem   definition of the lower quantile; q = 0 the minimum, q = 1 the maximum, q = 1/2 the lower median
              sorted[(n - 1) // 2].
    Requires  0 <= q <= 1, rows >= 1.
    Rounds    nothing: 0.1 stands for its binary value; pass a Fraction or Decimal to mean one tenth.
    """
    require_probability(q=q)
    require_count(rows=rows)
    part = exact(q) * rows
    return max(1, -(-part.numerator // part.denominator))


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How many units contribute a row. `every_unit_contributes` is COUNT(*) without a filter."""

    smallest: ClassVar[int] = 0
    every_unit_contributes: bool

    def __post_init__(self) -> None:
        require_flag(every_unit_contributes=self.every_unit_contributes)

    def value(self, rows: Sequence[Row]) -> Fraction:
        """The number of rows that are not None."""
        return Fraction(len(contributing(rows, every=self.every_unit_contributes)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """The sum of a bounded column; a unit that contributes nothing adds 0."""

    smallest: ClassVar[int] = 0
    column: Column
    every_unit_contributes: bool

    def __post_init__(self) -> None:
        require_column(self.column)
        require_flag(every_unit_contributes=self.every_unit_contributes)

    def value(self, rows: Sequence[Row]) -> Fraction:
        """The sum of the admitted values."""
        values = contributing(rows, every=self.every_unit_contributes)
        return sum(self.column.admit_all(values), start=Fraction(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfColumn:
    """An aggregate that needs at least one row. `rows` is the public number of rows, None where it is not stated."""

    smallest: ClassVar[int] = 1
    column: Column
    rows: int | None = None

    def __post_init__(self) -> None:
        require_column(self.column)
        if self.rows is not None:
            require_count(rows=self.rows)

    def admitted(self, rows: Sequence[Row]) -> tuple[Fraction, ...]:
        """The rows as the column admits them: at least one, and as many as declared."""
        values = self.column.admit_all(contributing(rows, every=True))
        if self.rows is not None and len(values) != self.rows:
            raise unmet("the number of rows is not the one declared")
        require_that(values, "there is no row")
        return values


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean(_OfColumn):
    """The arithmetic mean."""

    def value(self, rows: Sequence[Row]) -> Fraction:
        """Sum over number."""
        values = self.admitted(rows)
        return sum(values, start=Fraction(0)) / len(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variance(_OfColumn):
    """The population variance: the mean square distance from the mean."""

    def value(self, rows: Sequence[Row]) -> Fraction:
        """Mean of squares minus square of the mean, exactly."""
        values = self.admitted(rows)
        mean = sum(values, start=Fraction(0)) / len(values)
        return sum(((value - mean) ** 2 for value in values), start=Fraction(0)) / len(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Range(_OfColumn):
    """Largest minus smallest value."""

    def value(self, rows: Sequence[Row]) -> Fraction:
        """max - min; 0 for one row."""
        values = self.admitted(rows)
        return max(values) - min(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantile(_OfColumn):
    """The lower q-quantile: the value at `rank(q, n)` of the sorted column."""

    q: Number

    def __post_init__(self) -> None:
        _OfColumn.__post_init__(self)
        require_probability(q=self.q)

    def value(self, rows: Sequence[Row]) -> Fraction:
        """An element of the column, never a value between two."""
        values = sorted(self.admitted(rows))
        return values[rank(q=self.q, rows=len(values)) - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Minimum(Quantile):
    """The smallest value: the 0-quantile."""

    q: Number = field(init=False, default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Maximum(Quantile):
    """The largest value: the 1-quantile."""

    q: Number = field(init=False, default=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Median(Quantile):
    """The lower median: sorted[(n - 1) // 2]."""

    q: Number = field(init=False, default=Fraction(1, 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """How many units fall into each of `bins` disjoint cells 0 … bins - 1: GROUP BY with COUNT."""

    smallest: ClassVar[int] = 0
    bins: int
    every_unit_contributes: bool

    def __post_init__(self) -> None:
        require_count(bins=self.bins, at_most=MOST_CELLS)
        require_flag(every_unit_contributes=self.every_unit_contributes)

    def value(self, rows: Sequence[int | None]) -> tuple[Fraction, ...]:
        """The counts, cell by cell. Each row is the number of its cell."""
        counts = [0] * self.bins
        for cell in contributing(rows, every=self.every_unit_contributes):
            if isinstance(cell, bool) or not isinstance(cell, int) or not 0 <= cell < self.bins:
                raise unmet(f"a row lies in none of the {self.bins} cells")
            counts[cell] += 1
        return tuple(map(Fraction, counts))


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkCounts:
    """How many units mark each of `attributes` items, where a unit may mark any subset (the most popular food)."""

    smallest: ClassVar[int] = 0
    attributes: int

    def __post_init__(self) -> None:
        require_count(attributes=self.attributes, at_most=MOST_CELLS)

    def value(self, rows: Sequence[Sequence[int]]) -> tuple[Fraction, ...]:
        """The counts, item by item. Each row has one 0 or 1 per item."""
        for row in rows:
            if len(row) != self.attributes or any(mark not in (0, 1) for mark in row):
                raise unmet(f"each row must hold {self.attributes} marks, 0 or 1")
        return tuple(Fraction(sum(row[item] for row in rows)) for item in range(self.attributes))


Aggregate: TypeAlias = Count | Sum | Mean | Variance | Range | Quantile | Histogram | MarkCounts


def contributing(rows: Sequence[Row], *, every: bool) -> list[Number]:
    """The rows that are not None; where every unit must contribute, None is refused."""
    values = [row for row in rows if row is not None]
    if every and len(values) != len(rows):
        raise unmet("a unit contributes nothing although every unit must")
    return values


def require_column(column: object) -> None:
    """The column is a `Column`, which has bounds by construction."""
    require_type(Column, column=column)
