"""Tables and columns in plain words: what may be asked, within which limits, and which groups are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from dpsql.cli.shell.names import ColumnNote, Names

_MOST_KEYS: Final = 12
"""So many groups are named; of more, the number is told."""


def tables_lines(names: Names) -> Iterator[str]:
    """One line for each table."""
    if not names.tables:
        yield "There is no table you may ask about."
        return
    width = max(map(len, names.tables))
    for name, notes in names.tables.items():
        yield f"{name:<{width}}  {', '.join(note.name for note in notes)}"


def table_lines(name: str, notes: Sequence[ColumnNote]) -> Iterator[str]:
    """One line for each column."""
    yield name
    names, types = (max(map(len, texts)) for texts in ([n.name for n in notes], [n.type for n in notes]))
    for note in notes:
        yield f"  {note.name:<{names}}  {note.type:<{types}}  {'; '.join(_words(note))}".rstrip()


def _words(note: ColumnNote) -> Iterator[str]:
    if note.is_person:
        yield "the person who is protected"
    if note.is_hidden:
        yield "hidden: can be counted, not shown, grouped by or filtered on"
    if note.low is not None and note.high is not None:
        yield f"{note.low} to {note.high}"
    if note.keys == "private":
        yield "groups are private: rare ones stay hidden"
    elif note.keys == "calendar":
        yield "groups are the days, or longer spans, of its limits"
    elif note.listed:
        known = ["NULL" if key is None else key for key in note.listed]
        yield f"groups: {', '.join(known)}" if len(known) <= _MOST_KEYS else f"{len(known)} public groups"
