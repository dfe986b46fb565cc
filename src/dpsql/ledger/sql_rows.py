"""Rows that are added up from the entries, in a database: each shows that it was written, and all have one sum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

from dpsql.accounting.account import Account
from dpsql.errors import LedgerBroken
from dpsql.ledger import chain
from dpsql.ledger.encoding import unreadable
from dpsql.ledger.facts import Fact
from dpsql.ledger.schema import SIDE_TABLES, SideTable
from dpsql.ledger.unusable import AFTER_DAMAGE

Row = tuple[Any, ...]
Look = tuple[str, tuple[object, ...]]
"""A statement that reads, and its values."""
K = TypeVar("K")
V = TypeVar("V")


class Database(Protocol):
    """One connection inside one transaction. `?` stands for a value."""

    def run(self, sql: str, *values: object) -> None:
        """Change something: at once, or before anything is read again or committed."""
        ...

    def rows(self, sql: str, *values: object) -> list[Row]: ...

    def looks(self, *asked: Look) -> list[list[Row]]:
        """The rows of each, on one way to the database and back."""
        ...

    def stream(self, sql: str) -> Iterator[Row]:
        """The rows, never all of them in memory."""
        ...


def among(values: Sequence[object]) -> str:
    """The list of an IN for so many values."""
    return f"({', '.join('?' * len(values))})"


def head_broken() -> LedgerBroken:
    """What is raised where the end of the ledger, or a row that was added up, is not the one that was sealed."""
    return LedgerBroken(
        "the ledger does not verify: its last entry, or what was added up so far, is not what was sealed",
        why="what is missing at the end of a ledger was spent, and would be spent again",
        fix=AFTER_DAMAGE,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What was computed from rows that were read before. A row is read each time; one that is the same to the last byte
    is not computed again."""

    covers: dict[tuple[str, Row], tuple[bytes, int]] = field(default_factory=dict)
    accounts: dict[Row, Account] = field(default_factory=dict)
    facts: dict[Row, Fact] = field(default_factory=dict)
    """By the entry and the hash before it."""


REMEMBERED: Final = 256


def remember(known: dict[K, V], key: K, value: V) -> V:
    """The value, kept for the next look."""
    if len(known) >= REMEMBERED:
        known.clear()
    known[key] = value
    return value


class CoveredRows:
    """Every row is checked when it is read, and every change goes into the sum."""

    def __init__(self, database: Database, *, key: bytes, memory: Memory) -> None:
        self.database = database
        self._key = key
        self._covers = memory.covers
        self.total = 0
        """The sum over all rows that exist."""

    def cover(self, table: SideTable, row: Row) -> tuple[bytes, int]:
        """The proof of a row and its part in the sum."""
        known = self._covers.get((table.name, row))
        if known is None:
            known = remember(self._covers, (table.name, row), chain.covered(self._key, table.name, row))
        return known

    def found(self, table: SideTable, where: str, *values: object) -> list[Row]:
        """Rows without their proofs."""
        return self.checked(table, self.database.rows(f"{table.read} WHERE {where}", *values))

    def checked(self, table: SideTable, found: list[Row]) -> list[Row]:
        """Rows that were read, without their proofs; LedgerBroken where nobody with the key wrote one of them."""
        for row in found:
            _require_types(table, row)
            if not chain.equal(row[-1], self.cover(table, row[:-1])[0]):
                raise head_broken()
        return [row[:-1] for row in found]

    def keep(self, table: SideTable, row: Row, *, before: Row | None) -> None:
        """Write a row, in place of the one that was there before."""
        mac, part = self.cover(table, row)
        self.total += part - (0 if before is None else self.cover(table, before)[1])
        self.database.run(table.kept, *row, mac)

    def remove(self, table: SideTable) -> None:
        """All rows of the table."""
        for row in self.found(table, "1 = 1"):
            self.total -= self.cover(table, row)[1]
        self.database.run(f"DELETE FROM {table.name}")

    def check(self) -> None:
        """Every row of every table, and their sum; LedgerBroken."""
        total = 0
        for table in SIDE_TABLES:
            for row in self.database.stream(table.read):
                _require_types(table, row)
                mac, part = chain.covered(self._key, table.name, row[:-1])
                if not chain.equal(row[-1], mac):
                    raise head_broken()
                total += part
        if (total - self.total) % chain.MODULUS:
            raise head_broken()


def _require_types(table: SideTable, row: Row) -> None:
    """SQLite lets anybody write text where a number was."""
    if tuple(map(type, row)) not in table.types:
        raise unreadable()
