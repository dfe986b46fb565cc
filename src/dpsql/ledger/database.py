"""A connection to the database of a ledger, as its page sees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

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
