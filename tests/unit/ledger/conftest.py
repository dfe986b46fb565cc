"""Ledgers in files, and what somebody with a SQLite shell could do to them."""

import sqlite3
from fractions import Fraction

import pytest

from dpsql.ledger.sqlite import SqliteLedger
from dpsql.testing.ledger_cases import FIRST, SECOND, SMALL, TENTH, asking


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
        ledger = open_(**options)
        ledger.promise(epsilon=Fraction(1), delta=SMALL, delta_prime=SMALL / 2)
        ledger.grant("ana", epsilon=Fraction(1))
        return ledger

    return begin


@pytest.fixture
def full(begun, path):
    """The path of a closed ledger: opened, promise, grant, grant, charge, step, charge, retry, step, charge."""
    ledger = begun()
    ledger.grant("bob", epsilon=TENTH)
    ledger.store(ledger.charge(asking("one")), 0, FIRST)
    ledger.charge(asking("two", steps=2))
    ledger.store(ledger.charge(asking("two", steps=2)), 0, SECOND)
    ledger.charge(asking("three", analyst="bob"))
    ledger.verify()
    ledger.close()
    return path


@pytest.fixture
def raw():
    """Run statements on a file past the ledger; the rows of the last one."""

    def run(path, *statements):
        database = sqlite3.connect(path)
        try:
            for statement in statements:
                rows = database.execute(*((statement,) if isinstance(statement, str) else statement)).fetchall()
            database.commit()
            return rows
        finally:
            database.close()

    return run
