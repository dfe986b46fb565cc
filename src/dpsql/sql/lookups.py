"""Rows that are units of their own beside public rows: each must find one partner at most, or it would count twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from dpsql.catalog.names import folded
from dpsql.errors import TwoPeople
from dpsql.sql import inner
from dpsql.sql.notes import Meeting, Notes
from dpsql.sql.relations import Exists, Filter, Group, Join, Project, Relation, Scan, Total, Union
from dpsql.sql.scalars import Apply, ColumnRef, Scalar, conjuncts
from dpsql.sql.scans import Ids, Source, all_equal
from dpsql.sql.syntax import At

Pair: TypeAlias = tuple[int, int]
"""A column of the left side and one of the right."""


def met_once(scalar: Scalar, left: Source, right: Source, notes: Notes, at: At) -> Join:
    """The join, with the public side reduced to one row for each key that is equated and said to be unique.

    Where the engine enforces the key, or the owner is right about it, this changes nothing. Where there is no such key
    the meeting is noted, and `check` refuses it.
    """
    public = right.relation if left.by_row else left.relation
    if not _scans(public):
        raise TwoPeople(
            f"a row of {(left if left.by_row else right).tables[0]} is protected by itself and could meet any number "
            "of released rows",
            why="it would count as often as it finds a partner",
            fix="compare with one released number: PRIVATE (SELECT AVG(x) FROM t)",
            at=at,
        )
    pairs = [pair for part in conjuncts(scalar) if (pair := equated(part, left, right)) is not None]
    own = {theirs: mine for mine, theirs in (pairs if left.by_row else [(b, a) for a, b in pairs])}
    key = next(_keys(public, frozenset(own), notes), None)
    if key is None:
        tables = ((left if left.by_row else right).tables[0], _scans(public)[0].table)
        notes.meetings.append(Meeting(equal_owners=False, tables=tables, at=at))
        return Join(left=left.relation, right=right.relation, condition=scalar)
    condition = inner.all_of(scalar, all_equal(tuple(own[number] for number in key), key))
    reduced = _one_row_for_each(public, key)
    if left.by_row:
        return Join(left=left.relation, right=reduced, condition=condition)
    return Join(left=reduced, right=right.relation, condition=condition)


def _keys(public: Relation, matched: frozenset[int], notes: Notes) -> Iterator[Ids]:
    """Keys of the one public table below, all of whose columns are matched: enforced by the engine, or declared.

    Groups have what they are grouped by.
    """
    grouped = _group(public)
    if grouped is not None and grouped.by and matched.issuperset(grouped.by):
        yield grouped.by
    scans = _scans(public)
    if len(scans) != 1:
        return
    here = {column.origin[1]: column.id for column in scans[0].columns if column.origin and column.id in matched}
    policy = notes.catalog.policy.tables[scans[0].table]
    declared = [(name,) for name, column in policy.columns.items() if column.unique]
    for names in (*notes.catalog.schema[policy.name].unique, *declared):
        if names and here.keys() >= set(map(folded, names)):
            yield tuple(here[folded(name)] for name in names)


def _scans(relation: Relation) -> list[Scan]:
    match relation:
        case Scan():
            return [relation]
        case Filter() | Project() | Group() | Exists():
            return _scans(relation.input)
        case Join():
            return [*_scans(relation.left), *_scans(relation.right)]
        case Union():
            return [scan for branch in relation.branches for scan in _scans(branch)]
        case _:
            return []


def _group(relation: Relation) -> Group | None:
    """The groups that the rows are, perhaps filtered and computed with."""
    while isinstance(relation, Filter | Project):
        relation = relation.input
    return relation if isinstance(relation, Group) else None


def _one_row_for_each(public: Relation, key: Ids) -> Group:
    """The smallest value of every other column: the only one, if the key is what it is said to be."""
    columns = {column.id: column for column in public.columns}
    others = [column for column in public.columns if column.id not in key]
    return Group(
        input=public,
        by=key,
        columns=(*(columns[number] for number in key), *others),
        totals=tuple(Total(function="min", argument=ColumnRef(column.id, column.type)) for column in others),
    )


def equated(scalar: Scalar, left: Source, right: Source) -> Pair | None:
    """The two columns of a plain equality across a join; a conversion on either side makes it something else."""
    match scalar:
        case Apply("eq", (ColumnRef(id=a), ColumnRef(id=b))) if _holds(left, a) and _holds(right, b):
            return a, b
        case Apply("eq", (ColumnRef(id=a), ColumnRef(id=b))) if _holds(left, b) and _holds(right, a):
            return b, a
        case _:
            return None


def _holds(source: Source, number: int) -> bool:
    return any(column.id == number for column in source.relation.columns)
