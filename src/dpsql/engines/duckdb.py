"""DuckDB, embedded: a database file opened read-only, or tables copied into memory."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar, cast, final

import duckdb

from dpsql.catalog.column_types import NOTHING_DECLARED, ColumnDeclarations, Decided
from dpsql.catalog.model import EngineTable, Parameter
from dpsql.catalog.spelling import quoted
from dpsql.catalog.views import Views
from dpsql.engines.desk import DeskTable, lay_out
from dpsql.engines.duckdb_schema import INTEGERS, Ask, is_table, read_constraints, read_schema, redefined
from dpsql.engines.duckdb_sources import copy_table, opened_source, primary_key, unreadable
from dpsql.engines.duckdb_views import read_views
from dpsql.engines.engine import (
    DUCKDB,
    MOST_EXACT_BYTES,
    NO_LIMITS,
    NO_PARAMETERS,
    Capabilities,
    Constraints,
    Limits,
    OnFailure,
    Rows,
    engine_failed,
    too_large,
)
from dpsql.engines.hardening import hardened
from dpsql.errors import DpsqlError, InternalError
from dpsql.privacy.exact import Exact
from dpsql.require import require_positive

T = TypeVar("T")

KEYS_AND_INTEGERS: Final = frozenset(
    {*INTEGERS, "UBIGINT", "HUGEINT", "UHUGEINT", "VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP", '"NULL"'}
)
"""The types a statement on private rows may give. Known before its first row is."""

_TICK: Final = 0.1  # seconds: how often a signal is looked for, and an interrupt repeated
_CLOSING: Final = 10.0  # seconds for running statements to notice
_PIECE: Final = 1024  # rows of an exact answer that are read at once
_PLAIN_BYTES: Final = 8  # of a value that is no text


@dataclass(frozen=True, slots=True)
class _Trouble:
    """What went wrong, by the name of the exception's class and no more. It takes the place of a result."""

    kind: str
    ours: DpsqlError | None = None


class _Closed(Exception):
    pass


class _NotOneSelect(Exception):
    pass


class _NotExact(Exception):
    pass


@final
class DuckdbEngine:
    """Runs text on one DuckDB, hardened from its first moment; a cursor and a read-only transaction per statement."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        /,
        *,
        timeout: float | None,
        on_failure: OnFailure | None,
        file: bool,
    ) -> None:
        """Use `of_file` or `in_memory`."""
        if timeout is not None:
            require_positive(timeout=timeout)
        self._connection, self._timeout, self._on_failure, self._file = connection, timeout, on_failure, file
        self._lock = threading.Lock()
        self._live: set[duckdb.DuckDBPyConnection] = set()
        self._closed = False
        self._reading = threading.Lock()
        self._schema: Mapping[str, EngineTable] | None = None

    @classmethod
    def of_file(
        cls,
        path: str | os.PathLike[str],
        limits: Limits = NO_LIMITS,
        /,
        *,
        on_failure: OnFailure | None = None,
    ) -> DuckdbEngine:
        """A database file, opened read-only."""
        if not Path(path).is_file():
            raise unreadable(
                f"there is no file {os.fspath(path)}",
                fix="check the path; in a policy, a relative one is seen from the folder of the policy",
            )
        connection = hardened(os.fspath(path), limits, read_only=True)
        engine = cls(connection, timeout=limits.timeout, on_failure=on_failure, file=True)
        replaced = engine._guarded(lambda cursor: redefined(_ask(cursor)))
        if replaced:
            engine.close()
            raise unreadable(
                f"the database replaces built-in functions by its own: {', '.join(replaced)}",
                fix="drop these macros or give them other names; a sum must be a sum",
            )
        return engine

    @classmethod
    def in_memory(cls, limits: Limits = NO_LIMITS, /, *, on_failure: OnFailure | None = None) -> DuckdbEngine:
        """An empty database; `add` copies tables into it."""
        connection = hardened(":memory:", limits, read_only=False)
        return cls(connection, timeout=limits.timeout, on_failure=on_failure, file=False)

    @classmethod
    def of_address(cls, address: str, limits: Limits, /, *, on_failure: OnFailure | None = None) -> DuckdbEngine:
        """The engine at `memory:`, `duckdb:///absolute/path` or `duckdb://relative/path`; paths as they are written."""
        if address == "memory:":
            return cls.in_memory(limits, on_failure=on_failure)
        return cls.of_file(address.removeprefix("duckdb://"), limits, on_failure=on_failure)

    @property
    def capabilities(self) -> Capabilities:
        return DUCKDB

    def schema(self) -> Mapping[str, EngineTable]:
        """Every table by its name, from the catalogue alone."""
        with self._reading:
            if self._schema is None:
                self._schema = MappingProxyType(self._guarded(lambda cursor: read_schema(_ask(cursor))))
            return self._schema

    def views(self) -> Views:
        """Every view and table with generated columns by its name, with what it reads; no row is read."""
        with self._reading:
            return self._guarded(lambda cursor: read_views(_ask(cursor)))

    def constraints(self) -> Mapping[str, Constraints]:
        """Keys, references, checks, listed values and comments, from the catalogue alone."""
        with self._reading:
            return self._guarded(lambda cursor: read_constraints(_ask(cursor)))

    def run(self, sql: str, /, *, parameters: Mapping[str, Parameter]) -> Exact[Rows]:
        """The rows of one SELECT on private tables, wrapped: keys and integers only."""
        return Exact(self._guarded(lambda cursor: _fetched(cursor, sql, parameters, KEYS_AND_INTEGERS), limited=True))

    def run_public(self, sql: str, /, *, parameters: Mapping[str, Parameter] = NO_PARAMETERS) -> Rows:
        """The rows of one SELECT that reads public tables only; here a value may also be a float."""
        return self._guarded(lambda cursor: _fetched_public(cursor, sql, parameters), limited=True)

    def interrupt(self) -> None:
        """Stops every statement that is running; each ends as EngineFailed."""
        with self._lock:
            running = tuple(self._live)
        for cursor in running:
            _stop(cursor)

    def close(self) -> None:
        """Stops what is running and closes the database. Every later statement fails."""
        limit = time.monotonic() + _CLOSING
        with self._lock:
            self._closed = True
        while self._live and time.monotonic() < limit:  # DuckDB refuses to close under a running statement
            self.interrupt()
            time.sleep(_TICK)
        with suppress(duckdb.Error):
            self._connection.close()

    def add(
        self, name: str, source: object, /, declared: ColumnDeclarations = NOTHING_DECLARED
    ) -> Mapping[str, Decided]:
        """Copies a table under `name`, and returns the type of each column: what happens to `source` afterwards changes
        nothing.

        `source` is the path of a Parquet, CSV or JSON lines file, a table of pandas, polars or Arrow, a
        DuckDB relation, or a DuckDB connection that holds a table called `name`.
        `catalog.column_types` decides the types; a value that does not fit its type becomes NULL.
        """
        self._require_free(name)
        found = self._attempt(lambda cursor: _add(cursor, name, source, declared), None)
        with self._reading:
            self._schema = None
        if not isinstance(found, _Trouble):
            return found
        if found.ours is not None:
            raise found.ours
        if found.kind == KeyboardInterrupt.__name__:
            raise KeyboardInterrupt
        raise unreadable(
            f"the source of table {name} cannot be copied",
            fix="check that it can be read, that every line has as many fields as the first, and that it fits"
            " memory_limit",
        )

    def add_rows(self, name: str, table: DeskTable, /) -> None:
        """Puts rows under `name`, or `schema.name`, that nobody has to read from anywhere."""
        if self._file:
            raise InternalError("rows would be written into a file")
        self._guarded(lambda cursor: _laid_out(cursor, name, table))
        with self._reading:
            self._schema = None

    def remove(self, name: str, /) -> None:
        """Drops a table that was added."""
        self._guarded(lambda cursor: cursor.execute(f"DROP TABLE IF EXISTS memory.main.{quoted(name)}").fetchall())
        with self._reading:
            self._schema = None

    def _require_free(self, name: str) -> None:
        if self._file:
            raise unreadable(
                "tables cannot be added to a database file",
                fix='declare tables of the file as [table.NAME] in the policy; others go into dpsql.open(":memory:")',
            )
        if not isinstance(name, str) or not name or "." in name:
            raise unreadable(f"{name!r} is no name of a table", fix="use a text without points")
        if self._guarded(lambda cursor: is_table(_ask(cursor), name)):
            raise unreadable(f"there is a table {name} already", fix="choose another name")

    def _guarded(self, work: Callable[[duckdb.DuckDBPyConnection], T], *, limited: bool = False) -> T:
        """What `work` gives; or the one error, raised where nothing of the original is in reach."""
        result = self._attempt(work, self._timeout if limited else None)
        if not isinstance(result, _Trouble):
            return result
        if result.ours is not None:
            raise result.ours
        if result.kind == KeyboardInterrupt.__name__:
            raise KeyboardInterrupt
        if result.kind == _NotExact.__name__:
            raise InternalError("a statement on private rows gives something that is neither an integer nor a key")
        error = engine_failed()
        if self._on_failure is not None:
            with suppress(Exception):  # a log that fails must not replace the one error by another
                self._on_failure(error.trace_id, result.kind)
        raise error

    def _attempt(self, work: Callable[[duckdb.DuckDBPyConnection], T], seconds: float | None) -> T | _Trouble:
        """What `work` gives within `seconds`; trouble otherwise.

        The work is done by a thread of its own, because a thread inside DuckDB hears neither Ctrl-C nor the clock.
        """
        results: list[T | _Trouble] = []
        done, pressed = threading.Event(), False
        limit = math.inf if seconds is None else time.monotonic() + seconds
        try:
            with self._cursor() as cursor:
                threading.Thread(target=_work, args=(work, cursor, results, done), daemon=True).start()
                while not done.is_set():
                    try:
                        done.wait(max(0.0, min(limit - time.monotonic(), _TICK)))
                    except KeyboardInterrupt:
                        pressed = True
                    if pressed or time.monotonic() >= limit:
                        # An interrupt that comes before the statement starts is lost, so it is repeated.
                        _stop(cursor)
                        limit = time.monotonic() + _TICK
        except Exception as error:  # whatever it is: another error than the one could tell about rows
            return _Trouble(type(error).__name__)
        return _Trouble(KeyboardInterrupt.__name__) if pressed else results[0]

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor of its own, known to `interrupt` while it lives."""
        with self._lock:
            if self._closed:
                raise _Closed
            cursor = self._connection.cursor()
            self._live.add(cursor)
        try:
            yield cursor
        except BaseException:
            _stop(cursor)
            raise
        finally:
            with self._lock:
                self._live.discard(cursor)
            with suppress(duckdb.Error):
                cursor.close()


def _add(
    cursor: duckdb.DuckDBPyConnection, name: str, source: object, declared: ColumnDeclarations
) -> Mapping[str, Decided]:
    with opened_source(name, source, declared) as opened:
        return copy_table(cursor, name, opened, declared, key=primary_key(source, name))


def _laid_out(cursor: duckdb.DuckDBPyConnection, name: str, table: DeskTable) -> None:
    parts = [quoted(part) for part in name.split(".")]
    if len(parts) > 1:
        cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {parts[0]}")
    lay_out(cursor, ".".join(parts), table)


def _ask(cursor: duckdb.DuckDBPyConnection) -> Ask:
    return lambda sql: cursor.execute(sql).fetchall()


def _fetched(
    cursor: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Parameter], allowed: frozenset[str]
) -> Rows:
    """The rows of one SELECT whose columns have the `allowed` types."""
    _execute(cursor, sql, parameters)
    if not allowed.issuperset(str(column[1]) for column in cursor.description):
        raise _NotExact
    return cast(Rows, cursor.fetchall())


def _fetched_public(cursor: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Parameter]) -> Rows:
    """The rows of one SELECT, read in pieces: DuckDB computes ahead of them by a small buffer only."""
    _execute(cursor, sql, parameters)
    rows: Rows = []
    size = 0
    while piece := cursor.fetchmany(_PIECE):
        size += sum(len(cell.encode()) if isinstance(cell, str) else _PLAIN_BYTES for row in piece for cell in row)
        if size > MOST_EXACT_BYTES:
            raise too_large(f"more than {MOST_EXACT_BYTES // 10**6} MB of values")
        rows += piece
    return rows


def _execute(cursor: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Parameter]) -> None:
    """Starts one SELECT, inside a transaction that cannot write."""
    statements = cursor.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise _NotOneSelect
    cursor.execute("BEGIN TRANSACTION READ ONLY")
    cursor.execute(statements[0], dict(parameters))


def _work(
    work: Callable[[duckdb.DuckDBPyConnection], T],
    cursor: duckdb.DuckDBPyConnection,
    results: list[T | _Trouble],
    done: threading.Event,
) -> None:
    try:
        results.append(work(cursor))
    except DpsqlError as error:  # our own words about a source, before any question
        results.append(_Trouble(type(error).__name__, error))
    except BaseException as error:  # a thread that ends without a result would be waited for for ever
        results.append(_Trouble(type(error).__name__))
    finally:
        done.set()


def _stop(cursor: duckdb.DuckDBPyConnection) -> None:
    with suppress(duckdb.Error):  # closed in the meantime
        cursor.interrupt()
