"""Windows that are not inside one person: why not, and the same query with the person in PARTITION BY."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

from dpsql.catalog.spelling import PLAIN_NAME, quoted
from dpsql.errors import NotSupported, TwoPeople
from dpsql.sql.items import inside
from dpsql.sql.notes import Notes
from dpsql.sql.parsing.text import blanked
from dpsql.sql.scans import Source
from dpsql.sql.syntax import At, Call, Expression, Name

_OVER: Final = re.compile(r"\s*\bOVER\s*\(\s*", re.IGNORECASE)
_PARTITION: Final = re.compile(r"PARTITION\s+BY\s+", re.IGNORECASE)


def holds_person(origins: set[tuple[str, str] | None], source: Source, notes: Notes) -> bool:
    """True where the whole person of some table is among these declared columns."""
    tables = (notes.catalog.policy.tables[name] for name in source.tables)
    return any(
        table.person and not table.path and {(table.name, part) for part in table.person} <= origins for table in tables
    )


def of_several_people(written: Iterable[Expression], source: Source, notes: Notes, at: At) -> TwoPeople:
    """A window that looks at rows of several people; `written` is what it stands in."""
    person, named = notes.catalog.policy.person.name, _names(source, notes)
    return TwoPeople(
        f"a window over rows of several {person}s",
        why=f"what it says of one {person} would depend on the rows of others",
        fix=f"keep it inside one {person}: PARTITION BY {named or f'the {person}'}; or use it in the outer query, on "
        "what is released, as in RANK() OVER (ORDER BY COUNT(*) DESC)",
        try_sql=_with_person(named, written, source, notes) if named else None,
        at=at,
    )


def qualified(at: At) -> NotSupported:
    """QUALIFY where its windows would be over several people, or over released groups."""
    return NotSupported(
        "QUALIFY is not available here",
        why="it filters rows of one person, in a subquery that does not group them",
        fix="filter released groups with HAVING, or take the first with ORDER BY and LIMIT; by their rank, filter them "
        "one SELECT further out: SELECT … FROM PRIVATE (SELECT …, RANK() OVER (ORDER BY COUNT(*) DESC) AS r …) AS t "
        "WHERE r <= 3. So are groups of one person, without PRIVATE",
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


def _with_person(person: str, written: Iterable[Expression], source: Source, notes: Notes) -> str | None:
    """The text with the person in every window of this SELECT that lacks it."""
    text = notes.text
    places = {call.at for expression in written for call in _windows(expression) if not _inside(call, source, notes)}
    for at in sorted((at for at in places if at is not None), reverse=True):
        words = blanked(text)[1]
        over = deque(_OVER.finditer(words, *at), maxlen=1)
        last = over[0] if over else _OVER.match(words, at[1])  # OVER () is outside of its own place
        if last is None:  # a window with a name stands elsewhere
            return None
        place = last.end()
        partition = _PARTITION.match(text, place)
        if partition:
            text = f"{text[: partition.end()]}{person}, {text[partition.end() :]}"
        else:
            between = "" if text[place] == ")" else " "
            text = f"{text[:place]}PARTITION BY {person}{between}{text[place:]}"
    return text if text != notes.text else None


def _windows(expression: Expression) -> Iterator[Call]:
    if isinstance(expression, Call):
        if expression.over is not None:
            yield expression
        for part in (*expression.arguments, *inside(expression.over)):
            yield from _windows(part)


def _inside(call: Call, source: Source, notes: Notes) -> bool:
    parts = call.over.partition_by if call.over is not None else ()
    return holds_person({source.scope.column(part).origin for part in parts if isinstance(part, Name)}, source, notes)
