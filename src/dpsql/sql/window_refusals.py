"""Windows that are not inside one person: why they are refused, and what has a rule."""

from __future__ import annotations

from dpsql.catalog.spelling import PLAIN_NAME, quoted
from dpsql.errors import NotSupported, TwoPeople
from dpsql.sql.notes import Notes
from dpsql.sql.scans import Source
from dpsql.sql.syntax import At


def holds_person(origins: set[tuple[str, str] | None], source: Source, notes: Notes) -> bool:
    """True where the whole person of some table is among these declared columns."""
    tables = (notes.catalog.policy.tables[name] for name in source.tables)
    return any(
        table.person and not table.path and {(table.name, part) for part in table.person} <= origins for table in tables
    )


def of_several_people(source: Source, notes: Notes, at: At) -> TwoPeople:
    """A window that looks at rows of several people."""
    person, named = notes.catalog.policy.person.name, _names(source, notes)
    return TwoPeople(
        f"a window over rows of several {person}s",
        why=f"what it says of one {person} would depend on the rows of others",
        fix=f"keep it inside one {person}: PARTITION BY {named or f'the {person}'}; or use it in the outer query, on "
        "what is released, as in RANK() OVER (ORDER BY COUNT(*) DESC)",
        at=at,
    )


def qualified(at: At) -> NotSupported:
    """QUALIFY where its windows would be over several people, or over groups of one person."""
    return NotSupported(
        "QUALIFY is not available here",
        why="it filters released groups, or the rows of one person in a subquery that does not group them",
        fix="filter released groups: GROUP BY city QUALIFY RANK() OVER (ORDER BY COUNT(*) DESC) <= 3. Filter groups of "
        "one person one SELECT further out: SELECT … FROM (SELECT …, RANK() OVER (…) AS r …) AS t WHERE r <= 3",
        at=at,
    )


def of_nobody(source: Source, notes: Notes, at: At) -> NotSupported:
    """A window over rows that belong to no person."""
    if source.private:
        return NotSupported(
            "a window over rows that are protected one by one",
            why="what it says of one row would depend on others",
            fix="use it in the outer query, on what is released, as in RANK() OVER (ORDER BY COUNT(*) DESC)",
            at=at,
        )
    return NotSupported(
        "a window over a public table inside a subquery",
        why=f"no rule says what it means for the {notes.catalog.policy.person.name}s whose rows meet it",
        fix="use it in the outermost SELECT, over the public table alone: that is free",
        at=at,
    )


def _names(source: Source, notes: Notes) -> str:
    """The whole person of one table, as it may be named here; nothing where it may not."""
    several = len(source.scope.tables) > 1
    for table in source.scope.tables:
        held = [column for column in table.columns if notes.is_person(notes.columns[column.id])]
        if holds_person({column.origin for column in held}, source, notes):
            spelled = [column.name if PLAIN_NAME.fullmatch(column.name) else quoted(column.name) for column in held]
            return ", ".join(f"{table.alias}.{name}" if several else name for name in spelled)
    return ""
