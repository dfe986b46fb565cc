"""Intervals that hold for all groups of a release at once: a box of slot intervals, taken through the expression.

Each slot of each row has an interval; all of them hold together at the confidence. Whatever the expression makes of
numbers inside them is then inside the interval that interval arithmetic makes of them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, reduce
from math import ceil, floor, frexp, ldexp
from typing import Final, TypeAlias

from dpsql.catalog.types import SqlType
from dpsql.engines.desk import Desk, DeskTable
from dpsql.mechanisms.margins import slot_intervals
from dpsql.plan.simultaneous import SelectionScope, placing
from dpsql.session.desk_text import ROW, Layers
from dpsql.session.released_rows import ReleasedTable
from dpsql.sql.functions import interval_of
from dpsql.sql.intervals import EVERYTHING, Interval, widened
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, Windowed, columns_of, rebuilt, walk

_LOW: Final = ColumnRef(2**40, SqlType.DOUBLE)  # no statement has so many columns
_HIGH: Final = ColumnRef(2**40 + 1, SqlType.DOUBLE)
_FIRST_APART: Final = 2**40 + 2

_MONOTONE: Final = frozenset({"sum", "avg", "min", "max", "first_value", "last_value", "nth_value", "lag", "lead"})
"""Window functions whose value never falls when a value of the frame grows."""
_RANKS: Final = frozenset({"rank", "dense_rank", "row_number"})

_TOTAL: Final = frozenset({"to_double", "neg", "add", "sub", "mul", "abs", "clamp", "greatest", "least", "round"})
"""Functions of numbers that are numbers."""
_NUMBERS_FOR: Final[Mapping[str, Callable[[Interval], bool]]] = {
    "div": lambda divisor: not divisor.contains(0),
    "sqrt": lambda root: root.low is not None and root.low >= 0,
}
"""For which last arguments these are numbers."""

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
        windowed = any(isinstance(node, Windowed) for node in walk(scalar))
        seen = self.kept if windowed else tuple(rows)
        ends = self._ends(scalar, self._columns(scalar, seen), seen)
        return {row: ends[row] for row in rows}

    def _ends(self, scalar: Scalar, columns: Mapping[int, _Ends], rows: Sequence[int]) -> _Ends:
        """Interval arithmetic, but for what needs more than the ranges of its arguments."""
        apart = list(dict.fromkeys(_apart(scalar)))
        known = dict(columns)
        for place, node in enumerate(apart):
            known[_FIRST_APART + place] = (
                self._window(node, columns, rows) if isinstance(node, Windowed) else self._one_of(node, columns, rows)
            )
        outer = _without(scalar, apart)
        return {row: _interval(outer, known, row) for row in rows}

    def _one_of(self, call: Apply, columns: Mapping[int, _Ends], rows: Sequence[int]) -> _Ends:
        """GREATEST and LEAST, of which each argument that is there is a limit. CASE, of which noise may have chosen the
        result: what its conditions say about the noisy numbers is no fact about the true ones."""
        results = call.arguments
        if call.function == "case":
            results = tuple(each for each in (*results[1::2], results[-1]) if not _is_null(each))
        each = [self._ends(result, columns, rows) for result in results]
        limited = call.function != "case" and all(self._is_there(result, columns, rows) for result in results)
        merged = _LIMITS[call.function] if limited else _around
        return {row: merged([ends[row] for ends in each]) for row in rows}

    def _is_there(self, scalar: Scalar, columns: Mapping[int, _Ends], rows: Sequence[int]) -> bool:
        """Whether it is a number in every row, whatever the truth in the box is."""
        match scalar:
            case ColumnRef():
                return scalar.id in self.scope.noisy
            case Constant():
                return scalar.value is not None
            case Apply(function=name, arguments=arguments):
                known = name in _TOTAL
                if name in _NUMBERS_FOR:
                    known = all(map(_NUMBERS_FOR[name], self._ends(arguments[-1], columns, rows).values()))
                return known and all(self._is_there(each, columns, rows) for each in arguments)
            case _:
                return False

    def _columns(self, scalar: Scalar, rows: Sequence[int]) -> dict[int, _Ends]:
        """The box: each noisy slot gets an equal part of what may fail, keys and exact numbers are points."""
        table, read = self.table, columns_of(scalar)
        laws = {slot.column.id: slot.law for slot in table.slots if slot.law is not None and slot.column.id in read}
        level, outputs = self.scope.each(scalar, self.confidence)
        whole = any(isinstance(node, Apply) and node.type is SqlType.INTEGER for node in walk(scalar))
        found: dict[int, _Ends] = {}
        for slot in table.slots:
            law, values = laws.get(slot.column.id), [table.values[row][slot.place] for row in rows]
            if law is not None:
                grains = [value for value in values if type(value) is int]
                ends = slot_intervals(law, grains, confidence=level, outputs=outputs)
                if law.rounded and whole:  # the truth is a fraction, and arithmetic of whole numbers would pass over it
                    ends = [(Fraction(floor(low)), Fraction(ceil(high))) for low, high in ends]
                found[slot.column.id] = {row: Interval(*each) for row, each in zip(rows, ends, strict=True)}
            elif slot.column.id in read and slot.law is None:
                found[slot.column.id] = {row: _point(value) for row, value in zip(rows, values, strict=True)}
        for place, column in enumerate(table.keys):
            if column.id in read:
                found[column.id] = {row: _point(table.key_rows[row][place]) for row in rows}
        return found

    def _window(self, window: Windowed, columns: Mapping[int, _Ends], rows: Sequence[int]) -> _Ends:
        """A window function over intervals: at the low ends and at the high ends where it is monotone."""
        if any(not self.scope.noisy.isdisjoint(columns_of(each)) for each in placing(window)):
            return self._ranked(window, columns, rows) if self._ranks_alone(window) else _unknown(rows)
        if self.scope.noisy.isdisjoint(columns_of(window)):
            return self._at_both_ends(window, window, {}, rows)
        first, *others = window.arguments
        if window.function not in _MONOTONE or any(not self.scope.noisy.isdisjoint(columns_of(o)) for o in others):
            return _unknown(rows)
        ends = self._ends(first, columns, rows)
        if not all(each.bounded for each in ends.values()) or not self._is_there(first, columns, rows):
            return _unknown(rows)
        low, high = (replace(window, arguments=(end, *others), type=SqlType.DOUBLE) for end in (_LOW, _HIGH))
        return self._at_both_ends(low, high, ends, rows)

    def _at_both_ends(self, low: Windowed, high: Windowed, ends: _Ends, rows: Sequence[int]) -> _Ends:
        """What the desk computes of low and of high ends, which it adds up without rounding."""
        step = _step(ends)
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
                (row, *_floats(ends.get(row), step), *self.table.key_rows[row], *numbers)
                for row, numbers in zip(rows, shown, strict=True)
            ],
        )
        found = self.desk.query(f"SELECT {ROW}, {texts} FROM ({layers.below('box')}) AS framed", {"box": laid})
        return {row: _hull(first, last, exact=low.function != "avg") for row, first, last in found}

    def _ranks_alone(self, window: Windowed) -> bool:
        """A rank by one number, in all rows or among those of the same keys."""
        keys = {column.id for column in self.table.keys}
        by_keys = all(isinstance(part, ColumnRef) and part.id in keys for part in window.partition_by)
        return window.function in _RANKS and len(window.order_by) == 1 and by_keys

    def _ranked(self, window: Windowed, columns: Mapping[int, _Ends], rows: Sequence[int]) -> _Ends:
        """A rank: after those surely before it, and after at most those that may be."""
        (key,) = window.order_by
        ends = self._ends(key.by, columns, rows)
        if not all(each.bounded for each in ends.values()) or not self._is_there(key.by, columns, rows):
            return _unknown(rows)  # NULL stands before or after all numbers
        partition = frozenset().union(*map(columns_of, window.partition_by))
        places = [place for place, column in enumerate(self.table.keys) if column.id in partition]
        parts: dict[tuple[object, ...], dict[int, Interval]] = {}
        for row, each in ends.items():
            part = parts.setdefault(tuple(self.table.key_rows[row][place] for place in places), {})
            part[row] = each.negated() if key.descending else each
        return {row: rank for part in parts.values() for row, rank in _ranks(window.function, part).items()}


def _ranks(function: str, rising: _Ends) -> _Ends:
    """Where each row may stand in rising order."""
    lows = sorted(_end(each.low) for each in rising.values())
    highs = sorted(_end(each.high) for each in rising.values())
    ties = function == "row_number"
    found = {}
    for row, each in rising.items():
        surely = bisect_left(highs, _end(each.low))
        maybe = (bisect_right if ties else bisect_left)(lows, _end(each.high))
        own = 1 if ties or _end(each.low) < _end(each.high) else 0
        least = min(surely, 1) if function == "dense_rank" else surely
        found[row] = Interval(Fraction(1 + least), Fraction(1 + maybe - own))
    return found


def _apart(scalar: Scalar) -> Iterator[Windowed | Apply]:
    """The outermost parts of an expression that ranges of arguments say too little about."""
    if isinstance(scalar, Windowed):
        yield scalar
    elif isinstance(scalar, Apply):
        if scalar.function in _CHOICES:
            yield scalar
        else:
            for argument in scalar.arguments:
                yield from _apart(argument)


def _around(intervals: Sequence[Interval]) -> Interval:
    return reduce(Interval.union, intervals, intervals[0]) if intervals else EVERYTHING


def _greatest(intervals: Sequence[Interval]) -> Interval:
    """The largest of numbers that are all there."""
    lows = [each.low for each in intervals if each.low is not None]
    return Interval(max(lows, default=None), _around(intervals).high)


def _least(intervals: Sequence[Interval]) -> Interval:
    return _greatest([each.negated() for each in intervals]).negated()


_LIMITS: Final[Mapping[str, Callable[[Sequence[Interval]], Interval]]] = {"greatest": _greatest, "least": _least}
_CHOICES: Final = frozenset({"case", *_LIMITS})


def _is_null(scalar: Scalar) -> bool:
    return isinstance(scalar, Constant) and scalar.value is None


def _interval(scalar: Scalar, columns: Mapping[int, _Ends], row: int) -> Interval:
    return interval_of(scalar, lambda number: columns[number][row] if number in columns else EVERYTHING)


def _without(scalar: Scalar, apart: Sequence[Scalar]) -> Scalar:
    """The expression with each of these parts as a column of its own."""
    if scalar in apart:
        return ColumnRef(_FIRST_APART + apart.index(scalar), scalar.type)
    return rebuilt(scalar, partial(_without, apart=apart))


def _point(value: object) -> Interval:
    number = Fraction(value) if isinstance(value, int | float | Fraction) else None
    return EVERYTHING if number is None else Interval(number, number)


def _hull(one: float | None, other: float | None, *, exact: bool) -> Interval:
    """Around two numbers of the engine; `exact`: no rounding went into them."""
    if one is None or other is None:
        return EVERYTHING
    ends = Interval(Fraction(min(one, other)), Fraction(max(one, other)))
    return ends if exact else widened(ends)


def _unknown(rows: Sequence[int]) -> _Ends:
    return dict.fromkeys(rows, EVERYTHING)


def _end(end: Fraction | None) -> Fraction:
    return end if end is not None else Fraction(0)


def _step(ends: _Ends) -> int:
    """The exponent of a power of two whose multiples floating point adds up without rounding, in any order: however
    they cancel out, all of them together are below 2**52 steps."""
    largest = max((abs(_end(end)) for each in ends.values() for end in (each.low, each.high)), default=Fraction(0))
    return max(frexp(float(largest))[1] + len(ends).bit_length() - 51, -1074)


def _floats(ends: Interval | None, step: int) -> tuple[float | None, float | None]:
    """Both ends as multiples of the step, rounded outwards."""
    return (None, None) if ends is None else (_down(_end(ends.low), step), -_down(-_end(ends.high), step))


def _down(end: Fraction, step: int) -> float:
    return ldexp((end.numerator << max(-step, 0)) // (end.denominator << max(step, 0)), step)
