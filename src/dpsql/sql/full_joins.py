"""FULL JOIN: the pairs and the rows of the left without a partner, then the rows of the right without one.

    left FULL JOIN right  =  left LEFT JOIN right  UNION ALL  right without a partner in left

So each row has an owner: of the first branch the left one, of the second the right one. A column of USING is that of
the side that is there, and the person where it is the person on both.
"""

from __future__ import annotations

from dataclasses import replace

from dpsql.sql.notes import Notes
from dpsql.sql.relations import Column, Exists, Join
from dpsql.sql.scalars import ColumnRef, Constant, Scalar
from dpsql.sql.scans import Source, require_few_reads
from dpsql.sql.scope import Scope
from dpsql.sql.syntax import Identifier, Joined, Name
from dpsql.sql.unions import Branch, united


def both_kept(item: Joined, pairs: Source, left: Source, right: Source, condition: Scalar, notes: Notes) -> Source:
    """The pairs, and the rows of both sides that have no partner."""
    shared = {name.name: _sides(name, left.scope, right.scope) for name in item.using}
    columns = {column.id: column for scope in (left.scope, right.scope) for column in _visible(scope)}
    mine = {column.id for column in left.relation.columns}
    first: list[Scalar] = [*map(_ref, columns.values()), *(_ref(ours) for ours, _ in shared.values())]
    second: list[Scalar] = [
        *(Constant(None, column.type) if column.id in mine else _ref(column) for column in columns.values()),
        *(_ref(theirs) for _, theirs in shared.values()),
    ]
    with_partner = Join(left=left.relation, right=right.relation, condition=condition, outer=True)
    without = Exists(input=right.relation, among=left.relation, condition=condition, negated=True)
    relation, owner, shown = united(
        [
            Branch(relation=with_partner, owner=left.owner, shown=tuple(first)),
            Branch(relation=without, owner=right.owner, shown=tuple(second)),
        ],
        notes,
        item.at,
    )
    require_few_reads(relation, item.at)
    stands = {number: _may_be_missing(column, notes) for number, column in zip(columns, shown, strict=False)}
    merged = dict(zip(shared, shown[len(columns) :], strict=True))
    return replace(pairs, relation=relation, owner=owner, scope=_renumbered(pairs.scope, stands, merged))


def _sides(name: Identifier, left: Scope, right: Scope) -> tuple[Column, Column]:
    asked = Name(parts=(name,), at=name.at)
    return left.column(asked), right.column(asked)


def _visible(scope: Scope) -> tuple[Column, ...]:
    return (*(column for table in scope.tables for column in (*table.columns, *table.shared)), *scope.merged)


def _may_be_missing(column: Column, notes: Notes) -> Column:
    """NULL where its side has no row: a person that is named there is not the owner any more."""
    return notes.know(replace(column, not_null=False, origin=None))


def _ref(column: Column) -> ColumnRef:
    return ColumnRef(column.id, column.type)


def _renumbered(scope: Scope, stands: dict[int, Column], merged: dict[str, Column]) -> Scope:
    """The same names for the columns of the union. `*` shows a column of USING as either side has it."""

    def here(columns: tuple[Column, ...]) -> tuple[Column, ...]:
        return tuple(replace(stands[column.id], name=column.name) for column in columns)

    tables = []
    left = set(merged)
    for table in scope.tables:
        names = {column.name for column in table.columns} - table.merged
        shared = {column.name: column for column in here(table.shared)}
        shared |= {name: replace(merged[name], name=name) for name in names & left}
        tables.append(replace(table, columns=here(table.columns), shared=tuple(shared.values())))
        left -= names
    once = tuple(replace(merged.get(column.name, stands[column.id]), name=column.name) for column in scope.merged)
    return Scope(tables=tuple(tables), merged=once)
