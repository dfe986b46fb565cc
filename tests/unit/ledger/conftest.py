"""Ledgers in files, and what somebody with a SQLite shell could do to them."""

import shutil
import sqlite3
from fractions import Fraction

import psycopg
import pytest

from dpsql.ledger.postgres import PostgresLedger
from dpsql.ledger.sqlite import SqliteLedger
from dpsql.privacy.window import Window
from tests.kits.ledger_cases import FIRST, SECOND, TENTH, asking, promised


@pytest.fixture(autouse=True)
def state(tmp_path_factory, monkeypatch):
    """Every test has a machine of its own: its folder of anchors."""
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("DPSQL_STATE", str(folder))
    return folder


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


@pytest.fixture
def open_(path):
    """Open the ledger at `path`; all of them are closed afterwards."""
    opened = []

    def open_ledger(**options):
        opened.append(SqliteLedger(path, **options))
        return opened[-1]

    yield open_ledger
    for ledger in opened:
        ledger.close()


@pytest.fixture
def begun(open_):
    """A ledger with a promise, and a grant for ana."""

    def begin(**options):
        ledger = promised(open_(**options))
        ledger.grant("ana", epsilon=Fraction(1))
        return ledger

    return begin


def fill(ledger):
    """Opened, promise, owners, grant, grant, charge, step, charge, retry, step, charge."""
    promised(ledger, per=Window.MONTH)
    ledger.grant("ana", epsilon=Fraction(1))
    ledger.grant("bob", epsilon=TENTH)
    ledger.store(ledger.charge(asking("one")), 0, FIRST)
    ledger.charge(asking("two", steps=2))
    ledger.store(ledger.charge(asking("two", steps=2)), 0, SECOND)
    ledger.charge(asking("three", analyst="bob"))
    ledger.verify()
    ledger.close()


@pytest.fixture
def full(open_, path):
    """The path of a closed ledger with an entry of every kind of spending."""
    fill(open_())
    return path


def run_raw(path, *statements):
    """Run statements on a file past the ledger; the rows of the last one."""
    database = sqlite3.connect(path)
    try:
        for statement in statements:
            rows = database.execute(*((statement,) if isinstance(statement, str) else statement)).fetchall()
        database.commit()
        return rows
    finally:
        database.close()


@pytest.fixture
def raw():
    return run_raw


TABLES = ("about", "entries", "head")


class Store:
    """A place for a ledger, past the ledger."""

    def backup(self):
        """All rows of the ledger."""
        return {table: self.raw(f"SELECT * FROM {table}") for table in TABLES}

    def restore(self, backup):
        """Put all rows back."""
        statements = [f"DELETE FROM {table}" for table in reversed(TABLES)]
        for table, rows in backup.items():
            statements += [(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row) for row in rows]
        self.unlocked(*statements)


class SqliteStore(Store):
    """A ledger in a file, and the file past the ledger."""

    errors = sqlite3.IntegrityError

    def __init__(self, folder):
        self.path = folder / "ledger.db"

    def open(self, **options):
        return SqliteLedger(self.path, **options)

    def raw(self, *statements):
        return run_raw(self.path, *statements)

    def unlocked(self, *statements):
        """As `raw`, by somebody who may also change what is append-only."""
        found = self.raw("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        return self.raw(*(f"DROP TRIGGER {name}" for name, _ in found), *statements, *(sql for _, sql in found))


class PostgresStore(Store):
    """A ledger in a schema of a server, and its tables past the ledger."""

    errors = psycopg.errors.RaiseException

    def __init__(self, server, folder):
        self.url = server.room()
        self.key = folder / "ledger.key"

    def open(self, **options):
        return PostgresLedger(self.url, key=self.key, **options)

    def raw(self, *statements):
        with psycopg.connect(self.url) as connection:
            for statement in statements:
                sql, values = (statement, ()) if isinstance(statement, str) else statement
                found = connection.execute(sql.replace("?", "%s"), values)
            return found.fetchall() if found.description else []

    def unlocked(self, *statements):
        """As `raw`, by somebody who may also change what is append-only."""
        return self.raw("SET session_replication_role = replica", *statements)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request, tmp_path):
    """A place for a ledger in each kind of database."""
    if request.param == "sqlite":
        return SqliteStore(tmp_path)
    return PostgresStore(request.getfixturevalue("postgres"), tmp_path)


@pytest.fixture(scope="session")
def filled_file(tmp_path_factory):
    """A ledger with an entry of every kind of spending, to be copied."""
    made = SqliteStore(tmp_path_factory.mktemp("filled"))
    fill(made.open(anchors=None))
    return made


@pytest.fixture(scope="session")
def filled_room(tmp_path_factory, postgres):
    """The same in a server, and its rows, to be put back."""
    made = PostgresStore(postgres, tmp_path_factory.mktemp("filled"))
    fill(made.open(anchors=None))
    return made, made.backup()


@pytest.fixture
def filled(store, request):
    """The place of a closed ledger with an entry of every kind of spending, which this machine has not seen."""
    if isinstance(store, SqliteStore):
        made = request.getfixturevalue("filled_file")
        for ending in ("", ".key"):
            shutil.copy(f"{made.path}{ending}", f"{store.path}{ending}")
        return store
    made, rows = request.getfixturevalue("filled_room")
    made.restore(rows)
    return made
