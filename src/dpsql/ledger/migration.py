"""Older ledgers are brought to the tables of this version, inside one transaction of the caller.

The entries stay as they are, with the hashes they have. What is added up from them is checked before, in the way of
the version that wrote it, and again afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dpsql.ledger import chain
from dpsql.ledger.book import require_verified
from dpsql.ledger.encoding import account_to_json, json_bytes
from dpsql.ledger.page import SOURCE, Totals
from dpsql.ledger.replay import replayed, totals_broken
from dpsql.ledger.schema import ACCOUNTS, SCHEMA
from dpsql.ledger.sql_page import SqlPage, account_of
from dpsql.ledger.sql_rows import Database, head_broken
from dpsql.ledger.stored import read_about


def migrate(database: Database, *, key: bytes, clock: Callable[[], int], tables: Sequence[str]) -> None:
    """Step by step to the tables of this version. Another process may have been faster."""
    schema, _, _ = read_about(database)
    for version in range(schema, SCHEMA):
        _STEPS[version](database, key, clock, tables)
        database.run("UPDATE about SET schema = ?", version + 1)


def _cover(database: Database, key: bytes, clock: Callable[[], int], tables: Sequence[str]) -> None:
    """Schema 1 had entries without a time, and only the account of the source was sealed."""
    database.run("ALTER TABLE entries ADD COLUMN time INTEGER")
    before = SqlPage(database, key=key, clock=clock)
    totals = replayed(before.facts())
    _require_as_sealed(database, key=key, totals=totals)
    for name in ("steps", "payments", "accounts", "head"):
        database.run(f"DROP TABLE {name}")
    for name in ("about", "entries"):  # made anew, so that every ledger of this schema is made of the same words
        database.run(f"ALTER TABLE {name} RENAME TO old_{name}")
    for name in ("changed", "removed", "numbered"):
        database.run(f"DROP TRIGGER entries_are_{'' if name == 'numbered' else 'not_'}{name}")
    database.run("DROP INDEX entries_kind")
    for statement in tables:
        database.run(statement)
    for name in ("about", "entries"):
        database.run(f"INSERT INTO {name} SELECT * FROM old_{name} ORDER BY 1")
        database.run(f"DROP TABLE old_{name}")
    SqlPage(database, key=key, clock=clock).cover(totals)
    after = SqlPage(database, key=key, clock=clock)
    after.open_head()
    after.check()
    require_verified(after)


def _require_as_sealed(database: Database, *, key: bytes, totals: Totals) -> None:
    """What the tables of schema 1 hold is what follows from the entries, and the head is sealed as it was then."""
    accounts = {row[0]: account_of(row) for row in database.rows(f"SELECT {ACCOUNTS.listed} FROM accounts")}
    paid = "SELECT number, same, question, steps, attempts FROM payments ORDER BY number"
    payments = [
        (number, payment.same, payment.question, payment.steps, payment.attempts)
        for number, payment in sorted(totals.payments.items())
    ]
    steps = [
        (number, step, entry)
        for number, payment in sorted(totals.payments.items())
        for step, entry in enumerate(payment.stored)
    ]
    told = database.rows("SELECT payment, step, entry FROM steps ORDER BY payment, step")
    if (accounts, database.rows(paid), told) != (totals.accounts, payments, steps):
        raise totals_broken()
    source = totals.accounts.get(SOURCE)
    sums = json_bytes(None if source is None else account_to_json(source))
    found = database.rows(
        "SELECT head.seal, entries.number, entries.hash FROM head JOIN entries ON entries.number = head.number"
        " WHERE head.number = (SELECT MAX(number) FROM entries)"
    )
    if len(found) != 1:
        raise head_broken()
    ((seal, number, last),) = found
    if type(seal) is not bytes or not chain.equal(seal, chain.sealed_1(key, number=number, last=last, totals=sums)):
        raise head_broken()


_STEPS: Final[Mapping[int, Callable[[Database, bytes, Callable[[], int], Sequence[str]], None]]] = {1: _cover}
"""From each older schema to the next."""
