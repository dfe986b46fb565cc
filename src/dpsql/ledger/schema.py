"""The tables of a ledger in a database, in words that both SQLite and PostgreSQL read.

`entries` is the ledger. `head` holds its last number, the snapshot of what was derived from it, and the seal over both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol

Row = tuple[Any, ...]
Look = tuple[str, tuple[object, ...]]
"""A statement that reads, and its values."""


class Database(Protocol):
    """One connection inside one transaction. `?` stands for a value."""

    def run(self, sql: str, *values: object) -> None:
        """Change something: at once, or before anything is read again or committed."""
        ...

    def rows(self, sql: str, *values: object) -> list[Row]: ...

    def looks(self, *asked: Look) -> list[list[Row]]:
        """The rows of each statement, in one round trip."""
        ...

    def stream(self, sql: str) -> Iterator[Row]:
        """The rows, never all of them in memory."""
        ...


def among(values: Sequence[object]) -> str:
    """The list of an IN for so many values."""
    return f"({', '.join('?' * len(values))})"


SCHEMA: Final = 1
"""The version of the tables, of the entries and of the hashes over them. No other one is read."""

NEITHER_CHARGE_NOR_STEP: Final = "same IS NULL AND receipt IS NULL"
"""Charges and steps, which are most of a ledger, are never looked for by their kind."""
_INDEXES: Final = {"question": "question, number", "same": "same, number", "receipt": "receipt, number"}


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
        # the payload comes last: SQLite reads past it to reach any column behind it
        f"""
        CREATE TABLE entries (
            number {whole} PRIMARY KEY,
            time {whole} NOT NULL,
            kind TEXT NOT NULL,
            analyst TEXT,
            question {binary},
            same {binary},
            receipt {whole},
            hash {binary} NOT NULL,
            payload {binary} NOT NULL
        )
        """,
        f"""
        CREATE TABLE head (
            one {whole} PRIMARY KEY CHECK (one = 1),
            number {whole} NOT NULL REFERENCES entries (number),
            snapshot {binary} NOT NULL,
            seal {binary} NOT NULL
        )
        """,
        f"CREATE INDEX entries_kind ON entries (kind, number) WHERE {NEITHER_CHARGE_NOR_STEP}",
        "CREATE INDEX entries_analyst ON entries (analyst, kind, number) WHERE analyst IS NOT NULL",
        *(
            f"CREATE INDEX entries_{column} ON entries ({columns}) WHERE {column} IS NOT NULL"
            for column, columns in _INDEXES.items()
        ),
    )
