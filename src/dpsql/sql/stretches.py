"""Whole numbers, days and pieces of the calendar from a first one to a last: counted before they are listed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from dpsql.catalog.model import Value
from dpsql.catalog.types import SqlType
from dpsql.sql.functions.calendar import UNITS, Unit, moment
from dpsql.sql.intervals import MICROSECONDS_PER_DAY, Interval
from dpsql.sql.notes import Findings
from dpsql.sql.scalars import Apply, Constant, Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Every value an expression can have, as long as rows keep to the bounds of its columns."""

    count: int
    value: Callable[[int], Value]
    """The n-th one, from 0."""

    @property
    def values(self) -> tuple[Value, ...]:
        return tuple(map(self.value, range(self.count)))


def stretch_of(scalar: Scalar, notes: Findings) -> Stretch | None:
    """None where it has no first or no last value, or too many between any two: text, fractions, moments."""
    match scalar:
        case Apply("date_trunc", (Constant(value=str(unit)), of)):
            return _pieces(UNITS[unit], notes.declared(of), of.type)
        case _ if scalar.type is SqlType.INTEGER:
            return _whole_numbers(notes.declared(scalar))
        case _ if scalar.type is SqlType.DATE:
            return _days(notes.declared(scalar))
        case _:
            return None


def _whole_numbers(between: Interval) -> Stretch | None:
    if between.low is None or between.high is None:
        return None
    first, last = math.ceil(between.low), math.floor(between.high)
    return Stretch(count=max(0, last - first + 1), value=lambda n: first + n)


def _days(between: Interval) -> Stretch | None:
    pieces = _pieces(UNITS["day"], between, SqlType.DATE)
    return pieces and Stretch(count=pieces.count, value=lambda n: _date_of(pieces.value(n)))


def _date_of(midnight: Value) -> Value:
    return midnight.date() if isinstance(midnight, datetime) else midnight


def _pieces(unit: Unit, between: Interval, type_: SqlType) -> Stretch | None:
    """Of days, or of microseconds, since 1970."""
    if between.low is None or between.high is None:
        return None
    length = MICROSECONDS_PER_DAY if type_ is SqlType.DATE else 1
    first, last = (unit.start(moment(end * length)) for end in (between.low, between.high))
    return Stretch(count=max(0, _steps(unit, first, last) + 1), value=lambda n: _later(unit, first, n))


def _steps(unit: Unit, first: datetime, last: datetime) -> int:
    """Between the beginnings of two pieces."""
    if unit.months:
        return unit.ordinal(last) - unit.ordinal(first)
    return (last - first) // timedelta(microseconds=unit.length)


def _later(unit: Unit, first: datetime, number: int) -> datetime:
    """The beginning of the piece so many after the one that begins at `first`."""
    if unit.length:
        return first + timedelta(microseconds=number * unit.length)
    years, month = divmod(first.year * 12 + first.month - 1 + number * unit.months, 12)
    return datetime(years, month + 1, 1)
