"""Intervals that hold for all groups of a release at once: a box of slot intervals, taken through the expression.

Each slot of each row has an interval; all of them hold together at the confidence. Whatever the expression makes of
numbers inside them is then inside the interval that interval arithmetic makes of them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Final, TypeAlias

from dpsql.catalog.types import SqlType
from dpsql.engines.desk import Desk, DeskTable
from dpsql.mechanisms.margins import slot_intervals
from dpsql.plan.simultaneous import SelectionScope
from dpsql.session.desk_text import ROW, Layers
from dpsql.session.released_rows import ReleasedTable
from dpsql.sql.functions import interval_of
from dpsql.sql.intervals import EVERYTHING, Interval, widened
from dpsql.sql.scalars import ColumnRef, Scalar, Windowed, columns_of, rebuilt, walk

_LOW: Final = ColumnRef(2**40, SqlType.DOUBLE)  # no statement has so many columns
_HIGH: Final = ColumnRef(2**40 + 1, SqlType.DOUBLE)
_FIRST_WINDOW: Final = 2**40 + 2

_MONOTONE: Final = frozenset({"sum", "avg", "min", "max", "first_value", "last_value", "nth_value", "lag", "lead"})
"""Window functions whose value never falls when a value of the frame grows."""
_RANKS: Final = frozenset({"rank", "dense_rank", "row_number"})

_Ends: TypeAlias = Mapping[int, Interval]
"""The interval of one value in each row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Boxes:
    """Simultaneous intervals of the slots of one released table."""

    desk: Desk
    table: ReleasedTable
    scope: SelectionScope
    kept: tuple[int, ...]
    """The rows that HAVING left: windows look at all of them."""
    confidence: Fraction

    def intervals(self, scalar: Scalar, rows: Sequence[int]) -> _Ends:
        """For each of `rows` an interval of the expression: all of them hold at once at the confidence."""
        windows = list(dict.fromkeys(node for node in walk(scalar) if isinstance(node, Windowed)))
        seen = self.kept if windows else tuple(rows)
        columns: dict[int, _Ends] = self._columns(scalar, seen)
        for place, window in enumerate(windows):
            columns[_FIRST_WINDOW + place] = self._window(window, columns, seen)
        outer = _without(scalar, windows)
        return {row: _interval(outer, columns, row) for row in rows}

    def _columns(self, scalar: Scalar, rows: Sequence[int]) -> dict[int, _Ends]:
        """The box: each noisy slot gets an equal part of what may fail, keys and exact numbers are points."""
        table, read = self.table, columns_of(scalar)
        laws = {slot.column.id: slot.law for slot in table.slots if slot.law is not None and slot.column.id in read}
        outputs = self.scope.groups_of(scalar) * max(1, len(laws))
        found: dict[int, _Ends] = {}
        for slot in table.slots:
            law, values = laws.get(slot.column.id), [table.values[row][slot.place] for row in rows]
            if law is not None:
                grains = [value for value in values if type(value) is int]
                ends = slot_intervals(law, grains, confidence=self.confidence, outputs=outputs)
                found[slot.column.id] = {row: Interval(*each) for row, each in zip(rows, ends, strict=True)}
            elif slot.column.id in read and slot.law is None:
                found[slot.column.id] = {row: _point(value) for row, value in zip(rows, values, strict=True)}
        for place, column in enumerate(table.keys):
            if column.id in read:
                found[column.id] = {row: _point(table.key_rows[row][place]) for row in rows}
        return found

    def _window(self, window: Windowed, columns: Mapping[int, _Ends], rows: Sequence[int]) -> _Ends:
        """A window function over intervals: at the low ends and at the high ends where it is monotone."""
        placed = (*window.partition_by, *(key.by for key in window.order_by))
        ordered_by_noise = any(not self.scope.noisy.isdisjoint(columns_of(each)) for each in placed)
        if ordered_by_noise:
            whole = not window.partition_by and len(window.order_by) == 1
            return self._ranked(window, columns, rows) if window.function in _RANKS and whole else _unknown(rows)
        if self.scope.noisy.isdisjoint(columns_of(window)):
            return self._at_both_ends(window, window, {}, rows)
        first, *others = window.arguments
        if window.function not in _MONOTONE or any(not self.scope.noisy.isdisjoint(columns_of(o)) for o in others):
            return _unknown(rows)
        ends = {row: _interval(first, columns, row) for row in rows}
        if not all(each.bounded for each in ends.values()):
            return _unknown(rows)
        low, high = (replace(window, arguments=(end, *others), type=SqlType.DOUBLE) for end in (_LOW, _HIGH))
        return self._at_both_ends(low, high, ends, rows)

    def _at_both_ends(self, low: Windowed, high: Windowed, ends: _Ends, rows: Sequence[int]) -> _Ends:
        """What the desk computes of low and of high ends."""
        layers = Layers(names={**self.table.names, _LOW.id: "low_end", _HIGH.id: "high_end"})
        texts = ", ".join(f"CAST({layers.text(window)} AS DOUBLE)" for window in (low, high))
        shown = [self.table.shown_row(row) for row in rows]
        laid = DeskTable(
            columns=(
                (ROW, SqlType.INTEGER),
                ("low_end", SqlType.DOUBLE),
                ("high_end", SqlType.DOUBLE),
                *self.table.key_columns(),
                *self.table.shown_columns(shown),
            ),
            rows=[
                (row, *_floats(ends.get(row)), *self.table.key_rows[row], *numbers)
                for row, numbers in zip(rows, shown, strict=True)
            ],
        )
        found = self.desk.query(f"SELECT {ROW}, {texts} FROM ({layers.below('box')}) AS framed", {"box": laid})
        exact = low.function != "avg" and all(_is_whole(each) for each in ends.values())
        return {row: _hull(first, last, exact=exact) for row, first, last in found}

    def _ranked(self, window: Windowed, columns: Mapping[int, _Ends], rows: Sequence[int]) -> _Ends:
        """A rank: after those surely before it, and after at most those that may be."""
        (key,) = window.order_by
        ends = {row: _interval(key.by, columns, row) for row in rows}
        if not all(each.bounded for each in ends.values()):
            return _unknown(rows)
        rising = {row: each.negated() if key.descending else each for row, each in ends.items()}
        lows = sorted(_end(each.low) for each in rising.values())
        highs = sorted(_end(each.high) for each in rising.values())
        ties = window.function == "row_number"
        found = {}
        for row, each in rising.items():
            surely = bisect_left(highs, _end(each.low))
            maybe = (bisect_right if ties else bisect_left)(lows, _end(each.high))
            own = 1 if ties or _end(each.low) < _end(each.high) else 0
            least = min(surely, 1) if window.function == "dense_rank" else surely
            found[row] = Interval(Fraction(1 + least), Fraction(1 + maybe - own))
        return found


def _interval(scalar: Scalar, columns: Mapping[int, _Ends], row: int) -> Interval:
    return interval_of(scalar, lambda number: columns[number][row] if number in columns else EVERYTHING)


def _without(scalar: Scalar, windows: Sequence[Windowed]) -> Scalar:
    """The expression with each window function as a column of its own."""
    if isinstance(scalar, Windowed):
        return ColumnRef(_FIRST_WINDOW + windows.index(scalar), scalar.type)
    return rebuilt(scalar, partial(_without, windows=windows))


def _point(value: object) -> Interval:
    number = Fraction(value) if isinstance(value, int | float | Fraction) else None
    return EVERYTHING if number is None else Interval(number, number)


def _hull(one: float | None, other: float | None, *, exact: bool) -> Interval:
    """Around two numbers of the engine; `exact`: no rounding went into them."""
    if one is None or other is None:
        return EVERYTHING
    ends = Interval(Fraction(min(one, other)), Fraction(max(one, other)))
    return ends if exact else widened(ends)


def _is_whole(ends: Interval) -> bool:
    """Whole numbers of which floating point adds up a million without rounding."""
    return all(end is not None and end.denominator == 1 and abs(end) < 2**32 for end in (ends.low, ends.high))


def _unknown(rows: Sequence[int]) -> _Ends:
    return dict.fromkeys(rows, EVERYTHING)


def _end(end: Fraction | None) -> Fraction:
    return end if end is not None else Fraction(0)


def _floats(ends: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if ends is None else (float(_end(ends.low)), float(_end(ends.high)))
