"""SQLAlchemy: `create_engine("dpsql:///dpsql.toml?user=ana")`, for pandas.read_sql, Core and tools that list tables.

dpsql://demo                        the demo hospital
dpsql:///dpsql.toml?user=ana        a policy file of this folder; four slashes: of any folder
dpsql+unix:///run/dpsql/door        the socket of a server; the token is the password, or in DPSQL_TOKEN

Tables and columns are told from the policy, never from rows. There are no transactions: what was told stays told.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from threading import Lock
from typing import Any, Final

from sqlalchemy import event, types
from sqlalchemy.engine import URL, Connection, Engine
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.engine.interfaces import (
    DBAPIConnection,
    DBAPIModule,
    IsolationLevel,
    ReflectedColumn,
    ReflectedForeignKeyConstraint,
    ReflectedIndex,
    ReflectedPrimaryKeyConstraint,
    ReflectedUniqueConstraint,
)
from sqlalchemy.exc import NoSuchTableError
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import BindParameter

from dpsql import Analyst, Client, connect, dbapi
from dpsql.errors import BadParameter

_TYPES: Final[Mapping[str, type[types.TypeEngine[Any]]]] = {
    "boolean": types.Boolean,
    "integer": types.BigInteger,
    "double": types.Double,
    "text": types.Text,
    "date": types.Date,
    "timestamp": types.DateTime,
}
_COLUMNS: Final = "SELECT table_name, column_name, type, is_hidden FROM dp.columns"


def _finite(value: float | Decimal) -> str:
    if not math.isfinite(value):
        raise _no_literal(value)
    return f"({value!r})" if isinstance(value, float) else f"({value})"


_WRITTEN: Final[Mapping[type, Callable[[Any], str]]] = {
    type(None): lambda _: "NULL",
    bool: lambda value: "TRUE" if value else "FALSE",
    int: lambda value: f"({value})" if value < 0 else str(value),
    float: _finite,
    Decimal: _finite,
    str: lambda value: "'" + value.replace("'", "''") + "'",
    date: lambda value: f"DATE '{value.isoformat()}'",
    datetime: lambda value: f"TIMESTAMP '{value.isoformat(sep=' ')}'",
}
"""How a value is written into a question, by its type and nothing else: a subclass may print itself as it likes."""


def _no_literal(value: object) -> BadParameter:
    return BadParameter(
        f"a value of type {type(value).__name__} cannot be written into a question",
        why="a question is its text, so that what was asked can be read in the ledger",
        fix="pass numbers, texts, booleans, dates, timestamps without a zone, or None",
    )


class DpsqlCompiler(SQLCompiler):
    """Writes values into the text: a question is its text, and each value makes another question."""

    def visit_bindparam(self, bindparam: BindParameter[Any], **kw: Any) -> str:  # type: ignore[override]
        written: str = super().visit_bindparam(bindparam, **{**kw, "literal_execute": True})  # type: ignore[no-untyped-call]
        return written

    def render_literal_value(self, value: Any, type_: types.TypeEngine[Any]) -> str:
        if type(value).__module__ == "numpy" and not value.shape:  # a cell of a data frame
            value = value.item()
        write = _WRITTEN.get(type(value))
        if write is None or (isinstance(value, datetime) and value.tzinfo is not None):
            raise _no_literal(value)
        return write(value)


class DpsqlDialect(DefaultDialect):
    """Of a policy beside the data, or of the demo. All connections of an engine ask as one analyst."""

    name = "dpsql"
    driver = "embedded"
    default_paramstyle = "qmark"
    statement_compiler = DpsqlCompiler
    supports_statement_cache = True
    supports_native_boolean = True
    supports_alter = False
    supports_default_values = False

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._analyst: Analyst | Client | None = None
        self._opening = Lock()

    @classmethod
    def import_dbapi(cls) -> DBAPIModule:
        return dbapi  # type: ignore[return-value]

    @classmethod
    def engine_created(cls, engine: Engine) -> None:
        event.listen(engine, "engine_disposed", _dispose)

    def create_connect_args(self, url: URL) -> tuple[list[str], dict[str, Any]]:
        said = dict(url.query)
        user = said.pop("user", url.username)
        target = url.host or url.database
        if said or target is None or (url.host and (url.database or url.host != "demo")) or url.port or url.password:
            raise _bad_url(url)
        return [target], {"user": user}

    def connect(self, *where: Any, **who: Any) -> DBAPIConnection:
        """A session of the one analyst: a policy is opened once, and the demo is one hospital."""
        with self._opening:
            if self._analyst is None:
                self._analyst = connect(*where, **who)
        return dbapi.connect(self._analyst)  # type: ignore[return-value]

    def close(self) -> None:
        """Closes what was opened; the next connection opens it again."""
        with self._opening:
            if self._analyst is not None:
                self._analyst.close()
            self._analyst = None

    def do_begin(self, dbapi_connection: DBAPIConnection) -> None:
        """There is nothing to begin."""

    def do_rollback(self, dbapi_connection: DBAPIConnection) -> None:
        """Pools do this whenever a connection comes back. Nothing is taken back by it: answers stay told, and paid."""

    def do_commit(self, dbapi_connection: DBAPIConnection) -> None:
        """Every answer is durable before it is told."""

    def do_ping(self, dbapi_connection: DBAPIConnection) -> bool:
        dbapi_connection.cursor().execute("SHOW dp.budget")
        return True

    def is_disconnect(self, e: Any, connection: Any, cursor: Any) -> bool:
        return getattr(e, "code", None) == "DP602"

    def get_isolation_level_values(self, dbapi_conn: DBAPIConnection) -> list[IsolationLevel]:
        return ["AUTOCOMMIT"]

    def get_default_isolation_level(self, dbapi_conn: DBAPIConnection) -> IsolationLevel:
        return "AUTOCOMMIT"

    def set_isolation_level(self, dbapi_connection: DBAPIConnection, level: IsolationLevel) -> None:
        """The only one there is."""

    def get_table_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        return [] if schema is not None else list(_declared(connection))

    def has_table(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> bool:
        return table_name in self.get_table_names(connection, schema)

    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedColumn]:
        """What may be selected, grouped or filtered on: hidden columns are not listed."""
        found = {} if schema is not None else _declared(connection)
        if table_name not in found:
            raise NoSuchTableError(table_name)
        return [
            {"name": name, "type": _TYPES.get(type_, types.NullType)(), "nullable": True, "default": None}
            for name, type_ in found[table_name].items()
        ]

    def get_schema_names(self, connection: Connection, **kw: Any) -> list[str]:
        return []

    def get_view_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        return []

    def get_pk_constraint(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> ReflectedPrimaryKeyConstraint:
        """None is told: a key names single rows, and rows are about people."""
        return {"constrained_columns": [], "name": None}

    def get_foreign_keys(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedForeignKeyConstraint]:
        return []

    def get_indexes(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedIndex]:
        return []

    def get_unique_constraints(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedUniqueConstraint]:
        return []


class UnixDialect(DpsqlDialect):
    """Of a server behind a socket: every connection is one of its own."""

    driver = "unix"

    def create_connect_args(self, url: URL) -> tuple[list[str], dict[str, Any]]:
        if url.host or url.username or url.port or not url.database or url.query:
            raise _bad_url(url)
        return [], {"socket": f"/{url.database.lstrip('/')}", "token": url.password}

    def connect(self, *where: Any, **who: Any) -> DBAPIConnection:
        return dbapi.connect(connect(*where, **who))  # type: ignore[return-value]

    def do_close(self, dbapi_connection: DBAPIConnection) -> None:
        connection: Any = dbapi_connection
        client = connection.analyst()
        connection.close()
        client.close()


def _dispose(engine: Engine) -> None:
    if isinstance(engine.dialect, DpsqlDialect):
        engine.dialect.close()


def _declared(connection: Connection) -> dict[str, dict[str, str]]:
    """The columns that may be named, with their types, by table."""
    found: dict[str, dict[str, str]] = {}
    for table, column, type_, is_hidden in connection.exec_driver_sql(_COLUMNS):
        columns = found.setdefault(table, {})
        if not is_hidden:
            columns[column] = type_
    return found


def _bad_url(url: URL) -> BadParameter:
    return BadParameter(
        f"{url.render_as_string()} is nothing to connect to",
        why="a URL of dpsql names the demo, a policy file and who asks, or the socket of a server",
        fix="write dpsql://demo, dpsql:///dpsql.toml?user=ana, or dpsql+unix:///run/dpsql/door",
    )
