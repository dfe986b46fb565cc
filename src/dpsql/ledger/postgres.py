"""A ledger in a PostgreSQL database: several machines share it, each with the key in a file of its own.

The tables and what is done with them are those of the SQLite file. One writer at a time: a write locks the row of the
head before it looks. A commit is on the server's disk when it returns; where the connection is lost before that is
known, nothing is told.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final, LiteralString

from dpsql.errors import LedgerBroken, MissingExtra
from dpsql.ledger.anchor import DEFAULT
from dpsql.ledger.book import closed
from dpsql.ledger.clock import utc_seconds
from dpsql.ledger.ledger import WHY_UNUSABLE, WHY_UNWRITTEN, Unusable
from dpsql.ledger.schema import Database, Look, Row, tables
from dpsql.ledger.stored import StoredLedger, read_about

if TYPE_CHECKING:
    import psycopg

_CREATING: Final = 0x64707371
"""The advisory lock under which tables are made."""
_AT_ONCE: Final = 256
_TICK: Final = 0.05  # seconds between two looks for somebody else's turn

_WRITING: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"
"""Whatever the server begins with by itself: who waits for the head must then see what the one before has written."""
_WRITING_ALONE: Final = (_WRITING, "SELECT one FROM head FOR UPDATE")
_READING: Final = ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",)

_TRIGGERS: Final = ("entries_are_not_changed", "entries_are_numbered", "entries_are_not_emptied")
_TABLES: Final = (
    *tables(whole="BIGINT", binary="BYTEA"),
    """
    CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'entries are append-only'; END $$
    """,
    """
    CREATE FUNCTION refuse_gap() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN
        IF NEW.number <> (SELECT COALESCE(MAX(number), 0) + 1 FROM entries) THEN
            RAISE EXCEPTION 'entries are append-only';
        END IF;
        RETURN NEW;
    END $$
    """,
    """
    CREATE TRIGGER entries_are_not_changed BEFORE UPDATE OR DELETE ON entries
    FOR EACH ROW EXECUTE FUNCTION refuse_change()
    """,
    """
    CREATE TRIGGER entries_are_numbered BEFORE INSERT ON entries
    FOR EACH ROW EXECUTE FUNCTION refuse_gap()
    """,
    """
    CREATE TRIGGER entries_are_not_emptied BEFORE TRUNCATE ON entries
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()
    """,
)
_AT_ONCE_REFUSED: Final = ("somebody else has written the ledger at the same moment", "ask again: nothing was kept")
_ENDINGS: Final = {
    "40001": _AT_ONCE_REFUSED,
    "40P01": _AT_ONCE_REFUSED,
    "55P03": ("the ledger is in use for too long", "try again; look for a process that does not end"),
    "53100": ("the ledger could not be written: its disk is full", "make room on the disk, then ask again"),
    "25006": ("the ledger cannot be written: this server only reads", "connect to the server that is written"),
    "42501": ("the ledger cannot be written", "give the role of the connection the right to read and write its tables"),
}
_LOST: Final = ("the database of the ledger cannot be reached", "look at the server and the network, then ask again")
_DAMAGED: Final = ("22", "23", "42P", "427", "P0", "XX")
"""Classes of failures that a whole ledger does not have: rows that do not fit, tables that are not there."""
_OTHERWISE: Final = ("the ledger cannot be read or written", "look at the server; restore a backup that verifies")


class PostgresDatabase:
    """A connection as the page knows it. Every way to the server and back costs time in which nobody else writes, so
    that changes wait for the next look, or for the commit, and go along with it."""

    _names = count()

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection
        self._waiting: list[Look] = []

    def run(self, sql: str, *values: object) -> None:
        self._waiting.append((sql, values))

    def rows(self, sql: str, *values: object) -> list[Row]:
        return self.looks((sql, values))[0]

    def looks(self, *asked: Look) -> list[list[Row]]:
        return [found.fetchall() for found in self._sent(*asked)]

    def stream(self, sql: str) -> Iterator[Row]:
        name = f"dpsql_{next(self._names)}"  # it ends with its transaction
        self.run(f"DECLARE {name} NO SCROLL CURSOR FOR {sql}")
        while part := self.rows(f"FETCH {_AT_ONCE} FROM {name}"):
            yield from part

    def commit(self) -> None:
        (ended,) = self._sent(("COMMIT", ()))
        if ended.statusmessage != "COMMIT":  # a server rolls back what has failed, and says so here
            raise Unusable(_OTHERWISE[0], why=WHY_UNWRITTEN, fix=_OTHERWISE[1])

    def _sent(self, *asked: Look) -> list[psycopg.Cursor[Row]]:
        """What the server says to these, once it has done what was waiting. After a failure it does nothing of the
        rest, the commit included."""
        statements, self._waiting = [*self._waiting, *asked], []
        with self._connection.pipeline() if len(statements) > 1 else nullcontext():
            said = [self._connection.execute(_written(sql), values) for sql, values in statements]
        return said[-len(asked) :]


@lru_cache(maxsize=256)
def _written(sql: str) -> bytes:
    """With the mark for a value that the driver knows."""
    return sql.replace("?", "%s").encode()


class PostgresLedger(StoredLedger):
    """The ledger in the first schema of the search path at `url`, created where there is none.

    `key` is the path of its key on this machine: created with the ledger, copied to other machines by hand. `wait_ms`,
    `clock` and `anchors` are as in a SQLite file. Threads may share the object; a process made by fork opens its own.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | os.PathLike[str],
        wait_ms: int = 30_000,
        clock: Callable[[], int] = utc_seconds,
        anchors: str | os.PathLike[str] | None = DEFAULT,
    ) -> None:
        super().__init__(key_path=Path(key).absolute(), wait_ms=wait_ms, clock=clock, anchors=anchors)
        self._url = url
        self._connection: psycopg.Connection[Row] | None = None
        self._database: PostgresDatabase | None = None
        self._open()

    def _connected(self) -> psycopg.Connection[Row]:
        """A connection that loses nothing it has committed."""
        try:
            import psycopg
        except ImportError:
            raise MissingExtra(
                "a ledger in PostgreSQL needs the driver psycopg",
                why="it is imported only where such a ledger is opened",
                fix="pip install 'psycopg[binary]'",
            ) from None
        connection: psycopg.Connection[Row] = psycopg.connect(self._url, autocommit=True)
        try:
            connection.execute("SET synchronous_commit = on")
            connection.execute(f"SET lock_timeout = {max(1, self._wait_ms)}".encode())  # 0 would wait for ever
            if connection.execute("SHOW fsync").fetchall() != [("on",)]:
                raise Unusable(
                    "the server of the ledger does not write to its disk what it has committed",
                    why="a crash could lose what was spent",
                    fix="set fsync = on in its configuration",
                )
        except BaseException:
            connection.close()
            raise
        return connection

    def _identified(self) -> tuple[str, bytes]:
        self._connection = self._connected()
        if self._is_new():
            self._create(_TABLES)
        ledger, check = read_about(PostgresDatabase(self._connection))
        return ledger, self._key_of(ledger, check)

    def _is_new(self) -> bool:
        """True where the schema holds no ledger, as the last commit left it."""
        found = self._open_connection().execute(
            "SELECT COUNT(*) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace"
            " WHERE relname = 'about' AND nspname = current_schema()"
        )
        return found.fetchall() == [(0,)]

    def _begin_creating(self) -> Database:
        connection = self._open_connection()
        connection.execute(_WRITING)
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_CREATING,))
        self._database = PostgresDatabase(connection)
        return self._database

    def _check_layout(self) -> None:
        """Only that what keeps entries append-only is there and switched on. Its files are the server's matter."""
        found = PostgresDatabase(self._open_connection()).rows(
            "SELECT tgname FROM pg_trigger WHERE tgrelid = 'entries'::regclass AND NOT tgisinternal AND tgenabled = 'O'"
        )
        if {name for (name,) in found} != set(_TRIGGERS):
            raise LedgerBroken("the ledger does not verify: what keeps its entries from being changed is gone")

    def _open_connection(self) -> psycopg.Connection[Row]:
        if self._connection is None:
            raise closed()
        return self._connection

    def _begin(self, *, write: bool) -> Database:
        if self._open_connection().closed:  # lost by an earlier transaction
            self._connection = self._connected()
        self._database = PostgresDatabase(self._open_connection())
        for statement in _WRITING_ALONE if write else _READING:
            self._database.run(statement)
        return self._database

    def _commit(self) -> None:
        if self._database is None:
            raise closed()
        self._database.commit()

    def _roll_back(self) -> None:
        if self._connection is not None and not self._connection.closed:
            with suppress(Exception):  # a lost connection has rolled back by itself
                self._connection.execute("ROLLBACK")

    def _told(self, error: BaseException) -> LedgerBroken | None:
        """One constant text for each way a server can fail: its own words may hold values."""
        if not _is_of_the_driver(error):
            return None
        code = getattr(error, "sqlstate", None)
        if code is None:
            return Unusable(_LOST[0], why=WHY_UNWRITTEN, fix=_LOST[1])
        what, fix = _ENDINGS.get(code, _OTHERWISE)
        if code not in _ENDINGS and code.startswith(_DAMAGED):
            return LedgerBroken(what, why=WHY_UNUSABLE, fix=fix)
        return Unusable(what, why=WHY_UNWRITTEN, fix=fix)

    @contextmanager
    def process_turn(self, same: bytes) -> Iterator[None]:
        """By a lock of the session, on whatever machine; the server forgets it with the session."""
        place = int.from_bytes(same[:8], "big", signed=True)
        while not self._answered("SELECT pg_try_advisory_lock(%s)", place):
            time.sleep(_TICK)
        try:
            yield
        finally:
            self._answered("SELECT pg_advisory_unlock(%s)", place)

    def _answered(self, sql: LiteralString, place: int) -> bool:
        """What the server says; True where it cannot be asked, and nobody waits."""
        with self._lock:
            if self._connection is None:
                return True
            try:
                return self._connection.execute(sql, (place,)).fetchall() == [(True,)]
            except Exception as error:
                if _is_of_the_driver(error):
                    return True
                raise

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _is_of_the_driver(error: BaseException) -> bool:
    """Whether the driver raised it; without importing the driver."""
    return type(error).__module__.partition(".")[0] == "psycopg"
