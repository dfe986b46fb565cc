"""UNION ALL: rows of several queries under one another, each with the owner it has in its own branch.

Columns meet by position, as in SQL. The owner is none of them: it is carried beside them from each branch, so that
columns in another order, or under the name of the person, change nothing about whose a row is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final

from dpsql.catalog.types import SqlType
from dpsql.errors import BadName, BadType, NotSupported
from dpsql.sql.expressions import aggregates, alias_of, ordinal, row_expression
from dpsql.sql.intervals import EVERYTHING, Interval
from dpsql.sql.notes import Notes
from dpsql.sql.relations import Column, Project, Relation, Union, ref, refs
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar
from dpsql.sql.scans import Source
from dpsql.sql.scope import Scope, Table, named
from dpsql.sql.subqueries import require_all_rows
from dpsql.sql.syntax import At, Derived, Identifier, Item, Name, Query, Select, Star, UnionAll

WIDENED: Final = {
    frozenset({SqlType.INTEGER, SqlType.DOUBLE}): (SqlType.DOUBLE, "to_double"),
    frozenset({SqlType.DATE, SqlType.TIMESTAMP}): (SqlType.TIMESTAMP, "to_timestamp"),
}
"""Two types that may meet in one column: what both become, and how. Engines convert others too, each in its own way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """Rows of one branch: the owner, and an expression for each column of the union."""

    relation: Relation
    owner: tuple[int, ...]
    shown: tuple[Scalar, ...]


def one_question(query: Query) -> Select:
    """A statement as one SELECT: a union at the top shows the rows of all its branches."""
    if isinstance(query, Select):
        return query
    for branch in query.branches:
        if _aggregates(branch):
            raise NotSupported(
                "UNION ALL of several answers is not available",
                why="each SELECT that aggregates is a question of its own, with noise and a price of its own",
                fix="ask for each of them: SELECT n FROM PRIVATE (SELECT COUNT(*) AS n FROM a) AS x UNION ALL SELECT n "
                "FROM PRIVATE (SELECT COUNT(*) AS n FROM b) AS y; or put UNION ALL inside, as in SELECT COUNT(*) FROM "
                "(SELECT … UNION ALL SELECT …) AS t",
                at=branch.at,
            )
    rows = replace(query, with_=(), order_by=(), limit=None, offset=0)
    return Select(
        with_=query.with_,
        items=_shown(query),
        from_=Derived(query=rows, at=query.at),
        order_by=query.order_by,
        limit=query.limit,
        offset=query.offset,
        at=query.at,
    )


def _aggregates(query: Query) -> bool:
    if isinstance(query, UnionAll):
        return any(map(_aggregates, query.branches))
    return aggregates(query)


def _shown(query: Query) -> tuple[Item, ...]:
    """All columns, under the names of the first branch as they are written."""
    while isinstance(query, UnionAll):
        query = query.branches[0]
    if any(isinstance(item.expression, Star) for item in query.items):
        return (Item(expression=Star(at=query.at)),)
    names = [alias_of(item) for item in query.items]
    written = [item.alias.written if item.alias else _written(item) for item in query.items]
    return tuple(
        Item(
            expression=Name(parts=(Identifier(name=name, quoted=True, written=text),), at=item.expression.at),
            alias=Identifier(name=name, quoted=True, written=text),
        )
        for item, name, text in zip(query.items, names, written, strict=True)
    )


def _written(item: Item) -> str:
    return item.expression.parts[-1].written if isinstance(item.expression, Name) else item.text


def union(
    query: UnionAll, sources: Sequence[Source], names: tuple[Identifier, ...], alias: Identifier | None, notes: Notes
) -> Source:
    """The rows of all branches, each a subquery with one table in sight; names are those of the first."""
    require_all_rows(query)
    tables = [source.scope.tables[0].columns for source in sources]
    for branch, columns in zip(query.branches, tables, strict=True):
        if len(columns) != len(tables[0]):
            raise BadName(
                f"a branch of UNION ALL with {len(columns)} columns beside one with {len(tables[0])}",
                why="columns are put under one another by their position",
                fix="select the same number of columns in every branch",
                at=branch.at,
            )
    branches = [
        Branch(
            relation=source.relation,
            owner=source.owner,
            shown=tuple(_value(column, source.relation) for column in columns),
        )
        for source, columns in zip(sources, tables, strict=True)
    ]
    _require_one_kind(query, sources)
    notes.multiplied = True
    relation, owner, shown = united(branches, notes, query.at)
    shown = tuple(replace(column, name=first.name) for column, first in zip(shown, tables[0], strict=True))
    source = Source(
        relation=relation,
        scope=Scope(tables=(Table(alias=alias.name if alias else "", columns=named(shown, names)),)),
        private=sources[0].private,
        owner=owner,
        tables=tuple(dict.fromkeys(name for source in sources for name in source.tables)),
    )
    own = Scope(tables=(Table(alias="", columns=shown),))
    for key in query.order_by:
        if ordinal(key.expression, len(shown)) is None:  # it changes nothing inside, but its names must be names
            row_expression(key.expression, own, notes)
    return source


def _value(column: Column, relation: Relation) -> Scalar:
    """The column, or NULL where it is nothing else: that has the type of what stands under it."""
    if isinstance(relation, Project):
        for each, scalar in zip(relation.columns, relation.expressions, strict=True):
            if each.id == column.id and isinstance(scalar, Constant) and scalar.value is None:
                return scalar
    return ref(column)


def _require_one_kind(query: UnionAll, sources: Sequence[Source]) -> None:
    """All rows have an owner, or none has."""
    kinds = {(source.private, source.by_row) for source in sources}
    if kinds in ({(True, False)}, {(False, False)}):
        return
    rows = any(source.by_row for source in sources)
    raise NotSupported(
        "UNION ALL of rows that are protected one by one" if rows else "UNION ALL of public rows and rows of people",
        why="a row could then be there twice, and its weight in the answer with it"
        if rows
        else "a row that nobody is in would be counted as if it were somebody's",
        fix="ask about each table by itself",
        at=query.at,
    )


# ---- relations ------------------------------------------------------------------------------------------------------


def united(branches: Sequence[Branch], notes: Notes, at: At) -> tuple[Union, tuple[int, ...], tuple[Column, ...]]:
    """The rows of all branches; which columns hold their owner, and the column behind each expression."""
    shown = [_met([branch.shown[place] for branch in branches], notes, at) for place in range(len(branches[0].shown))]
    owners = [notes.columns[number] for number in branches[0].owner]
    owner = tuple(notes.know(replace(column, id=notes.numbers.fresh())) for column in owners)
    projects = [
        _in_place(branch, tuple(scalars[number] for _, scalars in shown), notes)
        for number, branch in enumerate(branches)
    ]
    columns = tuple(column for column, _ in shown)
    whole = Union(branches=tuple(projects), columns=(*owner, *columns))
    return whole, tuple(column.id for column in owner), columns


def _in_place(branch: Branch, shown: tuple[Scalar, ...], notes: Notes) -> Project:
    """The owner first, then what the branch has for each column."""
    owners = [notes.columns[number] for number in branch.owner]
    owner = tuple(notes.know(replace(column, id=notes.numbers.fresh())) for column in owners)
    columns = tuple(notes.computed("", scalar) for scalar in shown)
    return Project(
        input=branch.relation,
        columns=(*owner, *columns),
        expressions=(*refs(owners), *shown),
    )


def _met(scalars: list[Scalar], notes: Notes, at: At) -> tuple[Column, list[Scalar]]:
    """What is known about one column, and what each branch has for it in the type of all."""
    type_, conversion = _one_type(scalars, notes, at)
    converted: list[Scalar] = []
    for scalar in scalars:
        if isinstance(scalar, Constant) and scalar.value is None:
            converted.append(Constant(None, type_))
        else:
            converted.append(scalar if scalar.type is type_ else Apply(conversion, (scalar,), type_))
    present = [scalar for scalar in converted if not (isinstance(scalar, Constant) and scalar.value is None)]
    unchanged = [notes.columns[scalar.id] for scalar in converted if isinstance(scalar, ColumnRef)]
    everywhere = len(unchanged) == len(converted)
    read = [notes.columns[number] for scalar in scalars for number in _columns(scalar)]
    column = Column(
        id=notes.numbers.fresh(),
        name="",
        type=type_,
        proved=_hull([notes.proved(scalar) for scalar in present]),
        kept=_hull([notes.kept(scalar) for scalar in present]),
        declared=_hull([notes.declared(scalar) for scalar in present]),
        keys=unchanged[0].keys
        if len(unchanged) == len(present) and len({each.keys for each in unchanged}) == 1
        else None,
        hidden=any(each.hidden for each in read),
        not_null=everywhere and all(each.not_null for each in unchanged),
        public=all(each.public for each in read),
        origin=_origin(unchanged, notes) if everywhere else None,
    )
    return notes.made(column, converted), converted


def _columns(scalar: Scalar) -> tuple[int, ...]:
    return (scalar.id,) if isinstance(scalar, ColumnRef) else ()


def _one_type(scalars: list[Scalar], notes: Notes, at: At) -> tuple[SqlType, str]:
    types = {scalar.type for scalar in scalars if not isinstance(scalar, Constant)}
    if len(types) <= 1:
        return next(iter(types), SqlType.TEXT), ""
    if frozenset(types) in WIDENED:
        return WIDENED[frozenset(types)]
    names = sorted(type_.value for type_ in types)
    name = next((notes.columns[n].name for scalar in scalars for n in _columns(scalar) if notes.columns[n].name), "")
    raise BadType(
        f"{name or 'a column'} is {' in one branch of UNION ALL and '.join(names)} in another",
        why="engines convert one to the other in ways of their own, and what is converted may be lost",
        fix=f"convert it yourself, as in CAST({name or 'x'} AS VARCHAR) in one of them",
        at=at,
    )


def _hull(ranges: list[Interval]) -> Interval:
    return reduce(Interval.union, ranges) if ranges else EVERYTHING


def _origin(columns: list[Column], notes: Notes) -> tuple[str, str] | None:
    """The base column that it is in every branch. Persons of several tables are one: each is that of its row."""
    origins = {column.origin for column in columns}
    parts = {_part_of_person(column, notes) for column in columns}
    return columns[0].origin if len(origins) == 1 or (len(parts) == 1 and None not in parts) else None


def _part_of_person(column: Column, notes: Notes) -> int | None:
    """Which part of the person the column holds."""
    if column.origin is None or not notes.is_person(column):
        return None
    table, name = column.origin
    return notes.catalog.policy.tables[table].person.index(name)
