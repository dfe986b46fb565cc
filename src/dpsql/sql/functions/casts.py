"""CAST, as TRY_CAST: what cannot be converted is NULL. Also how a column of a table is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Final

from dpsql.catalog.spelling import ENGINE_TYPES
from dpsql.catalog.types import SqlType
from dpsql.sql.functions.conversions import counted, is_null, to_double, to_timestamp, whole_literal
from dpsql.sql.functions.function import (
    Argument,
    Form,
    Function,
    RangeRule,
    Request,
    TypeRule,
    anything,
    calendar_dates,
    calendar_times,
    finite,
    truth,
)
from dpsql.sql.intervals import MICROSECONDS_PER_DAY, Interval, integers, rounded
from dpsql.sql.scalars import Apply, Constant, Scalar

_NUMBERS: Final = frozenset({SqlType.BOOLEAN, SqlType.INTEGER, SqlType.DOUBLE, SqlType.TEXT})
_TIMES: Final = frozenset({SqlType.DATE, SqlType.TIMESTAMP, SqlType.TEXT})
_ALL: Final = frozenset(SqlType)


def _from(sources: frozenset[SqlType], to: SqlType) -> TypeRule:
    def rule(request: Request) -> Scalar:
        (scalar,) = counted(request, 1, 1)
        if is_null(scalar):
            return Constant(None, to)
        if scalar.type is to:
            return scalar
        if scalar.type not in sources:
            request.wrong(
                f"{scalar.type.value} cannot be converted to {to.value}",
                fix=f"{to.value} can be made from {', '.join(sorted(kind.value for kind in sources - {to}))}",
            )
        return _folded(request, scalar, to)

    return rule


def _folded(request: Request, scalar: Scalar, to: SqlType) -> Scalar:
    """Whole literals and date literals are converted at once."""
    if to is SqlType.DOUBLE and whole_literal(scalar) is not None:
        return to_double(scalar)
    if to is SqlType.TIMESTAMP and scalar.type is SqlType.DATE:
        return to_timestamp(scalar)
    return request.result((scalar,), to)


# ---- ranges ---------------------------------------------------------------------------------------------------------


def _integer_range(call: Apply, ranges: Sequence[Interval]) -> Interval:
    """To the nearest whole number, ties to even; NULL beyond 64 bits."""
    if call.arguments[0].type is SqlType.TEXT:
        return anything(call, ranges)
    return integers(ranges[0].mapped(lambda end: Fraction(round(end))))


def _double_range(call: Apply, ranges: Sequence[Interval]) -> Interval:
    return anything(call, ranges) if call.arguments[0].type is SqlType.TEXT else rounded(ranges[0])


def _date_range(call: Apply, ranges: Sequence[Interval]) -> Interval:
    if call.arguments[0].type is not SqlType.TIMESTAMP:
        return anything(call, ranges)
    return ranges[0].mapped(lambda end: Fraction(math.floor(end / MICROSECONDS_PER_DAY)))


def _timestamp_range(call: Apply, ranges: Sequence[Interval]) -> Interval:
    if call.arguments[0].type is not SqlType.DATE:
        return anything(call, ranges)
    return ranges[0].mapped(lambda end: end * MICROSECONDS_PER_DAY)


# ---- DuckDB ---------------------------------------------------------------------------------------------------------


def _try_cast(text: str, to: SqlType) -> str:
    return f"TRY_CAST({text} AS {ENGINE_TYPES[to]})"


def _one_zero(argument: Argument) -> str:
    """−0 is 0: which of them stands for several equal numbers depends on the order of rows, and text would tell."""
    return f"({argument.text} + CAST(0 AS DOUBLE))" if argument.type is SqlType.DOUBLE else argument.text


def _print_cast(to: SqlType, guards: Mapping[SqlType, Callable[[str], str]]) -> Form:
    """TRY_CAST; `guards`: what may come out of which type that is not a value (infinite dates, year 20000)."""

    def form(arguments: Sequence[Argument]) -> str:
        (argument,) = arguments
        text = _try_cast(_one_zero(argument) if to is SqlType.TEXT else argument.text, to)
        guard = guards.get(argument.type)
        return text if guard is None else guard(text)

    return form


def _print_clean(arguments: Sequence[Argument]) -> str:
    """A column as it lies in the table, as one of the six types; what is not a value of the type is NULL."""
    (argument,) = arguments
    return _READERS[argument.type](_try_cast(argument.text, argument.type))


_READERS: Final[dict[SqlType, Callable[[str], str]]] = {
    SqlType.BOOLEAN: lambda text: text,
    SqlType.INTEGER: lambda text: text,
    SqlType.DOUBLE: finite,
    SqlType.TEXT: lambda text: f'({text} COLLATE "binary")',
    SqlType.DATE: calendar_dates,
    SqlType.TIMESTAMP: calendar_times,
}


def clean(scalar: Scalar) -> Scalar:
    """The total form of a raw column, to be used once, where a table is read (rule 6).

    NaN and infinities, dates outside of the years 1 to 9999 and whole numbers beyond 64 bits become NULL; text is
    compared by its bytes whatever collation the column has. Everything else in this package relies on it.
    """
    return Apply(CLEAN.name, (scalar,), scalar.type)


def _cast(
    to: SqlType,
    summary: str,
    sources: frozenset[SqlType],
    *,
    range_: RangeRule = anything,
    guards: Mapping[SqlType, Callable[[str], str]] | None = None,
) -> Function:
    return Function(
        name=f"to_{to.value}",
        usage=f"CAST(x AS {ENGINE_TYPES[to]})",
        summary=summary,
        typed=_from(sources, to),
        range=range_,
        forms={"duckdb": _print_cast(to, guards or {})},
    )


CASTS: Final = (
    _cast(SqlType.INTEGER, "The nearest whole number of 64 bits, or NULL.", _NUMBERS, range_=_integer_range),
    _cast(SqlType.DOUBLE, "A number, or NULL.", _NUMBERS, range_=_double_range),
    _cast(SqlType.TEXT, "The value as text.", _ALL),
    _cast(
        SqlType.DATE,
        "A date of the years 1 to 9999, or NULL.",
        _TIMES,
        range_=_date_range,
        guards={SqlType.TEXT: calendar_dates},
    ),
    _cast(
        SqlType.TIMESTAMP,
        "A timestamp of the years 1 to 9999, or NULL.",
        _TIMES,
        range_=_timestamp_range,
        guards={SqlType.TEXT: calendar_times},
    ),
    _cast(SqlType.BOOLEAN, "Numbers other than 0 are true; text such as 'true' and 'f'.", _NUMBERS, range_=truth),
)


CLEAN: Final = Function(
    name="clean",
    usage="a column of a table",
    summary="How a column is read. Nobody writes it.",
    typed=lambda request: clean(*counted(request, 1, 1)),
    range=lambda _call, ranges: ranges[0],
    forms={"duckdb": _print_clean},
)
