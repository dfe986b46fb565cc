"""Bounds and keys, made to fit the type that the engine gives a column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime, time
from fractions import Fraction
from typing import Final

from dpsql.catalog import values
from dpsql.catalog.mistakes import Mistake
from dpsql.catalog.model import Bounds, ColumnPolicy, EngineColumn, KeyKind, Keys, PublicKeys, Value
from dpsql.catalog.types import SqlType

_SMALLEST: Final = -(2**63)
_LARGEST: Final = 2**63 - 1


def fitted(column: ColumnPolicy, engine: EngineColumn) -> ColumnPolicy:
    """The declaration with the engine's type, and bounds and keys as values of it; a Mistake where they are not."""
    if engine.type is None:
        raise Mistake(
            f"its type {_kind_of(engine.engine_type) or 'in the engine'} is not read",
            why="values of a type without rules cannot be bounded or compared safely",
            fix=engine.instead or "leave the column out; it may still be named as person or in person_via",
        )
    if engine.wide and column.bounds is None:
        raise Mistake(
            f"its type {engine.engine_type} holds whole numbers beyond 64 bits, and no bounds are declared",
            why="numbers beyond 64 bits are not read: such a row has no value here, and sums would silently miss it",
            fix="declare bounds where all values lie within 64 bits; else read the column through a view that casts it"
            " to VARCHAR, or to DOUBLE",
        )
    if column.type is not None and column.type is not engine.type:
        raise Mistake(
            f"declared as {column.type.value}, but the engine says {engine.type.value}",
            why="bounds and keys of one type mean nothing in another",
            fix=f'write type = "{engine.type.value}", or leave it out',
            key=("type",),
        )
    return replace(
        column, type=engine.type, bounds=_bounds(column.bounds, engine.type), keys=_keys(column, engine.type)
    )


def _kind_of(engine_type: str) -> str:
    """The kind of a nested type without its parts: a library may have taken these from rows, as the digits of the
    decimals in STRUCT(a DECIMAL(2,1))."""
    if engine_type.endswith("]"):
        return "LIST"
    return engine_type.partition("(")[0]


def _bounds(bounds: Bounds | None, kind: SqlType) -> Bounds | None:
    if bounds is None:
        return None
    fit = _BOUNDS.get(kind)
    found = fit(bounds) if fit else None
    if found is None:
        raise Mistake(
            f"do not fit a column of type {kind.value}",
            why="bounds say which values of the column count",
            fix=_BOUNDS_FIX.get(kind, f"leave out bounds: a {kind.value} has no smallest and largest value to count"),
            key=("bounds",),
        )
    return found


def _whole(bounds: Bounds) -> Bounds | None:
    ends = (bounds.low, bounds.high)
    whole = [int(end) for end in ends if isinstance(end, (int, Fraction)) and end == int(end)]
    if len(whole) != 2 or not _SMALLEST <= whole[0] < whole[1] <= _LARGEST:
        return None
    return Bounds(low=whole[0], high=whole[1])


def _numeric(bounds: Bounds) -> Bounds | None:
    return bounds if isinstance(bounds.low, (int, Fraction)) and isinstance(bounds.high, (int, Fraction)) else None


def _instants(bounds: Bounds) -> Bounds | None:
    """Of two dates: from the first moment of the one to the last moment of the other."""
    low, high = bounds.low, bounds.high
    if type(low) is date and type(high) is date:
        return Bounds(low=datetime.combine(low, time.min), high=datetime.combine(high, time.max))
    return bounds if isinstance(low, datetime) and isinstance(high, datetime) else None


_BOUNDS: Final[Mapping[SqlType, Callable[[Bounds], Bounds | None]]] = {
    SqlType.INTEGER: _whole,
    SqlType.DOUBLE: _numeric,
    SqlType.DATE: lambda bounds: bounds if type(bounds.low) is date and type(bounds.high) is date else None,
    SqlType.TIMESTAMP: _instants,
}
_BOUNDS_FIX: Final[Mapping[SqlType, str]] = {
    SqlType.INTEGER: "write two whole numbers of 64 bits, for example bounds = [0, 110]",
    SqlType.DOUBLE: "write two numbers, for example bounds = [0, 2000]",
    SqlType.DATE: 'write two dates, for example bounds = ["2024-01-01", "2026-12-31"]',
    SqlType.TIMESTAMP: 'write two dates or timestamps, for example bounds = ["2024-01-01", "2026-12-31"]',
    SqlType.TEXT: "leave out bounds: a text has no smallest and largest value to count. Where it holds numbers as"
    ' text, register(…, types={"age": "integer"}) declares them',
}


def _keys(column: ColumnPolicy, kind: SqlType) -> Keys | None:
    keys = column.keys
    if keys is None:
        return None
    if kind not in _KEYS:
        raise Mistake(
            f"a column of type {kind.value} has no keys",
            why="two numbers that print alike may differ in their last bit, and so tell people apart",
            fix="where it holds whole numbers only, declare that: "
            f'register(…, types={{"{column.name}": "integer"}}), or, '
            "of a database, a view that casts it to BIGINT. Else leave out keys, and group by ROUND or FLOOR of the "
            "column as a whole number in a query",
            key=("keys",),
        )
    if isinstance(keys, KeyKind):
        return keys  # a calendar has dates as bounds, and those fit dates only
    found = tuple(None if value is None else _key(value, kind) for value in keys.values)
    if len(set(found)) != len(found):
        raise Mistake(
            "two of them are one value",
            why="each key is one row of the answer",
            fix="list each key once",
            key=("keys",),
        )
    return PublicKeys(values=found)


def _key(value: Value, kind: SqlType) -> Value:
    found = _KEYS[kind](value)
    if found is None:
        raise Mistake(
            f"{values.quoted(value)} is not a value of a column of type {kind.value}",
            why="a key that no row can have is an empty group in every answer",
            fix=f"list values of type {kind.value}",
            key=("keys",),
        )
    return found


def _whole_key(value: Value) -> Value:
    fits = isinstance(value, int) and not isinstance(value, bool) and _SMALLEST <= value <= _LARGEST
    return value if fits else None


def _moment_key(value: Value) -> date | datetime | None:
    """A date or timestamp; ISO text is read as one, since the column holds nothing else."""
    try:
        return values.moment(value)
    except Mistake:
        return None


def _day_key(value: Value) -> Value:
    found = _moment_key(value)
    return None if isinstance(found, datetime) else found


def _instant_key(value: Value) -> Value:
    found = _moment_key(value)
    return datetime.combine(found, time.min) if type(found) is date else found


_KEYS: Final[Mapping[SqlType, Callable[[Value], Value]]] = {
    SqlType.BOOLEAN: lambda value: value if isinstance(value, bool) else None,
    SqlType.INTEGER: _whole_key,
    SqlType.TEXT: lambda value: value if isinstance(value, str) else None,
    SqlType.DATE: _day_key,
    SqlType.TIMESTAMP: _instant_key,
}
