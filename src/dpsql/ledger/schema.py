"""The tables of a ledger in SQLite. `entries` is the ledger; the others are added up from it and can be checked."""

from __future__ import annotations

from typing import Final

APPLICATION: Final = 0x64707371
"""Marks the file as a ledger of dpsql: "dpsq"."""

TABLES: Final = (
    f"PRAGMA application_id = {APPLICATION}",
    """
    CREATE TABLE about (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        schema INTEGER NOT NULL,
        id TEXT NOT NULL,
        key_check BLOB NOT NULL
    )
    """,
    """
    CREATE TABLE entries (
        number INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        payload BLOB NOT NULL,
        hash BLOB NOT NULL
    )
    """,
    """
    CREATE TABLE head (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        number INTEGER NOT NULL REFERENCES entries (number),
        seal BLOB NOT NULL
    )
    """,
    """
    CREATE TABLE accounts (
        holder TEXT PRIMARY KEY,
        epsilon TEXT NOT NULL,
        delta TEXT NOT NULL,
        delta_prime TEXT NOT NULL,
        rho TEXT NOT NULL,
        granted_from TEXT,
        spent_epsilon TEXT,
        spent_delta TEXT NOT NULL,
        spent_rho TEXT
    )
    """,
    """
    CREATE TABLE payments (
        number INTEGER PRIMARY KEY REFERENCES entries (number),
        same BLOB NOT NULL,
        question BLOB NOT NULL,
        steps INTEGER NOT NULL,
        attempts INTEGER NOT NULL CHECK (attempts BETWEEN 1 AND 3)
    )
    """,
    """
    CREATE TABLE steps (
        payment INTEGER NOT NULL REFERENCES payments (number),
        step INTEGER NOT NULL,
        entry INTEGER NOT NULL UNIQUE REFERENCES entries (number),
        PRIMARY KEY (payment, step)
    )
    """,
    """
    CREATE TABLE latest (
        what TEXT PRIMARY KEY,
        entry INTEGER NOT NULL REFERENCES entries (number)
    )
    """,
    "CREATE INDEX entries_kind ON entries (kind)",
    "CREATE INDEX payments_same ON payments (same)",
    "CREATE INDEX payments_question ON payments (question)",
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
