"""How arguments are brought to one type. Every conversion is written into the tree; the engine never guesses one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time
from fractions import Fraction
from typing import Final

from dpsql.catalog.types import NUMERIC, TEMPORAL, SqlType
from dpsql.sql.functions.constants import date_from, timestamp_from
from dpsql.sql.functions.function import Request, TypeRule
from dpsql.sql.intervals import INT64, nearest_double
from dpsql.sql.scalars import Apply, Constant, Scalar

_ANY_TYPE: Final = 2**53
"""Whole numbers below this are numbers of every numeric type."""
_WIDER: Final = {
    frozenset({SqlType.INTEGER, SqlType.DOUBLE}): SqlType.DOUBLE,
    frozenset({SqlType.DATE, SqlType.TIMESTAMP}): SqlType.TIMESTAMP,
}


def is_null(scalar: Scalar) -> bool:
    return isinstance(scalar, Constant) and scalar.value is None


def is_text_literal(scalar: Scalar) -> bool:
    return isinstance(scalar, Constant) and isinstance(scalar.value, str)


def whole_literal(scalar: Scalar) -> int | None:
    """The value of an integer literal."""
    if isinstance(scalar, Constant) and scalar.type is SqlType.INTEGER and isinstance(scalar.value, int):
        return scalar.value
    return None


def in_range(request: Request, scalar: Scalar) -> Scalar:
    """A whole literal beyond 64 bits is a DOUBLE, as any arithmetic that leaves 64 bits (rule 6)."""
    if not isinstance(scalar, Constant) or isinstance(scalar.value, bool):
        return scalar
    if not isinstance(scalar.value, int | Fraction) or -_ANY_TYPE < scalar.value < _ANY_TYPE:
        return scalar
    number = nearest_double(Fraction(scalar.value))
    if number is None:
        request.wrong("a literal is larger than any number an engine can hold", fix="write a number below 1.7e308")
    if scalar.type is SqlType.INTEGER and not INT64.contains(scalar.value):
        return Constant(number, SqlType.DOUBLE)
    return scalar


def to_double(scalar: Scalar) -> Scalar:
    """The same number as DOUBLE."""
    value = whole_literal(scalar)
    if value is not None:
        return Constant(nearest_double(Fraction(value)), SqlType.DOUBLE)
    return scalar if scalar.type is SqlType.DOUBLE else Apply("to_double", (scalar,), SqlType.DOUBLE)


def to_timestamp(scalar: Scalar) -> Scalar:
    """A date as the midnight it begins with."""
    if isinstance(scalar, Constant) and isinstance(scalar.value, date) and scalar.type is SqlType.DATE:
        return Constant(datetime.combine(scalar.value, time()), SqlType.TIMESTAMP)
    return scalar if scalar.type is SqlType.TIMESTAMP else Apply("to_timestamp", (scalar,), SqlType.TIMESTAMP)


def converted(request: Request, scalar: Scalar, to: SqlType) -> Scalar:
    """The argument as `to`, where SQL converts by itself; refused where it does not."""
    if is_null(scalar):
        return Constant(None, to)
    if scalar.type is to:
        return scalar
    if scalar.type is SqlType.INTEGER and to is SqlType.DOUBLE:
        return to_double(scalar)
    if scalar.type is SqlType.DATE and to is SqlType.TIMESTAMP:
        return to_timestamp(scalar)
    if to in TEMPORAL and isinstance(scalar, Constant) and isinstance(scalar.value, str):
        value = date_from(scalar.value) if to is SqlType.DATE else timestamp_from(scalar.value)
        if value is None:
            shape = "'2024-05-17'" if to is SqlType.DATE else "'2024-05-17 10:30:00'"
            request.wrong(
                f"the text {scalar.value!r:.40} is not a {to.value} of the years 1 to 9999",
                fix=f"write it like {shape}, or write TIMESTAMP '…' to compare a date with a time of day",
            )
        return Constant(value, to)
    return request.wrong(f"{request.usage} has an argument of type {scalar.type.value} where {to.value} is needed")


def common_type(request: Request, arguments: Sequence[Scalar]) -> SqlType:
    """The one type all arguments can be brought to. NULL fits any; a text literal fits a date beside it."""
    if len({scalar.type for scalar in arguments}) == 1:
        return arguments[0].type
    typed = [scalar for scalar in arguments if not is_null(scalar)]
    kinds = frozenset(scalar.type for scalar in typed)
    temporal = frozenset(kind for kind in kinds if kind in TEMPORAL)
    if temporal and kinds - temporal == {SqlType.TEXT}:
        plain = [scalar for scalar in typed if scalar.type is SqlType.TEXT and not is_text_literal(scalar)]
        kinds = kinds if plain else temporal
    if not kinds:
        return arguments[0].type
    if len(kinds) == 1:
        return next(iter(kinds))
    wider = _WIDER.get(kinds)
    if wider is None:
        names = " and ".join(sorted(kind.value for kind in kinds))
        request.wrong(f"{request.usage} mixes {names}", fix="convert one side with CAST(… AS …)")
    return wider


def unified(request: Request, arguments: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """All arguments, brought to their common type."""
    to = common_type(request, arguments)
    return tuple(converted(request, scalar, to) for scalar in arguments)


def numeric(request: Request, scalar: Scalar) -> Scalar:
    """The argument if it is a number. A bare NULL counts as a DOUBLE."""
    if is_null(scalar):
        return Constant(None, scalar.type if scalar.type in NUMERIC else SqlType.DOUBLE)
    if scalar.type not in NUMERIC:
        request.wrong(f"{request.usage} needs a number, not {scalar.type.value}")
    return scalar


def temporal(request: Request, scalar: Scalar) -> Scalar:
    """The argument if it is a date or a timestamp; a text literal that looks like one becomes one."""
    if is_null(scalar):
        return Constant(None, scalar.type if scalar.type in TEMPORAL else SqlType.TIMESTAMP)
    if isinstance(scalar, Constant) and isinstance(scalar.value, str):
        return converted(request, scalar, SqlType.DATE if date_from(scalar.value) else SqlType.TIMESTAMP)
    if scalar.type not in TEMPORAL:
        request.wrong(f"{request.usage} needs a date or a timestamp, not {scalar.type.value}")
    return scalar


def numbers(request: Request, arguments: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """All arguments, brought to one numeric type. NULL beside a number is a NULL of that number's type."""
    kinds = [scalar.type for scalar in arguments if not is_null(scalar)]
    typed = [Constant(None, kinds[0]) if is_null(scalar) and kinds else scalar for scalar in arguments]
    return unified(request, [numeric(request, scalar) for scalar in typed])


def counted(request: Request, least: int, most: int | None = None) -> tuple[Scalar, ...]:
    """The arguments, if there are as many as the function takes."""
    number = len(request.arguments)
    if number < least or (most is not None and number > most):
        request.wrong(f"{request.usage} does not take {number} argument{'' if number == 1 else 's'}")
    return request.arguments


def signature(*types: SqlType, result: SqlType, optional: int = 0) -> TypeRule:
    """A function of these types in this order; the last `optional` ones may be left out."""

    def rule(request: Request) -> Scalar:
        given = counted(request, len(types) - optional, len(types))
        pairs = zip(given, types, strict=False)
        return request.result([converted(request, scalar, kind) for scalar, kind in pairs], result)

    return rule
