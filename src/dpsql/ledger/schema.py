"""The tables of a ledger in a database, in the words both SQLite and PostgreSQL read.

`entries` is the ledger. The others are added up from it, and covered: every row shows that it was written, and the head
seals the sum of all rows that exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final

SCHEMA: Final = 2
"""The version of the tables and of the hashes over them. A ledger with a higher one was written by a later dpsql."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideTable:
    """A table added up from the entries, every row covered."""

    name: str
    types: frozenset[tuple[type, ...]]
    """Those the values of a row may have, the proof included."""
    listed: str
    """Its columns."""
    read: str
    """Reads its rows, with their proofs."""
    matched: str
    """The condition that finds one row."""
    kept: str
    """Writes a row, in place of the one of the same keys."""


def _side_table(name: str, *, keys: int, columns: Mapping[str, tuple[type, ...]]) -> SideTable:
    """`keys` of the columns, the first ones, tell the rows apart."""
    names = list(columns)
    listed = ", ".join(names)
    new = ", ".join(f"{column} = excluded.{column}" for column in (*names[keys:], "mac"))
    return SideTable(
        name=name,
        types=frozenset(product(*columns.values(), (bytes,))),
        listed=listed,
        read=f"SELECT {listed}, mac FROM {name}",
        matched=" AND ".join(f"{column} = ?" for column in names[:keys]),
        kept=f"INSERT INTO {name} ({listed}, mac) VALUES ({', '.join('?' * (len(names) + 1))})"
        f" ON CONFLICT ({', '.join(names[:keys])}) DO UPDATE SET {new}",
    )


_TEXT: Final = (str,)
_MAYBE: Final = (str, type(None))
_WHOLE: Final = (int,)
_BYTES: Final = (bytes,)

ACCOUNTS: Final = _side_table(
    "accounts",
    keys=1,
    columns={
        "holder": _TEXT,
        "epsilon": _TEXT,
        "delta": _TEXT,
        "delta_prime": _TEXT,
        "rho": _TEXT,
        "granted_from": _MAYBE,
        "spent_epsilon": _MAYBE,
        "spent_delta": _TEXT,
        "spent_rho": _MAYBE,
    },
)
PAYMENTS: Final = _side_table(
    "payments",
    keys=1,
    columns={
        "number": _WHOLE,
        "analyst": _TEXT,
        "same": _BYTES,
        "question": _BYTES,
        "steps": _WHOLE,
        "attempts": _WHOLE,
        "stored": _WHOLE,
    },
)
STEPS: Final = _side_table("steps", keys=2, columns={"payment": _WHOLE, "step": _WHOLE, "entry": _WHOLE})
LATEST: Final = _side_table("latest", keys=1, columns={"what": _TEXT, "entry": _WHOLE})
SIDE_TABLES: Final = (ACCOUNTS, PAYMENTS, STEPS, LATEST)


def tables(*, whole: str, binary: str) -> tuple[str, ...]:
    """The statements that make all tables of a new ledger."""
    return (
        f"""
        CREATE TABLE about (
            one {whole} PRIMARY KEY CHECK (one = 1),
            schema {whole} NOT NULL,
            id TEXT NOT NULL,
            key_check {binary} NOT NULL
        )
        """,
        f"""
        CREATE TABLE entries (
            number {whole} PRIMARY KEY,
            kind TEXT NOT NULL,
            payload {binary} NOT NULL,
            hash {binary} NOT NULL,
            time {whole}
        )
        """,
        "CREATE INDEX entries_kind ON entries (kind, number)",
        f"""
        CREATE TABLE head (
            one {whole} PRIMARY KEY CHECK (one = 1),
            number {whole} NOT NULL REFERENCES entries (number),
            total {binary} NOT NULL,
            seal {binary} NOT NULL
        )
        """,
        f"""
        CREATE TABLE accounts (
            holder TEXT PRIMARY KEY,
            epsilon TEXT NOT NULL,
            delta TEXT NOT NULL,
            delta_prime TEXT NOT NULL,
            rho TEXT NOT NULL,
            granted_from TEXT,
            spent_epsilon TEXT,
            spent_delta TEXT NOT NULL,
            spent_rho TEXT,
            mac {binary} NOT NULL
        )
        """,
        f"""
        CREATE TABLE payments (
            number {whole} PRIMARY KEY REFERENCES entries (number),
            analyst TEXT NOT NULL,
            same {binary} NOT NULL,
            question {binary} NOT NULL,
            steps {whole} NOT NULL,
            attempts {whole} NOT NULL CHECK (attempts BETWEEN 1 AND 3),
            stored {whole} NOT NULL,
            mac {binary} NOT NULL
        )
        """,
        f"""
        CREATE TABLE steps (
            payment {whole} NOT NULL REFERENCES payments (number),
            step {whole} NOT NULL,
            entry {whole} NOT NULL UNIQUE REFERENCES entries (number),
            mac {binary} NOT NULL,
            PRIMARY KEY (payment, step)
        )
        """,
        f"""
        CREATE TABLE latest (
            what TEXT PRIMARY KEY,
            entry {whole} NOT NULL REFERENCES entries (number),
            mac {binary} NOT NULL
        )
        """,
        f"""
        CREATE TABLE hidden (
            payment {whole} NOT NULL REFERENCES payments (number),
            step {whole} NOT NULL,
            content {binary} NOT NULL,
            PRIMARY KEY (payment, step)
        )
        """,
        "CREATE INDEX payments_same ON payments (same)",
        "CREATE INDEX payments_question ON payments (question)",
        "CREATE INDEX payments_analyst ON payments (analyst, number)",
    )
