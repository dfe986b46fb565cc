"""Views of the engine: what shows people under another name is about them all the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from dpsql.catalog.mistakes import Mistake
from dpsql.catalog.model import TablePolicy
from dpsql.catalog.names import folded

Views: TypeAlias = Mapping[str, frozenset[str]]
"""By the name of a view in the engine: the words of its definition that could name a table, folded."""
NO_VIEWS: Final[Views] = MappingProxyType({})


def view_mistakes(tables: Mapping[str, TablePolicy], views: Views) -> Iterator[Mistake]:
    """Declared views that protect less than a declared table they read."""
    words = {folded(name): found for name, found in views.items()}
    sources = {folded(table.source): table for table in tables.values() if not table.public}
    for name, table in tables.items():
        reached = _reached(folded(table.source), words)
        for source, read in sources.items():
            if read.name != name and _last(source) in reached and _protects_less(table, read):
                yield Mistake(
                    f"a view whose definition names {read.name}, which is private",
                    why="the same rows under another name would be told exactly, or protected one by one",
                    fix="declare its person as that of the table it reads; or make a table of what may be public",
                    key=("table", name),
                )
                break


def _protects_less(view: TablePolicy, table: TablePolicy) -> bool:
    return view.public or (view.unit_row and not table.unit_row)


def _reached(source: str, words: Views) -> frozenset[str]:
    """All words of the definition of a view, and of the views it names."""
    found: set[str] = set()
    waiting = [source] if source in words else []
    seen = set(waiting)
    while waiting:
        said = words[waiting.pop()]
        found |= said
        further = [view for view in words if _last(view) in said and view not in seen]
        seen.update(further)
        waiting += further
    return frozenset(found)


def _last(source: str) -> str:
    """The name without its schema: a definition may leave the schema out."""
    return source.rpartition(".")[2]
