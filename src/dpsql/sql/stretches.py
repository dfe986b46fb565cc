"""Whole numbers, days and pieces of the calendar from a first one to a last: counted, and not listed."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from dpsql.catalog.model import KeyRange
from dpsql.catalog.types import SqlType
from dpsql.sql.functions.calendar import UNITS, Unit, moment
from dpsql.sql.intervals import MICROSECONDS_PER_DAY, Interval
from dpsql.sql.notes import Findings
from dpsql.sql.scalars import Apply, Constant, Scalar


def stretch_of(scalar: Scalar, notes: Findings) -> KeyRange | None:
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


def _whole_numbers(between: Interval) -> KeyRange | None:
    if between.low is None or between.high is None:
        return None
    first, last = math.ceil(between.low), math.floor(between.high)
    return KeyRange(first=first, count=max(0, last - first + 1))


def _days(between: Interval) -> KeyRange | None:
    ends = _moments(between, SqlType.DATE)
    if ends is None:
        return None
    first, last = (end.date() for end in ends)
    return KeyRange(first=first, count=max(0, (last - first).days + 1))


def _pieces(unit: Unit, between: Interval, type_: SqlType) -> KeyRange | None:
    ends = _moments(between, type_)
    if ends is None:
        return None
    first, last = map(unit.start, ends)
    count = max(0, _steps(unit, first, last) + 1)
    return KeyRange(first=first, count=count, months=unit.months, microseconds=unit.length)


def _moments(between: Interval, type_: SqlType) -> tuple[datetime, datetime] | None:
    """The first and the last moment between numbers of days, or of microseconds, since 1970."""
    if between.low is None or between.high is None:
        return None
    length = MICROSECONDS_PER_DAY if type_ is SqlType.DATE else 1
    return moment(between.low * length), moment(between.high * length)


def _steps(unit: Unit, first: datetime, last: datetime) -> int:
    """Between the beginnings of two pieces."""
    if unit.months:
        return unit.ordinal(last) - unit.ordinal(first)
    return (last - first) // timedelta(microseconds=unit.length)
