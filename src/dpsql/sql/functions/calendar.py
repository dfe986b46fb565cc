"""The pieces of the calendar that may be cut at, counted and added: what they are, and what is proved about them."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from fractions import Fraction
from typing import Final

from dpsql.sql.functions.constants import datetime_of, microseconds
from dpsql.sql.intervals import MICROSECONDS, MICROSECONDS_PER_DAY, Interval

_YEARS: Final = 9999
_SECOND: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A piece of the calendar: so many months, or so many microseconds."""

    months: int = 0
    length: int = 0
    start: Callable[[datetime], datetime]
    """The beginning of the piece a moment is in."""
    ordinal: Callable[[datetime], int]
    """The number of the piece, counted from some beginning."""
    phase: int = 0
    """The engine may count from another beginning: then its counts differ by so many."""

    @property
    def most(self) -> int:
        """Shifts by more of them leave the years 1 to 9999 from any date inside."""
        return _YEARS * 12 // self.months if self.months else _YEARS * 366 * MICROSECONDS_PER_DAY // self.length


def _midnight(moment: datetime) -> datetime:
    return datetime.combine(moment.date(), time())


def _month(moment: datetime) -> int:
    return moment.year * 12 + moment.month - 1


def _pieces(length: int) -> Callable[[datetime], int]:
    return lambda moment: microseconds(moment) // length


UNITS: Final[Mapping[str, Unit]] = {
    "year": Unit(
        months=12,
        start=lambda t: _midnight(t.replace(month=1, day=1)),
        ordinal=lambda t: t.year,
    ),
    "quarter": Unit(
        months=3,
        start=lambda t: _midnight(t.replace(month=(t.month - 1) // 3 * 3 + 1, day=1)),
        ordinal=lambda t: _month(t) // 3,
    ),
    "month": Unit(months=1, start=lambda t: _midnight(t.replace(day=1)), ordinal=_month),
    "week": Unit(
        length=7 * MICROSECONDS_PER_DAY,
        start=lambda t: _midnight(t) - timedelta(days=t.weekday()),
        ordinal=_pieces(7 * MICROSECONDS_PER_DAY),
        phase=1,
    ),
    "day": Unit(length=MICROSECONDS_PER_DAY, start=_midnight, ordinal=_pieces(MICROSECONDS_PER_DAY)),
    "hour": Unit(
        length=3600 * _SECOND,
        start=lambda t: t.replace(minute=0, second=0, microsecond=0),
        ordinal=_pieces(3600 * _SECOND),
    ),
    "minute": Unit(
        length=60 * _SECOND,
        start=lambda t: t.replace(second=0, microsecond=0),
        ordinal=_pieces(60 * _SECOND),
    ),
    "second": Unit(length=_SECOND, start=lambda t: t.replace(microsecond=0), ordinal=_pieces(_SECOND)),
}


def moment(number: Fraction) -> datetime:
    """The moment with that number of microseconds, or the end of the calendar nearest to it."""
    return datetime_of(min(max(number, Fraction(-719_162 * MICROSECONDS_PER_DAY)), _LAST))


_LAST: Final = Fraction(2_932_897 * MICROSECONDS_PER_DAY - 1)


def truncated(unit: Unit, moments: Interval) -> Interval:
    """Cutting keeps order."""
    return moments.mapped(lambda end: Fraction(microseconds(unit.start(moment(end)))))


def counted_between(unit: Unit, earlier: Interval, later: Interval) -> Interval:
    def ordinals(moments: Interval) -> Interval:
        return moments.mapped(lambda end: Fraction(unit.ordinal(moment(end))))

    slack = Interval(Fraction(-unit.phase), Fraction(unit.phase))
    return ordinals(later).sub(ordinals(earlier)).add(slack)


def shifted(unit: Unit, number: Interval, moments: Interval) -> Interval:
    """Moments later by a number of units; what leaves the calendar is NULL."""
    if unit.length:
        result = moments.add(number.mapped(lambda end: end * unit.length))
        return result if not result.bounded else MICROSECONDS.intersect(result)
    low = None if number.low is None or moments.low is None else _month_end(unit, number.low, moments.low, last=False)
    high = (
        None if number.high is None or moments.high is None else _month_end(unit, number.high, moments.high, last=True)
    )
    return Interval(low, high)


def _month_end(unit: Unit, number: Fraction, start: Fraction, *, last: bool) -> Fraction:
    """The first or last moment of the day that is so many months later.

    The day keeps order, the time of day does not: 30 January 23:00 and 31 January 01:00 both fall on 28 February.
    """
    begin = moment(start)
    years, month = divmod(_month(begin) + int(number) * unit.months, 12)
    if not 1 <= years <= _YEARS:
        return Fraction(microseconds(datetime.max if years > _YEARS else datetime.min))
    day = datetime(years, month + 1, min(begin.day, monthrange(years, month + 1)[1]))
    return Fraction(microseconds(day) + (MICROSECONDS_PER_DAY - 1 if last else 0))
