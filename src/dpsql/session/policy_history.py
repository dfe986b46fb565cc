"""The history of a policy, from the ledger: when what was declared, promised or granted, and by whose word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from dpsql.ledger.facts import Adopted, Entry
from dpsql.safe_text import printable
from dpsql.session.entry_rows import FILE, deed, moment_of
from dpsql.session.policy_changes import changed_lines

_TOLD: Final = ("promise", "data", "grant", "revoke", "renewal", "close")


def policy_history(entries: Iterable[Entry]) -> Iterator[str]:
    """A line for each change, the oldest first: time (UTC), by whose word, what."""
    before: str | None = None
    for entry in entries:
        fact, decided = entry.fact, deed(entry)
        if isinstance(fact, Adopted):
            told = ["the first version"] if before is None else changed_lines(before, fact.text)
            before = fact.text
            yield from (_line(entry, FILE, f"declared: {what}") for what in told)
        elif decided is not None and decided.kind in _TOLD:
            yield _line(entry, decided.by or "the owner", f"{decided.kind}: {printable(decided.what)}")


def _line(entry: Entry, by: str, what: str) -> str:
    return f"{moment_of(entry):%Y-%m-%d %H:%M:%S}  {by:<15}  {what}"
