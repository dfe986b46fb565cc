"""One invented column: values that the policy allows, chosen by a seed that everybody knows.

Every listed key is as likely as another, every value between the bounds too. Nothing here resembles the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from fractions import Fraction
from random import Random
from typing import Final, TypeAlias

from dpsql.catalog.model import Bounds, ColumnPolicy, EngineColumn, KeyKind, PublicKeys, Value
from dpsql.catalog.types import SqlType

Values: TypeAlias = list[Value]

_SEED: Final = "dpsql: rows that nobody lives in"
_PRIVATE_KEYS: Final = 12
"""How many groups a column has whose groups are private."""
_ONE_NULL_IN: Final = 50
_STEPS: Final = 1000
"""Into how many parts the way between two bounds is divided."""
_LARGEST: Final = 2**63 - 1
_FIRST_DAY: Final = datetime(2025, 1, 1)
_UNBOUNDED: Final[Mapping[SqlType, Bounds]] = {
    SqlType.INTEGER: Bounds(low=1, high=100),
    SqlType.DOUBLE: Bounds(low=0, high=100),
    SqlType.DATE: Bounds(low=_FIRST_DAY.date(), high=date(2025, 12, 31)),
    SqlType.TIMESTAMP: Bounds(low=_FIRST_DAY, high=datetime(2025, 12, 31, 23, 59, 59)),
}
"""Of a column of which nobody says how large its values are."""


def chance(*names: str) -> Callable[[int], int]:
    """A die for one purpose: `die(n)` is one of 0, …, n − 1. The same names give the same numbers in every process."""
    source = Random("/".join((_SEED, *names)))  # no noise comes from here: what everybody may know protects nobody
    return lambda sides: min(sides - 1, int(source.random() * sides))


def numbered(type_: SqlType, name: str, number: int) -> Value:
    """The value that stands for the thing of this number, from 0 on: the same wherever it is named."""
    match type_:
        case SqlType.TEXT:
            return f"{name} {number + 1}"
        case SqlType.BOOLEAN:
            return number % 2 == 0
        case SqlType.DATE:
            return _FIRST_DAY.date() + timedelta(days=number)
        case SqlType.TIMESTAMP:
            return _FIRST_DAY + timedelta(minutes=number)
        case _:
            return number + 1


def identifiers(column: ColumnPolicy | None, type_: SqlType, name: str, count: int) -> Values:
    """A value for each row, all of them different as far as keys and bounds leave room."""
    if column is not None and isinstance(column.keys, PublicKeys):
        keys = column.keys.values
        return [keys[row % len(keys)] for row in range(count)]
    if type_ is SqlType.INTEGER and column is not None and column.bounds is not None:
        low, high = _whole(column.bounds)
        return [low + row % (high - low + 1) for row in range(count)]
    return [numbered(type_, name, row) for row in range(count)]


def invented_column(column: ColumnPolicy, engine: EngineColumn, count: int, *, seed: str, nulls: bool) -> Values:
    """A value for each row, as the policy describes them; with `nulls`, NULL now and then where it may be."""
    die = chance(seed, column.name)
    one = _one(column, engine, column.type or engine.type or SqlType.TEXT)
    nulls = nulls and not (engine.not_null or column.not_null)
    return [None if nulls and die(_ONE_NULL_IN) == 0 else one(die, row) for row in range(count)]


_Die: TypeAlias = Callable[[int], int]


def _one(column: ColumnPolicy, engine: EngineColumn, type_: SqlType) -> Callable[[_Die, int], Value]:
    """How one value is chosen."""
    if isinstance(column.keys, PublicKeys):
        keys = column.keys.values
        return lambda die, _: keys[die(len(keys))]
    if column.keys is KeyKind.PRIVATE and column.bounds is None:
        return lambda die, _: numbered(type_, column.name, die(_PRIVATE_KEYS))
    if type_ is SqlType.BOOLEAN:
        return lambda die, _: die(2) == 0
    if type_ is SqlType.TEXT:
        return lambda _, row: numbered(type_, column.name, row)
    return _BETWEEN[type_](column.bounds or _UNBOUNDED[type_], engine.scale)


def _integers(bounds: Bounds, _: int | None) -> Callable[[_Die, int], Value]:
    low, high = _whole(bounds)
    return lambda die, _: low + die(high - low + 1)


def _whole(bounds: Bounds) -> tuple[int, int]:
    """The whole numbers between the bounds that 64 bits hold; at least one."""
    low = max(-_LARGEST, math.ceil(_number(bounds.low)))
    return low, max(low, min(_LARGEST, math.floor(_number(bounds.high))))


def _doubles(bounds: Bounds, scale: int | None) -> Callable[[_Die, int], Value]:
    low, high = _number(bounds.low), _number(bounds.high)
    step = (high - low) / _STEPS

    def one(die: _Die, _: int) -> Value:
        value = low + die(_STEPS + 1) * step
        return value if scale is None else min(high, max(low, round(value, scale)))

    return one


def _number(end: object) -> Fraction:
    return Fraction(end) if isinstance(end, int | Fraction) else Fraction(0)


def _dates(bounds: Bounds, _: int | None) -> Callable[[_Die, int], Value]:
    low, high = _day(bounds.low), _day(bounds.high)
    days = (high - low).days
    return lambda die, _: low + timedelta(days=die(days + 1))


def _day(end: object) -> date:
    return end.date() if isinstance(end, datetime) else end if isinstance(end, date) else _FIRST_DAY.date()


def _timestamps(bounds: Bounds, _: int | None) -> Callable[[_Die, int], Value]:
    low, high = _moment(bounds.low), _moment(bounds.high)
    seconds = int((high - low).total_seconds())
    return lambda die, _: low + timedelta(seconds=die(seconds + 1))


def _moment(end: object) -> datetime:
    day = _day(end)
    return end if isinstance(end, datetime) else datetime(day.year, day.month, day.day)


_BETWEEN: Final[Mapping[SqlType, Callable[[Bounds, int | None], Callable[[_Die, int], Value]]]] = {
    SqlType.INTEGER: _integers,
    SqlType.DOUBLE: _doubles,
    SqlType.DATE: _dates,
    SqlType.TIMESTAMP: _timestamps,
}
