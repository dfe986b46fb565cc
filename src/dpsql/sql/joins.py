"""Two sources side by side: what the condition equates, and whether it ties the owners of both."""

from __future__ import annotations

from dataclasses import replace

from dpsql.catalog.model import TablePolicy
from dpsql.catalog.types import SqlType
from dpsql.errors import BadName, NotSupported
from dpsql.sql import functions, inner
from dpsql.sql.expressions import condition
from dpsql.sql.relations import Join
from dpsql.sql.scalars import Apply, ColumnRef, Scalar, columns_of, conjuncts
from dpsql.sql.scans import Source, all_equal
from dpsql.sql.scope import Scope
from dpsql.sql.syntax import At, Identifier, Joined, JoinKind, Name
from dpsql.sql.uses import Meeting, Notes, Role


def joined(item: Joined, left: Source, right: Source, notes: Notes) -> Source:
    if item.kind is not JoinKind.INNER:
        raise NotSupported(
            f"{item.kind.value.upper()} JOIN is not available",
            why="rows without a partner have an owner only under rules of their own",
            fix="use JOIN … ON, which keeps the rows that have a partner",
            at=item.at,
        )
    _require_aliases(left.scope, right.scope, item.at)
    notes.multiplied = True
    scope = Scope(tables=(*left.scope.tables, *right.scope.tables), merged=left.scope.merged)
    scalar = _using(item.using, left.scope, right.scope, notes) if item.using else _on(item, scope, notes)
    notes.use(Role.JOIN, scalar, item.at)
    for part in conjuncts(scalar):
        if _equated(part, left, right) is None or _computed_of_hidden(part, notes):  # a filter that stands after ON
            notes.use(Role.FILTER, part, item.on.at if item.on is not None else item.at)
    owner = left.owner or right.owner
    if left.private and right.private:
        scalar = _met(left, right, scalar, notes, item.at)
    merged = tuple(left.scope.column(Name(parts=(name,), at=name.at)) for name in item.using)
    return Source(
        relation=Join(left=left.relation, right=right.relation, condition=scalar),
        scope=replace(scope, merged=(*scope.merged, *merged)),
        private=left.private or right.private,
        owner=owner,
        tables=(*left.tables, *right.tables),
    )


def _require_aliases(left: Scope, right: Scope, at: At) -> None:
    twice = {table.alias for table in left.tables} & {table.alias for table in right.tables} - {""}
    if twice:
        raise BadName(
            f"{sorted(twice)[0]} names two tables",
            why="a column of one could be taken for a column of the other",
            fix="give one of them an alias: JOIN visits AS v2 ON …",
            at=at,
        )


def _on(item: Joined, scope: Scope, notes: Notes) -> Scalar:
    if item.on is None:
        raise NotSupported(
            "a join without a condition",
            why="every row would meet every other",
            fix="say JOIN … ON a.x = b.x, or USING (x)",
            at=item.at,
        )
    return condition(item.on, scope, notes)


def _using(names: tuple[Identifier, ...], left: Scope, right: Scope, notes: Notes) -> Scalar:
    pairs = []
    for name in names:
        a, b = (scope.column(Name(parts=(name,), at=name.at)) for scope in (left, right))
        sides = (ColumnRef(a.id, a.type), ColumnRef(b.id, b.type))
        pairs.append(functions.apply("eq", sides, proved=notes.proved, at=name.at))
    return pairs[0] if len(pairs) == 1 else Apply("and", tuple(pairs), SqlType.BOOLEAN)


def _met(left: Source, right: Source, scalar: Scalar, notes: Notes, at: At) -> Scalar:
    """Two private sides: note whether the condition ties their owners, and tie them in the engine too.

    The equality of raw owners changes nothing where the condition implies it, and the pairing stays inside one
    person whatever a declared but unenforced key turns out to hold.
    """
    by_row = left.by_row or right.by_row
    tied = not by_row and implies_equal_owners(scalar, left, right, notes)
    notes.meetings.append(Meeting(equal_owners=tied, tables=(left.tables[0], right.tables[0]), at=at))
    return inner.all_of(scalar, all_equal(left.owner, right.owner)) if tied else scalar


def implies_equal_owners(scalar: Scalar, left: Source, right: Source, notes: Notes) -> bool:
    """True where every part of the person, or every part of a path to it, is equated, column to column."""
    pairs = [pair for part in conjuncts(scalar) if (pair := _equated(part, left, right)) is not None]
    origins = {(notes.columns[a].origin, notes.columns[b].origin) for a, b in pairs}
    origins |= {(b, a) for a, b in origins}
    tables = notes.catalog.policy.tables
    return any(
        _person_tied(tables[a], tables[b], origins)
        or _path_tied(tables[a], tables[b], origins)
        or _path_tied(tables[b], tables[a], origins)
        or _same_path_tied(tables[a], tables[b], origins)
        for a in left.tables
        for b in right.tables
    )


_Origins = set[tuple[tuple[str, str] | None, tuple[str, str] | None]]


def _person_tied(a: TablePolicy, b: TablePolicy, origins: _Origins) -> bool:
    """Both hold the person, and it is equated."""
    return (
        not a.path
        and not b.path
        and all(((a.name, x), (b.name, y)) in origins for x, y in zip(a.person, b.person, strict=True))
    )


def _path_tied(a: TablePolicy, b: TablePolicy, origins: _Origins) -> bool:
    """`a` leads through a key of `b`, and that very key is equated."""
    return (
        bool(a.path)
        and a.path[0].table == b.name
        and all(
            ((a.name, x), (b.name, y)) in origins for x, y in zip(a.path[0].columns, a.path[0].to_columns, strict=True)
        )
    )


def _same_path_tied(a: TablePolicy, b: TablePolicy, origins: _Origins) -> bool:
    """Both lead through the same key, and it is equated: the same owners lie ahead of it."""
    return (
        bool(a.path)
        and a.path == b.path
        and all(
            ((a.name, x), (b.name, y)) in origins for x, y in zip(a.path[0].columns, b.path[0].columns, strict=True)
        )
    )


def _equated(scalar: Scalar, left: Source, right: Source) -> tuple[int, int] | None:
    """The two columns of a plain equality across a join; a conversion on either side makes it something else."""
    match scalar:
        case Apply("eq", (ColumnRef(id=a), ColumnRef(id=b))) if (_holds(left, a) and _holds(right, b)) or (
            _holds(left, b) and _holds(right, a)
        ):
            return a, b
        case _:
            return None


def _computed_of_hidden(scalar: Scalar, notes: Notes) -> bool:
    """Hidden columns may be joined on as they are, not after something was made of them."""
    columns = [notes.columns[number] for number in columns_of(scalar)]
    return any(column.hidden and column.origin is None for column in columns)


def _holds(source: Source, number: int) -> bool:
    return any(column.id == number for column in source.relation.columns)
