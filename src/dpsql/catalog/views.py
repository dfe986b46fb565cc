"""Views and generated columns of the engine: what shows people under another name is about them all the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from dpsql.catalog.model import TablePolicy
from dpsql.catalog.names import Mistake, folded, listed


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewReads:
    """What a view or a table with generated columns reads, with macros and other views expanded."""

    tables: frozenset[str]
    """Tables of the engine, as it calls them."""
    unknown: frozenset[str] = frozenset()
    """Words for everything else whose rows may come from a private table."""


Views: TypeAlias = Mapping[str, ViewReads]
"""By the name in the engine: every view, and every table with generated columns."""
NO_VIEWS: Final[Views] = MappingProxyType({})


def view_mistakes(tables: Mapping[str, TablePolicy], views: Views) -> Iterator[Mistake]:
    """Declared tables and views that protect less than another declaration about the same rows."""
    reads = {folded(name): read for name, read in views.items()}
    read_by = {name: reads.get(folded(table.source)) or _itself(table) for name, table in tables.items()}
    declared = defaultdict[str, list[TablePolicy]](list)
    for name, table in tables.items():
        for source in read_by[name].tables:
            declared[folded(source)].append(table)
    for name, table in tables.items():
        if not table.public and _is_public(read_by[name], declared):
            yield Mistake(
                f"a private view of {listed(sorted(read_by[name].tables))}, which is public",
                why="whoever is in the view is in the public table too, where every row is answered exactly",
                fix="declare the person of that table; or declare the view public if nobody is in either",
                key=("table", name),
            )
        if not (table.public or table.unit_row):
            continue
        sources = sorted(map(folded, read_by[name].tables))
        private = [
            other
            for source in sources
            for other in _private(source, declared[source])
            if folded(other.source) != folded(table.source)  # one source under two names is a mistake of its own
        ]
        more = next((other.name for other in private if table.public or not other.unit_row), None)
        if more is not None:
            yield Mistake(
                f"it reads rows of {more}, which is private",
                why="the same rows under another name would be answered exactly, or protected one by one",
                fix="declare its person as that of the table it reads; or make a table of what may be public",
                key=("table", name),
            )
        elif read_by[name].unknown:
            kind = "table" if folded(table.source) in sources else "view"
            yield Mistake(
                f"a {kind} that reads {listed(sorted(read_by[name].unknown))}, which may show rows of private tables",
                why=f"what a {kind} reads must be known before it is answered exactly, or protected row by row",
                fix="declare its person; or make a table of what may be public",
                key=("table", name),
            )


def _itself(table: TablePolicy) -> ViewReads:
    """A table of the engine without generated columns shows its own rows."""
    return ViewReads(tables=frozenset({table.source}))


def _is_public(read: ViewReads, declared: Mapping[str, Sequence[TablePolicy]]) -> bool:
    """Whether a view reads tables that are declared public, and no others."""
    sources = [folded(source) for source in read.tables]
    own = [[table.public for table in declared[source] if folded(table.source) == source] for source in sources]
    return bool(own) and not read.unknown and all(public and all(public) for public in own)


def _private(source: str, declared: Sequence[TablePolicy]) -> list[TablePolicy]:
    """The private declarations about the rows of one table of the engine. What is declared of the table itself decides;
    a table that is not declared is private where a private view reads it."""
    own = [table for table in declared if folded(table.source) == source]
    return [table for table in own or declared if not table.public]
