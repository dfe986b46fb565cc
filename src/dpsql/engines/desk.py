"""The desk: an in-memory DuckDB for released rows. What happens here is free, because nothing private is in reach."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

import duckdb

from dpsql.catalog.model import Parameter
from dpsql.catalog.spelling import ENGINE_TYPES, quoted
from dpsql.catalog.types import SqlType
from dpsql.engines.engine import NO_PARAMETERS, Limits
from dpsql.engines.hardening import hardened
from dpsql.errors import EngineFailed, InternalError

DeskType: TypeAlias = SqlType | Literal["HUGEINT"]
"""A column of released rows. HUGEINT: integers that may need more than 64 bits, up to 128."""

MEMORY: Final = "1GB"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskTable:
    """Released rows, or rows of a public table. Every value fits the type of its column, or is None."""

    columns: tuple[tuple[str, DeskType], ...]
    rows: Sequence[tuple[object, ...]]

    def __post_init__(self) -> None:
        width = len(self.columns)
        if not width or len({name.lower() for name, _ in self.columns}) != width:
            raise InternalError("a table of released rows has no columns, or two of the same name")
        if set(map(len, self.rows)) - {width}:
            raise InternalError("a released row has more or fewer values than there are columns")
        for index, (name, type_) in enumerate(self.columns):
            if not _FITS[type_]([value for row in self.rows if (value := row[index]) is not None]):
                raise InternalError(f"a value of column {name} is not of its type")


class Desk:
    """Asks questions of released rows. Making one costs nothing: all desks of a process share one empty database."""

    def query(
        self, sql: str, /, tables: Mapping[str, DeskTable], *, parameters: Mapping[str, Parameter] = NO_PARAMETERS
    ) -> list[tuple[Any, ...]]:
        """The rows of one SELECT over `tables`, which are bound to this one statement and leave nothing behind.

        Their order means something only if the statement has an ORDER BY.
        """
        trouble: Exception | None = None
        try:
            with closing(_cursor()) as cursor:
                return _answered(cursor, sql, tables, parameters)
        except (duckdb.Error, RuntimeError, ValueError) as error:
            trouble = error
        if _ctrl_c(trouble):
            raise KeyboardInterrupt
        # Only released rows are here, so the reason may be kept for whoever looks for the bug.
        raise EngineFailed(
            "the released rows could not be brought into their final form",
            why="the answer itself is paid and stored",
            fix="ask the same question again, which is free; if it fails again, report it with the SQL text",
        ) from trouble


def _ctrl_c(error: Exception) -> bool:
    """Somebody pressed Ctrl-C: DuckDB swallows the signal during a statement and raises another error instead."""
    return type(error) is RuntimeError and error.args == ("Query interrupted",)


def lay_out(cursor: duckdb.DuckDBPyConnection, place: str, table: DeskTable) -> None:
    """A table at `place`, a name in its quotes, with these rows."""
    bound: dict[str, object] = {}
    cursor.execute(f"CREATE TABLE {place} AS {_bound_rows(table, bound)}", bound)


def _answered(
    cursor: duckdb.DuckDBPyConnection, sql: str, tables: Mapping[str, DeskTable], parameters: Mapping[str, Parameter]
) -> list[tuple[Any, ...]]:
    bound: dict[str, object] = dict(parameters)
    laid = [f"{quoted(name)} AS MATERIALIZED ({_bound_rows(table, bound)})" for name, table in tables.items()]
    if laid:
        sql = f"WITH {', '.join(laid)}" + (f", {sql.removeprefix('WITH ')}" if sql.startswith("WITH ") else f" {sql}")
    try:
        statements = cursor.extract_statements(sql)
    except duckdb.ParserException:
        statements = []
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise InternalError("the desk was given something else than one SELECT")
    return cursor.execute(statements[0], bound).fetchall()


def _bound_rows(table: DeskTable, bound: dict[str, object]) -> str:
    """The rows as a SELECT, each column a list that is `bound`: for few rows faster than filling a table."""
    columns = []
    for index, (column, type_) in enumerate(table.columns):
        parameter = f"desk_{len(bound)}"
        values = [row[index] for row in table.rows]
        bound[parameter] = _floats(values) if type_ is SqlType.DOUBLE else values
        columns.append(f"unnest(CAST(${parameter} AS {_engine_type(type_)}[])) AS {quoted(column)}")
    return f"SELECT {', '.join(columns)}"


def _floats(values: list[object]) -> list[object]:
    """DuckDB would take a Fraction for text."""
    if {*map(type, values)} <= {float, type(None)}:
        return values
    return [float(value) if isinstance(value, Fraction | int) else value for value in values]


def _engine_type(type_: DeskType) -> str:
    return ENGINE_TYPES[type_] if isinstance(type_, SqlType) else type_


def _exactly(*kinds: type) -> Callable[[Sequence[Any]], bool]:
    """Values of these classes and no subclass: a bool is no integer, a datetime no date."""
    allowed = frozenset(kinds)
    return lambda values: allowed.issuperset(map(type, values))


def _integers(bits: int) -> Callable[[Sequence[Any]], bool]:
    whole, limit = _exactly(int), 2 ** (bits - 1)
    return lambda values: whole(values) and (not values or (-limit <= min(values) and max(values) < limit))


_FITS: Final[Mapping[DeskType, Callable[[Sequence[Any]], bool]]] = MappingProxyType(
    {
        SqlType.BOOLEAN: _exactly(bool),
        SqlType.INTEGER: _integers(64),
        "HUGEINT": _integers(128),
        SqlType.DOUBLE: _exactly(float, int, Fraction),
        SqlType.TEXT: _exactly(str),
        SqlType.DATE: _exactly(date),
        SqlType.TIMESTAMP: lambda values: _exactly(datetime)(values) and not any(value.tzinfo for value in values),
    }
)

_opening: Final = threading.Lock()
_opened: Final[dict[int, duckdb.DuckDBPyConnection]] = {}
"""By process: a forked child must not use its parent's connection."""


def _cursor() -> duckdb.DuckDBPyConnection:
    process = os.getpid()
    with _opening:
        if process not in _opened:
            _opened[process] = hardened(":memory:", Limits(memory_limit=MEMORY, threads=1), read_only=False)
        return _opened[process].cursor()


@atexit.register
def _close() -> None:
    with suppress(KeyError):
        _opened.pop(os.getpid()).close()
