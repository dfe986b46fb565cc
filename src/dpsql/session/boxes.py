"""Intervals that hold for all groups of a release at once: a box of slot intervals, taken through the expression.

Each slot of each row has an interval; all of them hold together at the confidence. Whatever the expression makes of
numbers inside them is then inside the interval that interval arithmetic makes of them.
"""

from __future__ import annotations

import operator
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, reduce
from math import ceil, floor, frexp, ldexp
from typing import Any, Final, TypeAlias

from dpsql.catalog.types import NUMERIC, SqlType
from dpsql.engines.desk import Desk, DeskTable
from dpsql.mechanisms.margins import slot_intervals
from dpsql.plan.expected import SelectionScope, divisor_of, placing
from dpsql.session.released_rows import ROW, Layers, ReleasedTable
from dpsql.session.simulate import has_windows
from dpsql.sql.functions import interval_of
from dpsql.sql.intervals import EVERYTHING, Interval, widened
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, Windowed, children, columns_of, rebuilt, walk

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

_Truths: TypeAlias = frozenset[bool | None]
"""What a condition may be; None is NULL."""
_NONE: Final[_Truths] = frozenset()
_TRUE: Final[_Truths] = frozenset({True})
_FALSE: Final[_Truths] = frozenset({False})
_NULL: Final[_Truths] = frozenset({None})
_ANY: Final = _TRUE | _FALSE | _NULL

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
        seen = self.kept if has_windows([scalar]) else tuple(rows)
        ends, anything = self._ends(scalar, self._columns(scalar, seen), seen), self.without_interval(scalar, rows)
        return {row: EVERYTHING if row in anything else ends[row] for row in rows}

    def without_interval(self, scalar: Scalar, rows: Sequence[int]) -> frozenset[int]:
        """The rows in which the truth may be anything, or nothing: some divisor may be 0, some logarithm without a
        value. Of windows that add up rows the box says too little: noises cancel out there."""
        found = set[int]()
        for node in _without_conditions(scalar):
            read, is_sure = _domain(node)
            if read is None or _adds_rows(read) or self.scope.noisy.isdisjoint(columns_of(read)):
                continue
            if not is_sure(interval_of(read, lambda _: EVERYTHING)):
                seen = self.kept if has_windows([read]) else tuple(rows)
                ends = self._ends(read, self._columns(read, seen), seen)
                found |= {row for row in rows if not is_sure(ends[row])}
        return frozenset(found)

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
        """GREATEST and LEAST, of which each argument that is there is a limit, and CASE."""
        if call.function == "case":
            return self._case(call, columns, rows)
        each = [self._ends(result, columns, rows) for result in call.arguments]
        limited = all(self._is_there(result, columns, rows) for result in call.arguments)
        merged = _LIMITS[call.function] if limited else _around
        return {row: merged([ends[row] for ends in each]) for row in rows}

    def _case(self, call: Apply, columns: Mapping[int, _Ends], rows: Sequence[int]) -> _Ends:
        """Around every result that some numbers in the box lead to."""
        *branches, otherwise = call.arguments
        conditions = [self._truths(each, columns, rows) for each in branches[0::2]]
        results = [None if _is_null(each) else self._ends(each, columns, rows) for each in (*branches[1::2], otherwise)]
        found = {}
        for row in rows:
            reached = []
            for truths, result in zip((*(each[row] for each in conditions), _TRUE), results, strict=True):
                if True in truths and result is not None:
                    reached.append(result[row])
                if truths == _TRUE:
                    break
            found[row] = _around(reached)
        return found

    def _truths(self, condition: Scalar, columns: Mapping[int, _Ends], rows: Sequence[int]) -> Mapping[int, _Truths]:
        """What a condition may be, as the numbers go through the box: true, false or NULL."""
        if self.scope.noisy.isdisjoint(columns_of(condition)):
            return self._decided(condition, rows)
        match condition:
            case Apply(function="not" | "and" | "or" as name, arguments=arguments):
                parts = [self._truths(each, columns, rows) for each in arguments]
                return {row: _CONNECTED[name]([part[row] for part in parts]) for row in rows}
            case Apply(function="in", arguments=(value, *listed)):
                equal = [replace(condition, function="eq", arguments=(value, each)) for each in listed]
                parts = [self._truths(each, columns, rows) for each in equal]
                return {row: _either([part[row] for part in parts]) for row in rows}
            case Apply(function=name, arguments=arguments) if name in _COMPARED and arguments[0].type in NUMERIC:
                left, right = (self._ends(each, columns, rows) for each in arguments)
                there = all(self._is_there(each, columns, rows) for each in arguments)
                return {row: _COMPARED[name](left[row], right[row]) | (_NONE if there else _NULL) for row in rows}
            case _:
                return dict.fromkeys(rows, _ANY)

    def _decided(self, condition: Scalar, rows: Sequence[int]) -> Mapping[int, _Truths]:
        """A condition of keys and exact numbers is what it is."""
        layers = Layers(names=self.table.names)
        found = self._on_desk(layers, layers.text(condition), {}, rows)
        return {row: frozenset({truth}) for row, truth in found}

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
        layers = Layers(names={**self.table.names, _LOW.id: "low_end", _HIGH.id: "high_end"})
        texts = ", ".join(f"CAST({layers.text(window)} AS DOUBLE)" for window in (low, high))
        found = self._on_desk(layers, texts, ends, rows)
        return {row: _hull(first, last, exact=low.function != "avg") for row, first, last in found}

    def _on_desk(self, layers: Layers, texts: str, ends: _Ends, rows: Sequence[int]) -> list[tuple[Any, ...]]:
        """Each row's number and what the desk computes of its keys, its shown numbers and the ends of an interval."""
        step = _step(ends)
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
        return self.desk.query(f"SELECT {ROW}, {texts} FROM ({layers.below('box')}) AS framed", {"box": laid})

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


def _without_conditions(scalar: Scalar) -> Iterator[Scalar]:
    """The parts that a value is made of: which result of CASE it is, is another matter."""
    yield scalar
    match scalar:
        case Apply(function="case", arguments=arguments):
            parts = (*arguments[1::2], arguments[-1])
        case _:
            parts = children(scalar)
    for part in parts:
        yield from _without_conditions(part)


def _domain(node: Scalar) -> tuple[Scalar | None, Callable[[Interval], bool]]:
    """What a call reads that must keep away from some numbers, and whether an interval does."""
    if isinstance(node, Apply) and node.function in _LOGARITHMS:
        return node.arguments[0], lambda interval: interval.low is not None and interval.low > 0
    return (divisor_of(node) if isinstance(node, Apply) else None), _NUMBERS_FOR["div"]


def _adds_rows(scalar: Scalar) -> bool:
    return any(isinstance(node, Windowed) and node.function not in _OF_ONE_ROW for node in walk(scalar))


_OF_ONE_ROW: Final = frozenset({"lag", "lead", "first_value", "last_value", "nth_value", "min", "max"})
"""Windows that give the number of one row."""


_LOGARITHMS: Final = frozenset({"ln", "log10", "log2"})


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


def _less(left: Interval, right: Interval, *, or_equal: bool) -> _Truths:
    """What left < right, or left <= right, may be."""
    compared = operator.le if or_equal else operator.lt
    sure = left.high is not None and right.low is not None and compared(left.high, right.low)
    never = left.low is not None and right.high is not None and not compared(left.low, right.high)
    return _TRUE if sure else _FALSE if never else _TRUE | _FALSE


def _equal(left: Interval, right: Interval) -> _Truths:
    """Two points are equal or not; other intervals are apart, or there are both kinds of numbers in them."""
    if left.bounded and left.low == left.high == right.low == right.high:
        return _TRUE
    apart = _less(left, right, or_equal=False) == _TRUE or _less(right, left, or_equal=False) == _TRUE
    return _FALSE if apart else _TRUE | _FALSE


def _negated(truths: _Truths) -> _Truths:
    return frozenset(None if truth is None else not truth for truth in truths)


def _and(one: bool | None, other: bool | None) -> bool | None:
    return False if False in (one, other) else None if None in (one, other) else True


def _both(parts: Sequence[_Truths]) -> _Truths:
    return reduce(lambda left, right: frozenset(_and(x, y) for x in left for y in right), parts)


def _either(parts: Sequence[_Truths]) -> _Truths:
    return _negated(_both([*map(_negated, parts)]))


_CONNECTED: Final[Mapping[str, Callable[[Sequence[_Truths]], _Truths]]] = {
    "not": lambda parts: _negated(parts[0]),
    "and": _both,
    "or": _either,
}
_COMPARED: Final[Mapping[str, Callable[[Interval, Interval], _Truths]]] = {
    "lt": partial(_less, or_equal=False),
    "le": partial(_less, or_equal=True),
    "gt": lambda left, right: _less(right, left, or_equal=False),
    "ge": lambda left, right: _less(right, left, or_equal=True),
    "eq": _equal,
    "ne": lambda left, right: _negated(_equal(left, right)),
}


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
