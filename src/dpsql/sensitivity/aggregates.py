"""The aggregates with a known sensitivity: what each one is, as a value and as a function of rows.

A row is one protected unit with one value. `None` is a unit that contributes nothing (filtered out, or NULL); only
counts, sums and histograms accept it, and say whether it can occur by `every_unit_contributes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, TypeAlias

from dpsql.privacy.rounding import exact
from dpsql.require import Number, require_count, require_flag, require_probability, require_that, require_type, unmet
from dpsql.sensitivity.column import Column

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
