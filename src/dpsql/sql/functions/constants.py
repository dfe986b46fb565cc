"""Literals: their place on the number line, the way an engine reads them back, and texts that mean dates."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from typing import Final, NoReturn

from dpsql.catalog.model import Cells, Value
from dpsql.catalog.spelling import ENGINE_TYPES, literal
from dpsql.catalog.types import SqlType
from dpsql.errors import BadType
from dpsql.sql.intervals import EVERYTHING, INT64, MICROSECONDS_PER_DAY, Interval, nearest_double
from dpsql.sql.scalars import Constant

_EPOCH: Final = date(1970, 1, 1)
_MIDNIGHT: Final = datetime(1970, 1, 1)
_MICROSECOND: Final = timedelta(microseconds=1)
_DATE: Final = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})", re.ASCII)
_TIME: Final = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?", re.ASCII)


def _refuse(what: str, *, fix: str) -> NoReturn:
    raise BadType(what, why="a literal must mean the same value to every engine that reads it", fix=fix)


# ---- the number line ------------------------------------------------------------------------------------------------


def days(value: date) -> int:
    """Days since 1970-01-01."""
    return (value - _EPOCH).days


def microseconds(value: datetime) -> int:
    """Microseconds since 1970-01-01 00:00."""
    return (value - _MIDNIGHT) // _MICROSECOND


def date_of(number: Fraction | int) -> date:
    """The day with that number, which must be of the years 1 to 9999."""
    return _EPOCH + timedelta(days=int(number))


def datetime_of(number: Fraction | int) -> datetime:
    whole_days, rest = divmod(int(number), MICROSECONDS_PER_DAY)
    return datetime.combine(date_of(whole_days), time()) + timedelta(microseconds=rest)


def number_of(constant: Constant) -> Fraction | None:
    """Where the literal lies on the number line of its type; None for NULL and for text.

    A decimal is the double that the engine will read, not the decimal itself; a date among timestamps is its midnight.
    """
    match constant.value:
        case datetime() as moment:
            return Fraction(microseconds(moment))
        case date() as day:
            return Fraction(days(day) * (MICROSECONDS_PER_DAY if constant.type is SqlType.TIMESTAMP else 1))
        case int() | Fraction() as number:
            return nearest_double(Fraction(number)) if constant.type is SqlType.DOUBLE else Fraction(number)
        case _:
            return None


def constant_interval(constant: Constant) -> Interval:
    """The literal and nothing else. NULL and text have no place on the line."""
    number = number_of(constant)
    return EVERYTHING if number is None else Interval(number, number)


def interval_between(low: Constant, high: Constant) -> Interval:
    """From one literal to the other."""
    return Interval(number_of(low), number_of(high))


# ---- text that means a date -----------------------------------------------------------------------------------------


def date_from(text: str) -> date | None:
    """'2024-05-17' as a date; None if it is anything else."""
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    try:
        return date(*map(int, match.groups()))
    except ValueError:
        return None


def timestamp_from(text: str) -> datetime | None:
    """'2024-05-17' or '2024-05-17 10:30:00.25' as a timestamp; None if it is anything else."""
    head, space, tail = text.replace("T", " ", 1).partition(" ")
    day, clock = date_from(head), _TIME.fullmatch(tail if space else "00:00")
    if day is None or clock is None:
        return None
    hour, minute, second, fraction = clock.groups(default="0")
    try:
        return datetime.combine(day, time(int(hour), int(minute), int(second), int(fraction.ljust(6, "0"))))
    except ValueError:
        return None


# ---- printing -------------------------------------------------------------------------------------------------------


def print_constant(constant: Constant) -> str:
    """The literal as engine text that is read back as this very value, whatever it contains (rule 4)."""
    if constant.value is None:
        return f"CAST(NULL AS {ENGINE_TYPES[constant.type]})"
    text = _PRINTERS[constant.type](constant)
    if text is None:
        _refuse(
            f"{constant.value!r:.60} is not a literal of type {constant.type.value}",
            fix="write a literal of that type",
        )
    return text


def bound_values(values: Sequence[Value], type_: SqlType) -> Cells:
    """The literals of one column as an engine binds them: each as `print_constant` would print it, or refused."""
    kinds = {*map(type, values)} - {type(None)}
    if kinds <= _PLAIN[type_] and (type_ is not SqlType.INTEGER or _within_64_bits(values)):
        if type_ is SqlType.TEXT:
            quoted("".join(filter(None, values)))  # type: ignore[arg-type]  # refuses half of a character
        return list(values)  # type: ignore[arg-type]  # by their kinds
    for value in values:
        print_constant(Constant(value, type_))  # refuses one that does not fit
    if type_ is SqlType.DOUBLE:
        return [None if value is None else float(value) for value in values]  # type: ignore[arg-type]  # numbers
    return list(values)  # type: ignore[arg-type]


_PLAIN: Final[Mapping[SqlType, frozenset[type]]] = {
    SqlType.BOOLEAN: frozenset({bool}),
    SqlType.INTEGER: frozenset({int}),
    SqlType.DOUBLE: frozenset(),
    SqlType.TEXT: frozenset({str}),
    SqlType.DATE: frozenset({date}),
    SqlType.TIMESTAMP: frozenset(),  # one with a zone would be moved
}


def _within_64_bits(values: Sequence[Value]) -> bool:
    whole = [value for value in values if type(value) is int]
    return not whole or (INT64.contains(min(whole)) and INT64.contains(max(whole)))


def _boolean(constant: Constant) -> str | None:
    return {True: "TRUE", False: "FALSE"}[constant.value] if isinstance(constant.value, bool) else None


def _integer(constant: Constant) -> str | None:
    """With its type: a bare small literal has 32 bits, and 2147483647 + 1 would fail."""
    value = constant.value
    if isinstance(value, bool) or not isinstance(value, int) or not INT64.contains(value):
        return None
    return f"CAST({value} AS BIGINT)"


def _double(constant: Constant) -> str | None:
    """The shortest digits that are read back as the nearest double. Without an exponent it would be a decimal."""
    if isinstance(constant.value, bool) or not isinstance(constant.value, int | Fraction):
        return None
    number = nearest_double(Fraction(constant.value))
    if number is None:
        return None
    digits = repr(float(number))
    if "e" not in digits:
        digits += "e0"
    return f"({digits})" if number < 0 else digits


def _text(constant: Constant) -> str | None:
    if not isinstance(constant.value, str):
        return None
    return quoted(constant.value)


def _date(constant: Constant) -> str | None:
    if isinstance(constant.value, datetime) or not isinstance(constant.value, date):
        return None
    return f"DATE '{constant.value.isoformat()}'"


def _timestamp(constant: Constant) -> str | None:
    if not isinstance(constant.value, datetime) or constant.value.tzinfo is not None:
        return None
    return f"TIMESTAMP '{constant.value.isoformat(sep=' ')}'"


def quoted(text: str) -> str:
    """A text literal: only the quote is special, and it is doubled.

    No statement can hold a NUL, and nobody writes one, but a key that was released may have one: its bytes are written
    in hexadecimal digits, flat however many there are.
    """
    try:
        encoded = text.encode("utf-8")
    except UnicodeEncodeError:
        _refuse("a text literal contains half of a character (a lone surrogate)", fix="remove it")
    return f"decode(from_hex('{encoded.hex()}'))" if 0 in encoded else literal(text)


_PRINTERS: Final[dict[SqlType, Callable[[Constant], str | None]]] = {
    SqlType.BOOLEAN: _boolean,
    SqlType.INTEGER: _integer,
    SqlType.DOUBLE: _double,
    SqlType.TEXT: _text,
    SqlType.DATE: _date,
    SqlType.TIMESTAMP: _timestamp,
}
