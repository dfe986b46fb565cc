"""Two sources side by side: what the condition equates, and whether it ties the owners of both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from dpsql.catalog.model import TablePolicy
from dpsql.catalog.spelling import PLAIN_NAME
from dpsql.catalog.types import SqlType
from dpsql.errors import BadName, NotSupported
from dpsql.sql import functions, inner
from dpsql.sql.expressions import condition
from dpsql.sql.full_joins import both_kept
from dpsql.sql.lookups import Pair, equated, met_once
from dpsql.sql.notes import Meeting, Notes, Role
from dpsql.sql.relations import Column, Join
from dpsql.sql.scalars import Apply, ColumnRef, Scalar, columns_of, conjuncts
from dpsql.sql.scans import Kept, Source, all_equal
from dpsql.sql.scope import Scope
from dpsql.sql.syntax import At, Identifier, Joined, JoinKind, Name

MOST_PRODUCTS: Final = 1
"""Joins without an equality pair every row with every other: one is n² of work, two are n³."""
Equality: TypeAlias = tuple[tuple[str, str], tuple[str, str]]
"""Two columns by (table, column) of the policy."""


def joined(item: Joined, left: Source, right: Source, notes: Notes) -> Source:
    """The pairs of rows for which the condition is true; where a side is kept, its rows without a partner too."""
    if item.kind is JoinKind.CROSS:
        raise NotSupported(
            "CROSS JOIN is not available here",
            why="no rule names it",
            fix="use JOIN … ON, or put the tables side by side and what ties them into WHERE",
            at=item.at,
        )
    _require_owner_kept(item, left, right)
    require_aliases(left.scope, right.scope, item.at)
    notes.multiplied = True
    scope = left.scope.using(item.using, right.scope)
    parts = _using(item.using, left.scope, right.scope, notes) if item.using else _on(item, scope, notes)
    pairs = _pairs(parts, left, right, notes, item.at)
    source = replace(_side_by_side(pairs, left, right), scope=scope)
    if item.kind is JoinKind.INNER:
        return source
    if item.kind is JoinKind.FULL:
        return both_kept(item, source, left, right, pairs.condition, notes)
    kept, other = (left, right) if item.kind is JoinKind.LEFT else (right, left)
    if other.private and not kept.private:
        return replace(source, kept=_kept_public(item, kept, other, parts))
    return _kept(source, pairs.condition, kept, other, notes)


def _kept_public(item: Joined, kept: Source, other: Source, parts: Parts) -> Kept:
    """Public rows without anybody are groups in which the aggregates of people are of nothing: the pairs are enough."""
    equal = [pair[1] for part, _ in parts if (pair := equated(part, kept, other)) is not None]
    return Kept(
        relation=kept.relation,
        missing=frozenset(column.id for column in other.relation.columns),
        counted=next((name for number in equal if (name := _written(number, other.scope))), None),
        at=item.at,
    )


def _written(number: int, scope: Scope) -> str | None:
    """A name for the column that needs no quotes."""
    for table in scope.tables:
        for column in table.columns:
            if column.id == number and PLAIN_NAME.fullmatch(table.alias) and PLAIN_NAME.fullmatch(column.name):
                return f"{table.alias}.{column.name}"
    return None


def met(parts: Parts, left: Source, right: Source, notes: Notes, at: At) -> Source:
    """The pairs of rows for which all parts of a condition are true; without parts, all pairs."""
    return _side_by_side(_pairs(parts, left, right, notes, at), left, right)


def _pairs(parts: Parts, left: Source, right: Source, notes: Notes, at: At) -> Join:
    for side in (left, right):
        if side.kept is not None:
            raise side.kept.elsewhere("joined again")
    scalar = all_parts([part for part, _ in parts])
    tied = tie(parts, left, right, notes, at)
    require_few_products(scalar, left, right, notes, at)
    if left.private and right.private:
        both = (left.tables[0], right.tables[0])
        written = None if tied else _written_tie(left, right, notes)
        rewrite = _on_person(parts, written, notes) if written and parts else None
        notes.meetings.append(
            Meeting(
                equal_owners=bool(tied), tables=both, at=at, on_person=rewrite, tie=written.text if written else None
            )
        )
    return _paired(scalar, left, right, tied, notes, at)


def _side_by_side(pairs: Join, left: Source, right: Source) -> Source:
    return Source(
        relation=pairs,
        scope=left.scope.using((), right.scope),
        private=left.private or right.private,
        owner=left.owner or right.owner,
        tables=(*left.tables, *right.tables),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _WrittenTie:
    """What makes both rows one person's, as it may be written here."""

    text: str
    origins: frozenset[tuple[str, str]]


def _written_tie(left: Source, right: Source, notes: Notes) -> _WrittenTie | None:
    tables = notes.catalog.policy.tables
    for equal in (each for a in left.tables for b in right.tables for each in ties(tables[a], tables[b])):
        sides = [(_named(one, left.scope), _named(two, right.scope)) for one, two in sorted(equal)]
        if all(one and two for one, two in sides):
            text = " AND ".join(f"{one} = {two}" for one, two in sides)
            return _WrittenTie(text=text, origins=frozenset(origin for pair in equal for origin in pair))
    return None


def _on_person(parts: Parts, tie: _WrittenTie, notes: Notes) -> str | None:
    """The text with the tie beside the first condition. None where a condition compares people in another way: the
    question is then about two people."""
    place = parts[0][1]
    numbers = (number for scalar, _ in parts for number in columns_of(scalar))
    if place is None or any(notes.columns[number].origin in tie.origins for number in numbers):
        return None
    asked = notes.text[slice(*place)]
    asked = f"({asked})" if re.search(r"\bOR\b", asked, re.IGNORECASE) else asked
    return f"{notes.text[: place[0]]}{asked} AND {tie.text}{notes.text[place[1] :]}"


def _named(origin: tuple[str, str], scope: Scope) -> str | None:
    """An unchanged column of a declared table, as it may be written here."""
    numbers = (column.id for table in scope.tables for column in table.columns if column.origin == origin)
    return next((name for number in numbers if (name := _written(number, scope))), None)


def tie(parts: Parts, left: Source, right: Source, notes: Notes, at: At) -> frozenset[Pair]:
    """The equalities that make both rows one person's. What a condition is used for is noted, part by part."""
    scalar = all_parts([part for part, _ in parts])
    tied = _tied(scalar, left, right, notes)
    notes.use(Role.JOIN, scalar, at)
    for part, place in parts:
        if _filters(part, left, right, tied, notes):
            notes.use(Role.FILTER, part, place)
    return tied


def all_parts(parts: list[Scalar]) -> Scalar:
    """A condition that is true where all parts are."""
    if not parts:
        return inner.TRUE
    return parts[0] if len(parts) == 1 else Apply("and", tuple(parts), SqlType.BOOLEAN)


def _kept(pairs: Source, met_where: Scalar, kept: Source, other: Source, notes: Notes) -> Source:
    """The pairs, and the rows of one side that have no partner. They belong to whom they belonged to before."""
    for column in other.relation.columns:
        known = notes.columns[column.id]
        # NULL where there is no partner: of a private table, the person that is named there is not the owner any more
        notes.know(replace(known, not_null=False, origin=None if other.private else known.origin))
    scope = replace(
        pairs.scope,
        tables=tuple(replace(table, columns=_renewed(table.columns, notes)) for table in pairs.scope.tables),
        merged=_renewed(pairs.scope.merged, notes),
    )
    relation = Join(left=kept.relation, right=other.relation, condition=met_where, outer=True)
    return replace(pairs, relation=relation, scope=scope, owner=kept.owner)


def _renewed(columns: tuple[Column, ...], notes: Notes) -> tuple[Column, ...]:
    """The same columns with what is known about them now, under the names they have here."""
    return tuple(replace(notes.columns[column.id], name=column.name) for column in columns)


def _require_owner_kept(item: Joined, left: Source, right: Source) -> None:
    """A row without a partner must be somebody's."""
    if item.kind is JoinKind.INNER:
        return
    if item.kind is JoinKind.FULL and left.private is not right.private:
        raise NotSupported(
            "a FULL JOIN that keeps public rows without anybody",
            why="a row that nobody is in has no owner, and whether it is there would tell about people",
            fix="use JOIN: groups by columns of a public table appear all the same, with a noisy 0 where nobody is; "
            "LEFT JOIN from the table of people keeps the rows of people",
            at=item.at,
        )
    if left.by_row or right.by_row:
        raise NotSupported(
            f"a {item.kind.value.upper()} JOIN of rows that are protected one by one",
            why="no rule names it",
            fix="use JOIN … ON, with a column of a public table whose values are all different",
            at=item.at,
        )
    if item.kind is JoinKind.RIGHT and item.using:
        raise NotSupported(
            "RIGHT JOIN with USING is not available",
            why="no rule names it",
            fix="write it as a LEFT JOIN, the two tables the other way round; or use ON",
            at=item.at,
        )


def tie_of(left: TablePolicy, right: TablePolicy) -> str | None:
    """A condition that makes both rows one person's, in columns of the two tables alone; None where there is none."""
    tie = next(ties(left, right), None)
    return None if tie is None else " AND ".join(f"{a}.{x} = {b}.{y}" for (a, x), (b, y) in sorted(tie))


def require_few_products(scalar: Scalar, left: Source, right: Source, notes: Notes, at: At) -> None:
    """The engine finds partners by equality; of other conditions it tries each pair of rows."""
    mine, other = (frozenset(column.id for column in side.relation.columns) for side in (left, right))
    notes.products += not any(_equates(part, mine, other) for part in conjuncts(scalar))
    if notes.products > MOST_PRODUCTS:
        raise NotSupported(
            f"more than {MOST_PRODUCTS} join without an equality between its two sides",
            why="each pairs every row with every other, and the work would grow without limit",
            fix="join on equal columns, as in ON a.x = b.x AND a.y < b.y",
            at=at,
        )


def _equates(part: Scalar, left: frozenset[int], right: frozenset[int]) -> bool:
    """Something of one side equals something of the other."""
    match part:
        case Apply("eq" | "is_not_distinct", (a, b)):
            one, two = columns_of(a), columns_of(b)
            return bool(one and two) and ((one <= left and two <= right) or (one <= right and two <= left))
        case _:
            return False


def require_aliases(left: Scope, right: Scope, at: At) -> None:
    twice = {table.alias for table in left.tables} & {table.alias for table in right.tables} - {""}
    if twice:
        raise BadName(
            f"{sorted(twice)[0]} names two tables",
            why="a column of one could be taken for a column of the other",
            fix="give one of them an alias: JOIN visits AS v2 ON …",
            at=at,
        )


Parts: TypeAlias = tuple[tuple[Scalar, At], ...]
"""What must all hold, each with its place in the text."""


def _on(item: Joined, scope: Scope, notes: Notes) -> Parts:
    if item.on is None:
        raise NotSupported(
            "a join without a condition",
            why="every row would meet every other",
            fix="say JOIN … ON a.x = b.x, or USING (x)",
            at=item.at,
        )
    return tuple((part, item.on.at) for part in conjuncts(condition(item.on, scope, notes)))


def _using(names: tuple[Identifier, ...], left: Scope, right: Scope, notes: Notes) -> Parts:
    parts = []
    for name in names:
        a, b = (scope.column(Name(parts=(name,), at=name.at)) for scope in (left, right))
        sides = (ColumnRef(a.id, a.type), ColumnRef(b.id, b.type))
        parts.append((functions.apply("eq", sides, proved=notes.proved, kept=notes.kept, at=name.at), name.at))
    return tuple(parts)


def _filters(part: Scalar, left: Source, right: Source, tied: frozenset[Pair], notes: Notes) -> bool:
    """True where a part of the condition chooses rows by what they hold.

    A hidden column may be equated with its partner in the tie of two owners and with nothing else: equality with a
    public table, with a constant of a subquery or with another column of the same person asks for its value.
    """
    pair = equated(part, left, right)
    hidden = any(notes.columns[number].hidden for number in columns_of(part))
    return pair is None or (hidden and pair not in tied)


def _paired(scalar: Scalar, left: Source, right: Source, tied: frozenset[Pair], notes: Notes, at: At) -> Join:
    if tied:
        scalar = within_one_person(scalar, left, right)
    elif (left.by_row or right.by_row) and not (left.private and right.private):
        return met_once(scalar, left, right, notes, at)
    return Join(left=left.relation, right=right.relation, condition=scalar)


def within_one_person(scalar: Scalar, left: Source, right: Source) -> Scalar:
    """The condition, and the equality of raw owners.

    It changes nothing where the condition implies it, and the pairing stays inside one person whatever a declared but
    unenforced key turns out to hold.
    """
    return inner.all_of(scalar, all_equal(left.owner, right.owner))


def _tied(scalar: Scalar, left: Source, right: Source, notes: Notes) -> frozenset[Pair]:
    """The equalities, column to column, by which both rows are of one person; none where the person is left open."""
    if not left.owner or not right.owner:
        return frozenset()
    pairs = [pair for part in conjuncts(scalar) if (pair := equated(part, left, right)) is not None]
    origins = {(a, b): (notes.columns[a].origin, notes.columns[b].origin) for a, b in pairs}
    tables = notes.catalog.policy.tables
    found = [tie for a in left.tables for b in right.tables for tie in ties(tables[a], tables[b])]
    complete = frozenset().union(*(tie for tie in found if tie <= set(origins.values())))
    return frozenset(pair for pair, equality in origins.items() if equality in complete)


def ties(a: TablePolicy, b: TablePolicy) -> Iterator[frozenset[Equality]]:
    """Each set of equalities that ties a row of `a` to the owner of a row of `b`; none for rows that are units."""
    if a.unit_row or b.unit_row:
        return
    if not a.path and not b.path:
        yield _equal(a, a.person, b, b.person)
    if a.path and a.path[0].table == b.name:  # `a` leads through a key of `b`
        yield _equal(a, a.path[0].columns, b, a.path[0].to_columns)
    if b.path and b.path[0].table == a.name:
        yield _equal(a, b.path[0].to_columns, b, b.path[0].columns)
    if a.path and a.path == b.path:  # the same owners lie ahead of the same key
        yield _equal(a, a.path[0].columns, b, b.path[0].columns)


def _equal(a: TablePolicy, left: tuple[str, ...], b: TablePolicy, right: tuple[str, ...]) -> frozenset[Equality]:
    return frozenset(((a.name, x), (b.name, y)) for x, y in zip(left, right, strict=True))
