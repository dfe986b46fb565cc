"""A ledger in one SQLite file: one machine, any number of threads and processes.

Every method is one transaction. A write begins with BEGIN IMMEDIATE, so that looking and spending cannot be
separated by another writer, and is on disk when it returns (WAL, synchronous FULL).
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, suppress
from functools import cache
from pathlib import Path
from typing import Final

from dpsql.errors import LedgerBroken
from dpsql.ledger import keyfile
from dpsql.ledger.anchor import DEFAULT
from dpsql.ledger.book import closed
from dpsql.ledger.clock import utc_seconds
from dpsql.ledger.ledger import WHY_UNUSABLE, WHY_UNWRITTEN, Unusable
from dpsql.ledger.schema import Database, Look, Row, tables
from dpsql.ledger.stored import StoredLedger, read_about
from dpsql.ledger.turns import FileTurns

APPLICATION: Final = 0x64707371
"""Marks the file as a ledger of dpsql: "dpsq"."""

TABLES: Final = (
    f"PRAGMA application_id = {APPLICATION}",
    *tables(whole="INTEGER", binary="BLOB"),
    """
    CREATE TRIGGER entries_are_not_changed BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END
    """,
    """
    CREATE TRIGGER entries_are_not_removed BEFORE DELETE ON entries
    BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END
    """,
    """
    CREATE TRIGGER entries_are_numbered BEFORE INSERT ON entries
    WHEN NEW.number <> (SELECT COALESCE(MAX(number), 0) + 1 FROM entries)
    BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END
    """,
)

_LAYOUT: Final = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
_PRAGMAS: Final = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA fullfsync = ON",
    "PRAGMA trusted_schema = OFF",
)

_CACHE_OF_CHECK: Final = "PRAGMA cache_size = -131072"
"""128 MiB: every row is looked for in every index, whose pages would be read again and again."""

_ENDINGS: Final = {
    sqlite3.SQLITE_BUSY: ("the ledger is in use for too long", "try again; look for a process that does not end"),
    sqlite3.SQLITE_FULL: ("the ledger could not be written: its disk is full", "make room on the disk, then ask again"),
    sqlite3.SQLITE_IOERR: (
        "the ledger could not be written or read: its disk is full, or fails",
        "make room on the disk, then ask again; if there is room, look at the disk",
    ),
    sqlite3.SQLITE_READONLY: ("the ledger cannot be written", "give the owner of the process the right to write it"),
    sqlite3.SQLITE_CANTOPEN: ("the ledger cannot be opened", "look at the path and at the rights of its folder"),
}
_OTHERWISE: Final = ("the ledger cannot be read or written", "look at the disk; restore a backup that verifies")
_DAMAGED: Final = (
    sqlite3.SQLITE_ERROR,  # a table or a column is gone
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_MISMATCH,
)
_AT_ONCE: Final = 256
_LONGEST_LOOK: Final = 0.005  # seconds between two tries to begin a transaction; the first ones are shorter
_FAMILY: Final = 0xFF  # SQLite says more in the higher bits


def _family(error: BaseException) -> int:
    """Which kind of failure SQLite reports; 0 where it does not say. Other failures of files are of the path."""
    return (
        getattr(error, "sqlite_errorcode", 0 if isinstance(error, sqlite3.Error) else sqlite3.SQLITE_CANTOPEN) & _FAMILY
    )


def _unusable(error: BaseException) -> LedgerBroken:
    """One constant text for each way a file can fail. Nothing of the transaction was kept."""
    family = _family(error)
    what, fix = _ENDINGS.get(family, _OTHERWISE)
    if family in _DAMAGED:
        return LedgerBroken(what, why=WHY_UNUSABLE, fix=fix)
    return Unusable(what, why=WHY_UNWRITTEN, fix=fix)


def _not_a_ledger() -> LedgerBroken:
    return LedgerBroken(
        "this file is not a ledger of dpsql",
        why="opening it as one would destroy what it is, or trust what nobody wrote",
        fix="name the file the ledger was created in, or one that does not exist yet",
    )


def _file_changed() -> LedgerBroken:
    return LedgerBroken(
        "the ledger does not verify: its file, or what its tables, indexes and triggers are, was changed"
    )


class SqliteDatabase:
    """A connection as the page knows it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(self, sql: str, *values: object) -> None:
        self._connection.execute(sql, values)

    def rows(self, sql: str, *values: object) -> list[Row]:
        return self._connection.execute(sql, values).fetchall()

    def looks(self, *asked: Look) -> list[list[Row]]:
        return [self.rows(sql, *values) for sql, values in asked]

    def stream(self, sql: str) -> Iterator[Row]:
        rows = self._connection.execute(sql)
        try:
            while part := rows.fetchmany(_AT_ONCE):
                yield from part
        finally:
            with suppress(sqlite3.ProgrammingError):  # who stops in the middle may have closed the ledger since
                rows.close()


class SqliteLedger(StoredLedger):
    """The ledger in the file `path`, with its key in `<path>.key`. Both are created where neither exists.

    `wait_ms` is how long a transaction waits for those of other processes, `clock` tells the seconds since 1970,
    `anchors` is the folder of this machine's anchors: $DPSQL_STATE/anchors, or that for states of programs, unless it
    is said; None: no anchor is kept. Threads may share the object; a process made by fork opens its own.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        wait_ms: int = 30_000,
        clock: Callable[[], int] = utc_seconds,
        anchors: str | os.PathLike[str] | None = DEFAULT,
    ) -> None:
        self._path = Path(path).absolute()
        super().__init__(key_path=keyfile.key_path(self._path), wait_ms=wait_ms, clock=clock, anchors=anchors)
        self._queue = FileTurns(self._path)
        self._database: sqlite3.Connection | None = None
        self._version: int | None = None
        self._file = (0, 0)
        self._log: tuple[tuple[int, int], int] | None = None
        """Which file the write-ahead log is, and how long it was after the last transaction. SQLite does not remove it
        while a connection is open, and shortens it only where another process asks for that."""
        self._open()

    def _connected(self) -> sqlite3.Connection:
        keyfile.create_private(self._path)  # SQLite would let others read a file it creates
        self._file = _identity(self._path)
        return sqlite3.connect(
            f"{self._path.as_uri()}?mode=rw",
            uri=True,
            timeout=self._wait_ms / 1000,
            isolation_level=None,
            check_same_thread=False,  # the lock keeps threads apart
        )

    def _identified(self) -> tuple[str, bytes]:
        """Nothing is written to a file that is not a ledger."""
        self._database = database = self._connected()
        if self._is_new():
            self._create(TABLES)
        if database.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
            raise _not_a_ledger()
        ledger, check = read_about(SqliteDatabase(database))
        key = self._key_of(ledger, check)
        self._configure(database)
        return ledger, key

    def _is_new(self) -> bool:
        """True for an empty file: no tables, and no mark of any program."""
        database = self._open_database()
        marked = database.execute("PRAGMA application_id").fetchone() != (0,)
        return not marked and database.execute("SELECT COUNT(*) FROM sqlite_master").fetchone() == (0,)

    def _begin_creating(self) -> Database:
        database = self._open_database()
        os.chmod(self._path, keyfile.PRIVATE)
        database.execute("PRAGMA synchronous = FULL")
        database.execute("BEGIN EXCLUSIVE")
        return SqliteDatabase(database)

    def _open_database(self) -> sqlite3.Connection:
        if self._database is None:
            raise closed()
        return self._database

    def _configure(self, database: sqlite3.Connection) -> None:
        for pragma in _PRAGMAS:
            database.execute(pragma)
        if self._patiently(database, "PRAGMA journal_mode = WAL").fetchone() != ("wal",):
            raise LedgerBroken(
                "the disk of the ledger cannot keep a write-ahead log",
                why="without one, a crash could lose what was spent",
                fix="keep the ledger on a local disk",
            )

    def _patiently(self, database: sqlite3.Connection, sql: str) -> sqlite3.Cursor:
        """Run a statement that waits for other processes. SQLite does not wait by itself for some; for others it sleeps
        up to a tenth of a second at a time."""
        until, look = time.monotonic_ns() + self._wait_ms * 1_000_000, 0.0
        database.execute("PRAGMA busy_timeout = 0")
        try:
            while True:
                try:
                    return database.execute(sql)
                except sqlite3.OperationalError as error:
                    if _family(error) != sqlite3.SQLITE_BUSY or time.monotonic_ns() > until:
                        raise
                look = min(look + 0.0002, _LONGEST_LOOK)
                time.sleep(look)
        finally:
            database.execute(f"PRAGMA busy_timeout = {self._wait_ms}")

    def _check_layout(self) -> None:
        if self._open_database().execute(_LAYOUT).fetchall() != _layout():
            raise _file_changed()

    def _check_store(self) -> None:
        """Also the pages of the file, and that indexes hold what their tables hold."""
        super()._check_store()
        database = self._open_database()
        (usual,) = database.execute("PRAGMA cache_size").fetchone()
        database.execute(_CACHE_OF_CHECK)
        whole = database.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",)
        database.execute(f"PRAGMA cache_size = {usual}")
        if not whole:
            raise _file_changed()

    def _begin(self, *, write: bool) -> Database:
        self._require_same_file()
        if self._log is not None and (self._log_file() or self._log)[1] < self._log[1]:
            self._reconnect()
        database = self._open_database()
        if write:
            self._patiently(database, "BEGIN IMMEDIATE")
        else:
            database.execute("BEGIN")
        return SqliteDatabase(database)

    def _require_same_file(self) -> None:
        """The path still leads to the file that was opened, and its log is there: nobody would find what is charged in
        others."""
        try:
            same = _identity(self._path) == self._file
        except FileNotFoundError:
            same = False
        if self._log is not None:
            log, length = self._log_file() or ((0, 0), 0)
            forgotten = self._anchor is None and length < self._log[1]  # no anchor would notice
            same = same and log == self._log[0] and not forgotten
        if not same:
            raise Unusable(
                "the file of the ledger was removed or replaced while it was open",
                why="what is charged now would stand in a file that no other process finds",
                fix="put the file back, or restore a backup; then open the ledger again",
            )

    def _reconnect(self) -> None:
        """Read anew what is on disk: what this connection remembers may stand there no longer, and the anchor knows."""
        self._open_database().close()
        self._database, self._version, self._log = None, None, None
        self._database = self._connected()
        self._configure(self._database)

    def _is_unchanged(self) -> bool:
        """SQLite counts the changes of others, in whatever process; not those of this connection."""
        before = self._version
        (self._version,) = self._open_database().execute("PRAGMA data_version").fetchone()
        return before == self._version

    def _commit(self) -> None:
        self._open_database().execute("COMMIT")
        self._log = self._log_file()

    def _log_file(self) -> tuple[tuple[int, int], int] | None:
        with suppress(FileNotFoundError):
            found = os.stat(f"{self._path}-wal")
            return (found.st_dev, found.st_ino), found.st_size
        return None

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):
            if self._database is not None and self._database.in_transaction:
                self._database.execute("ROLLBACK")

    def _told(self, error: BaseException) -> LedgerBroken | None:
        return _unusable(error) if isinstance(error, sqlite3.Error) else None

    def _told_opening(self, error: BaseException) -> LedgerBroken | None:
        if _family(error) == sqlite3.SQLITE_NOTADB:
            return _not_a_ledger()
        of_the_path = isinstance(error, (OSError, ValueError))  # the latter: no system has such a path
        return _unusable(error) if of_the_path else self._told(error)

    def process_turn(self, same: bytes) -> AbstractContextManager[None]:
        return self._queue.of(same)

    def _disconnect(self) -> None:
        if self._database is not None:
            self._database.close()
        self._database = None
        self._queue.close()


def _identity(path: Path) -> tuple[int, int]:
    """Which file this is; Unusable where it has a second name."""
    found = os.stat(path)
    if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
        raise Unusable(
            "the file of the ledger has a second name: a hard link",
            why="SQLite keeps the log of a file by its name, so that two names of one file have two logs and damage it",
            fix="remove the other name; to keep a copy, use dpsql ledger backup",
        )
    return found.st_dev, found.st_ino


@cache
def _layout() -> list[Row]:
    """What a ledger of this schema is made of."""
    with closing(sqlite3.connect(":memory:")) as empty:
        for statement in TABLES:
            empty.execute(statement)
        return empty.execute(_LAYOUT).fetchall()
