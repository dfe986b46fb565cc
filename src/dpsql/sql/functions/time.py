"""Dates and timestamps: parts, truncation, differences and shifts, inside the years 1 to 9999."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from fractions import Fraction
from typing import Final

from dpsql.catalog.types import SqlType
from dpsql.sql.functions.constants import datetime_of, microseconds, quoted
from dpsql.sql.functions.conversions import converted, counted, temporal, unified
from dpsql.sql.functions.function import Argument, Function, RangeRule, Request, calendar_times, inside, named
from dpsql.sql.intervals import MICROSECONDS, MICROSECONDS_PER_DAY, Interval, typed
from dpsql.sql.scalars import Apply, Constant, Scalar

# ---- the pieces of the calendar that may be cut at, counted and added -----------------------------------------------

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


# ---- types ----------------------------------------------------------------------------------------------------------


def _part(request: Request) -> Scalar:
    (scalar,) = counted(request, 1, 1)
    return request.result((temporal(request, scalar),), SqlType.INTEGER)


def _unit(request: Request, scalar: Scalar) -> Constant:
    """The name of a unit, which is a literal; plurals mean the same."""
    text = scalar.value if isinstance(scalar, Constant) else None
    name = text.lower() if isinstance(text, str) else ""
    name = name if name in UNITS else name.removesuffix("s")
    if name not in UNITS:
        request.wrong(f"{request.usage} begins with the name of a unit", fix=f"use one of: {', '.join(UNITS)}")
    return Constant(name, SqlType.TEXT)


def _date_trunc(request: Request) -> Scalar:
    unit, scalar = counted(request, 2, 2)
    return request.result((_unit(request, unit), temporal(request, scalar)), SqlType.TIMESTAMP)


def _date_diff(request: Request) -> Scalar:
    unit, *ends = counted(request, 3, 3)
    both = unified(request, [temporal(request, scalar) for scalar in ends])
    return request.result((_unit(request, unit), *both), SqlType.INTEGER)


def _date_add(request: Request) -> Scalar:
    unit, number, scalar = counted(request, 3, 3)
    whole = converted(request, number, SqlType.INTEGER)
    return request.result((_unit(request, unit), whole, temporal(request, scalar)), SqlType.TIMESTAMP)


# ---- ranges ---------------------------------------------------------------------------------------------------------


def _moments(scalar: Scalar, interval: Interval) -> Interval:
    """Dates as the microseconds of their midnights."""
    return interval.mapped(lambda end: end * MICROSECONDS_PER_DAY) if scalar.type is SqlType.DATE else interval


def _unit_of(call: Apply) -> Unit:
    first = call.arguments[0]
    return UNITS[str(first.value) if isinstance(first, Constant) else ""]


def _year_range(call: Apply, ranges: Sequence[Interval]) -> Interval:
    scalar = call.arguments[0]
    known = _moments(scalar, typed(ranges[0], scalar.type))
    return known.mapped(lambda end: Fraction(moment(end).year))


def _between(low: int, high: int) -> RangeRule:
    return lambda _call, _ranges: Interval(Fraction(low), Fraction(high))


def _diff_range(call: Apply, ranges: Sequence[Interval]) -> Interval:
    earlier, later = (_moments(scalar, known) for scalar, known in zip(call.arguments[1:], ranges[1:], strict=True))
    return counted_between(_unit_of(call), earlier, later)


# ---- DuckDB ---------------------------------------------------------------------------------------------------------

_SHIFTS: Final = {
    "year": "to_years(CAST({} AS INTEGER))",
    "quarter": "to_months(CAST({} * 3 AS INTEGER))",
    "month": "to_months(CAST({} AS INTEGER))",
    "week": "to_days(CAST({} * 7 AS INTEGER))",
    "day": "to_days(CAST({} AS INTEGER))",
    "hour": "to_hours({})",
    "minute": "to_minutes({})",
    "second": "to_seconds({})",
}


def _name(argument: Argument) -> str:
    return str(argument.constant)


def _print_trunc(arguments: Sequence[Argument]) -> str:
    unit, scalar = arguments
    return f"date_trunc({quoted(_name(unit))}, {scalar.text})"


def _print_diff(arguments: Sequence[Argument]) -> str:
    unit, earlier, later = arguments
    return f"date_diff({quoted(_name(unit))}, {earlier.text}, {later.text})"


def _print_shift(arguments: Sequence[Argument]) -> str:
    """Numbers that must leave the calendar are NULL before the engine would fail on them."""
    unit, number, scalar = arguments
    most = UNITS[_name(unit)].most
    safe = number.range.within(Interval(Fraction(-most), Fraction(most)))
    text = number.text if safe else inside(number.text, -most, most)
    return calendar_times(f"({scalar.text} + {_SHIFTS[_name(unit)].format(text)})")


def _calendar_part(name: str, summary: str, range_: RangeRule, engine_name: str | None = None) -> Function:
    return Function(
        name=name,
        usage=f"EXTRACT({name.upper()} FROM x)",
        summary=summary,
        typed=_part,
        range=range_,
        forms={"duckdb": named(engine_name or name)},
    )


TIME: Final = (
    _calendar_part("year", "The year, 1 to 9999.", _year_range),
    _calendar_part("quarter", "The quarter, 1 to 4.", _between(1, 4)),
    _calendar_part("month", "The month, 1 to 12.", _between(1, 12)),
    _calendar_part("week", "The ISO week, 1 to 53.", _between(1, 53)),
    _calendar_part("day", "The day of the month, 1 to 31.", _between(1, 31)),
    _calendar_part("dow", "The day of the week, Sunday 0 to Saturday 6.", _between(0, 6), "dayofweek"),
    _calendar_part("isodow", "The day of the week, Monday 1 to Sunday 7.", _between(1, 7)),
    _calendar_part("doy", "The day of the year, 1 to 366.", _between(1, 366), "dayofyear"),
    _calendar_part("hour", "The hour, 0 to 23.", _between(0, 23)),
    _calendar_part("minute", "The minute, 0 to 59.", _between(0, 59)),
    _calendar_part("second", "The whole second, 0 to 59.", _between(0, 59)),
    Function(
        name="date_trunc",
        usage="DATE_TRUNC('unit', x)",
        summary=f"The timestamp at which the unit began: {', '.join(UNITS)}. Weeks begin on Monday.",
        typed=_date_trunc,
        range=lambda call, ranges: truncated(_unit_of(call), _moments(call.arguments[1], ranges[1])),
        forms={"duckdb": _print_trunc},
    ),
    Function(
        name="date_diff",
        usage="DATE_DIFF('unit', a, b)",
        summary="How many beginnings of the unit lie after a, up to b.",
        typed=_date_diff,
        range=_diff_range,
        forms={"duckdb": _print_diff},
    ),
    Function(
        name="date_add",
        usage="x + INTERVAL n UNIT",
        summary="The timestamp n units later; NULL outside of the years 1 to 9999.",
        typed=_date_add,
        range=lambda call, ranges: shifted(_unit_of(call), ranges[1], _moments(call.arguments[2], ranges[2])),
        forms={"duckdb": _print_shift},
    ),
)
