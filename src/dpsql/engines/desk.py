"""The desk: an in-memory DuckDB for released rows. What happens here is free, because nothing private is in reach."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
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
            raise _misfit("a table of released rows has no columns, or two of the same name")
        if set(map(len, self.rows)) - {width}:
            raise _misfit("a released row has more or fewer values than there are columns")
        for index, (name, type_) in enumerate(self.columns):
            if not _FITS[type_]([value for row in self.rows if (value := row[index]) is not None]):
                raise _misfit(f"a value of column {name} is not of its type")


class Desk:
    """Asks questions of released rows. Making one costs nothing: all desks of a process share one empty database."""

    def query(
        self, sql: str, /, tables: Mapping[str, DeskTable], *, parameters: Mapping[str, Parameter] = NO_PARAMETERS
    ) -> list[tuple[Any, ...]]:
        """The rows of one SELECT over `tables`, which exist during this call only and are seen by it alone.

        Their order means something only if the statement has an ORDER BY.
        """
        trouble: Exception | None = None
        try:
            # Temporary tables belong to a cursor: closing it leaves nothing behind.
            with closing(_cursor()) as cursor:
                for name, table in tables.items():
                    lay_out(cursor, quoted(name), table, kind="TEMP TABLE")
                return _answered(cursor, sql, parameters)
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


def lay_out(cursor: duckdb.DuckDBPyConnection, place: str, table: DeskTable, *, kind: str) -> None:
    """A table at `place`, a name in its quotes, with these rows."""
    columns = ", ".join(f"{quoted(column)} {_engine_type(type_)}" for column, type_ in table.columns)
    cursor.execute(f"CREATE {kind} {place} ({columns})")
    rows: Iterable[tuple[object, ...]] = table.rows
    fractions = [
        index
        for index, (_, type_) in enumerate(table.columns)
        if type_ is SqlType.DOUBLE and {type(row[index]) for row in table.rows} - {float, type(None)}
    ]
    if fractions:
        rows = [_with_floats(row, fractions) for row in rows]
    with cursor.appender(place) as appender:
        appender.append_rows(rows)


def _with_floats(row: tuple[object, ...], fractions: Sequence[int]) -> tuple[object, ...]:
    """DuckDB would take a Fraction for text."""
    values = list(row)
    for index in fractions:
        if isinstance(values[index], Fraction | int):
            values[index] = float(values[index])  # type: ignore[arg-type]
    return tuple(values)


def _answered(
    cursor: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Parameter]
) -> list[tuple[Any, ...]]:
    statements = cursor.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise _misfit("the desk was given something else than one SELECT")
    return cursor.execute(statements[0], dict(parameters)).fetchall()


def _engine_type(type_: DeskType) -> str:
    return ENGINE_TYPES[type_] if isinstance(type_, SqlType) else type_


def _misfit(what: str) -> InternalError:
    return InternalError(
        what,
        why="a value that is converted on the way is no longer the value that was released",
        fix="report this with the SQL text; the answer is stored",
    )


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
