"""FROM and WHERE: declared tables, joins and subqueries become one relation whose rows carry their owner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from dpsql.catalog.model import TablePolicy
from dpsql.errors import BadName, NobodyLeft, NotSupported
from dpsql.sql import functions
from dpsql.sql.expressions import condition, row_expression
from dpsql.sql.items import alias_of, aliased, has_aggregate, meant, require_ordinal
from dpsql.sql.joins import joined, met, require_aliases
from dpsql.sql.lookups import equated
from dpsql.sql.notes import Notes, Role
from dpsql.sql.outputs import Outputs, expanded, outputs_of
from dpsql.sql.people import grouped_by_person
from dpsql.sql.relations import Column, Filter, Project, Relation
from dpsql.sql.scalars import ColumnRef, Scalar, Windowed, columns_of, conjuncts, walk
from dpsql.sql.scans import Source, scanned
from dpsql.sql.scope import Scope, Table, unknown_name
from dpsql.sql.syntax import (
    At,
    CommonTable,
    Derived,
    Expression,
    From,
    Identifier,
    Item,
    Joined,
    JoinKind,
    Literal,
    Name,
    Select,
    Star,
    TableName,
)


@dataclass(frozen=True, slots=True)
class Known:
    """Common tables in sight: each with those that were in sight where it was written."""

    tables: Mapping[str, tuple[CommonTable, Known]]

    def with_(self, common: CommonTable) -> Known:
        return Known({**self.tables, common.name.name: (common, self)})


NOTHING: Final = Known({})


def source_of(query: Select, known: Known, notes: Notes) -> Source:
    """FROM and WHERE of one SELECT."""
    if query.from_ is None:
        raise NotSupported(
            "a query without FROM",
            why="it asks nothing about the data",
            fix="name a table",
            at=query.at,
        )
    known = _with(query.with_, known)
    tables = []
    for item in _beside(query.from_):  # no comprehension: common tables may stand on each other, and the stack is short
        tables.append(_from(item, known, notes))
    if len(tables) == 1:
        source = _filtered(tables[0], query.where, notes)
    else:
        source = _met_in_where(tables, query.where, query.from_.at, notes)
    _resolve_unread(query.with_, known, notes)
    return source


def _beside(item: From) -> Iterator[From]:
    """Tables side by side, by a comma or CROSS JOIN: what ties them stands in WHERE."""
    if isinstance(item, Joined) and item.kind is JoinKind.CROSS:
        yield from _beside(item.left)
        yield from _beside(item.right)
    else:
        yield item


def _met_in_where(tables: list[Source], where: Expression | None, at: At, notes: Notes) -> Source:
    """Each table joined to those before it by what WHERE says of both; the rest of WHERE is a filter.

    Tables that an equality ties come first, in the order they are written, so that none is paired row by row if it
    need not be.
    """
    scope = tables[0].scope
    for table in tables[1:]:
        require_aliases(scope, table.scope, at)
        scope = scope.using((), table.scope)
    parts = [] if where is None else list(conjuncts(condition(where, scope, notes)))
    source, *rest = tables
    while rest:
        table = next((each for each in rest if any(equated(part, source, each) for part in parts)), rest[0])
        rest = [each for each in rest if each is not table]
        here = [part for part in parts if _spans(part, _numbers(source), _numbers(table))]
        parts = [part for part in parts if part not in here]
        source = met(tuple((part, where.at if where else at) for part in here), source, table, notes, at)
    notes.multiplied = True
    for part in parts:
        notes.use(Role.FILTER, part, where.at if where else at)
        source = replace(source, relation=_filter(source.relation, part, notes))
    return replace(source, scope=scope)


def _spans(part: Scalar, one: frozenset[int], other: frozenset[int]) -> bool:
    """It speaks of both sides and of nothing else; what speaks of one side stays a filter, and narrows its columns."""
    read = columns_of(part)
    return bool(read & one) and bool(read & other) and read <= one | other


def _numbers(source: Source) -> frozenset[int]:
    return frozenset(column.id for column in source.relation.columns)


def _with(commons: tuple[CommonTable, ...], known: Known) -> Known:
    """Each common table sees those before it. One may bear the name of an outer one, not of its neighbour."""
    seen: set[str] = set()
    for common in commons:
        if common.name.name in seen:
            raise BadName(
                f"two common tables are called {common.name.written}",
                why="the query could mean either of them",
                fix=f"give the second one a name of its own, as in {common.name.written}_2 AS (SELECT …)",
                at=common.name.at,
            )
        seen.add(common.name.name)
        known = known.with_(common)
    return known


def _resolve_unread(commons: tuple[CommonTable, ...], known: Known, notes: Notes) -> None:
    """A common table that nobody reads is looked up all the same: a mistake in it is a mistake. It adds nothing else.

    The last comes first, because it may be the one reader of those before it.
    """
    for common in reversed(commons):
        if common.name.at not in notes.read:
            aside = notes.aside()
            _table(TableName(name=(common.name,), at=common.name.at), known, aside)
            notes.scans = aside.scans


def _from(item: From, known: Known, notes: Notes) -> Source:
    match item:
        case TableName():
            return _table(item, known, notes)
        case Derived():
            return _subquery(item.query, known, item.columns, item.alias, notes)
        case Joined():
            return joined(item, _from(item.left, known, notes), _from(item.right, known, notes), notes)


def _table(item: TableName, known: Known, notes: Notes) -> Source:
    name = item.name[-1]
    if len(item.name) == 1 and name.name in known.tables:
        common, before = known.tables[name.name]
        notes.read.add(common.name.at)
        return _subquery(common.query, before, common.columns, item.alias or name, notes)
    source = scanned(_readable(item, known, notes), notes, at=item.at)
    alias = item.alias.name if item.alias else name.name
    (table,) = source.scope.tables
    return replace(source, scope=Scope(tables=(replace(table, alias=alias),)))


def _readable(item: TableName, known: Known, notes: Notes) -> TablePolicy:
    """The declared table that is named. One the analyst may not ask about is one that does not exist."""
    written = ".".join(part.written for part in item.name)
    name = item.name[-1].name
    if len(item.name) > 1 or name not in notes.readable:
        raise unknown_name(f"there is no table {written}", name, (*notes.readable, *known.tables), item.at)
    return notes.catalog.policy.tables[name]


def _filtered(source: Source, where: Expression | None, notes: Notes) -> Source:
    if where is None:
        return source
    scalar = condition(where, source.scope, notes)
    notes.use(Role.FILTER, scalar, where.at)
    notes.multiplied = True
    return replace(source, relation=_filter(source.relation, scalar, notes))


def _filter(relation: Relation, scalar: Scalar, notes: Notes) -> Filter:
    """What the condition says holds for every row above it.

    It proves nothing about an expression above: an engine may compute that first, on rows the filter then drops.
    """
    kept = functions.refined(scalar, lambda number: notes.columns[number].kept)
    declared = functions.refined(scalar, lambda number: notes.columns[number].declared)
    for number, interval in kept.items():
        notes.know(replace(notes.columns[number], kept=interval, declared=declared.get(number, interval)))
    columns = tuple(notes.columns[column.id] for column in relation.columns)
    return Filter(input=relation, condition=scalar, columns=columns)


def _subquery(
    query: Select, known: Known, names: tuple[Identifier, ...], alias: Identifier | None, notes: Notes
) -> Source:
    """A subquery: rows of the same people, filtered and computed with, or one row per person."""
    source = source_of(query, known, notes)
    _require_all_rows(query)
    columns: list[Column] = []
    computed: list[tuple[Column, Scalar]] = []
    if _regroups(query):
        source, columns, computed = _grouped(query, source, notes)
    else:
        for item in query.items:
            columns += _projected(item, source.scope, notes, computed)
        for key in query.order_by:
            _resolve_sort_key(key.expression, query.items, len(columns), source.scope, notes)
    if names:
        if len(names) != len(columns):
            raise BadName(
                f"{len(names)} names for {len(columns)} columns",
                why="each column of a subquery has one name",
                fix="name all of them, or none",
                at=names[0].at,
            )
        columns = [replace(column, name=name.name) for column, name in zip(columns, names, strict=True)]
    relation = source.relation
    if computed:
        passed = relation.columns
        relation = Project(
            input=relation,
            columns=(*passed, *(column for column, _ in computed)),
            expressions=(
                *(ColumnRef(column.id, column.type) for column in passed),
                *(scalar for _, scalar in computed),
            ),
        )
    table = Table(alias=alias.name if alias else "", columns=tuple(columns))
    return replace(source, relation=relation, scope=Scope(tables=(table,)))


def _projected(item: Item, scope: Scope, notes: Notes, computed: list[tuple[Column, Scalar]]) -> list[Column]:
    if isinstance(item.expression, Star):
        return list(scope.star(item.expression))
    return [_named(row_expression(item.expression, scope, notes), alias_of(item), notes, computed)]


def _resolve_sort_key(
    expression: Expression, items: tuple[Item, ...], columns: int, scope: Scope, notes: Notes
) -> None:
    """ORDER BY in a subquery changes nothing and is left out, but its names must be names."""
    if isinstance(expression, Literal) and type(expression.value) is int:
        require_ordinal(expression.value, columns, expression.at)
    else:
        row_expression(aliased(expression, items, scope), scope, notes)


def _regroups(query: Select) -> bool:
    aggregates = any(has_aggregate(item.expression) for item in query.items)
    return bool(query.group_by) or query.having is not None or query.distinct or aggregates


def _grouped(query: Select, source: Source, notes: Notes) -> tuple[Source, list[Column], list[tuple[Column, Scalar]]]:
    """GROUP BY the person, or SELECT DISTINCT with the person: one row per person and whatever else is grouped by."""
    query = replace(query, items=tuple(expanded(query.items, source.scope)))
    by = query.group_by
    if query.distinct and not by:
        by = tuple(item.expression for item in query.items)
        query = replace(query, group_by=by, distinct=False)
    grouped = tuple(meant(expression, query.items, source.scope) for expression in by)
    if query.distinct or not source.owner or not _holds_person(grouped, source, notes):
        raise _regrouped(query, by, source, notes)
    outputs = outputs_of(query, source.scope, notes, inside_person=True)
    _require_no_windows(outputs, query)
    notes.multiplied = True
    relation: Relation = grouped_by_person(source, outputs, notes)
    if outputs.finish.having is not None and query.having is not None:
        notes.use(Role.FILTER, outputs.finish.having, query.having.at)
        relation = _filter(relation, outputs.finish.having, notes)
    columns: list[Column] = []
    computed: list[tuple[Column, Scalar]] = []
    for item, output in zip(query.items, outputs.finish.outputs, strict=True):
        columns.append(_named(output.expression, alias_of(item), notes, computed))
    return replace(source, relation=relation), columns, computed


def _require_no_windows(outputs: Outputs, query: Select) -> None:
    """A window over the groups of a subquery would have to stay inside one person."""
    scalars = (output.expression for output in outputs.finish.outputs)
    if any(isinstance(node, Windowed) for scalar in scalars for node in walk(scalar)):
        raise NotSupported(
            "a window function inside a subquery is not available",
            why="it looks at several rows at once, and no rule keeps it inside one person yet",
            fix="use it in the outer query, on what is released",
            at=query.at,
        )


def _named(scalar: Scalar, name: str, notes: Notes, computed: list[tuple[Column, Scalar]]) -> Column:
    """The column that holds an expression: an old one under a new name, or one that is computed."""
    if isinstance(scalar, ColumnRef):
        return replace(notes.columns[scalar.id], name=name)
    column = notes.computed(name, scalar)
    computed.append((column, scalar))
    return column


def _require_all_rows(query: Select) -> None:
    """Nothing is cut off inside."""
    if query.limit is not None or query.offset:
        raise NobodyLeft(
            "LIMIT and OFFSET are not available inside a subquery",
            why="which rows are left would depend on all the others",
            fix="filter by a condition on the row itself, or cut the released result in the outer query",
            at=query.at,
        )


def _regrouped(query: Select, by: tuple[Expression, ...], source: Source, notes: Notes) -> NobodyLeft | NotSupported:
    """GROUP BY or DISTINCT in a subquery: refused, with the reason that holds for its rows."""
    word = "DISTINCT" if query.distinct else "An aggregate or GROUP BY"
    person = notes.catalog.policy.person.name
    grouped = tuple(meant(expression, query.items, source.scope) for expression in by)
    if _holds_person(grouped, source, notes) or not source.private:
        rows = f"rows that stay one {person}'s" if source.private else "public rows"
        return NotSupported(
            f"{word} inside a subquery is not available",
            why=f"groups of {rows} are safe, but no rule bounds what the outer query makes of them yet",
            fix="aggregate once, in the outer query; filter and compute inside",
            at=query.at,
        )
    return NobodyLeft(
        "the result of the inner query has no person in it any more",
        why=f"a row of it stands for rows of several {person}s at once",
        fix="aggregate once, in one SELECT: HAVING filters its groups, and windows work on its aggregates, as in "
        f"RANK() OVER (ORDER BY COUNT(*) DESC) or SUM(SUM(x)) OVER (ORDER BY k); or GROUP BY the {person} inside",
        at=query.at,
    )


def _holds_person(by: tuple[Expression, ...], source: Source, notes: Notes) -> bool:
    """True where the whole person of some table is among the columns grouped by."""
    stars = [column for each in by if isinstance(each, Star) for column in source.scope.star(each)]
    named = [source.scope.column(each) for each in by if isinstance(each, Name)]
    origins = {column.origin for column in (*stars, *named)}
    tables = (notes.catalog.policy.tables[name] for name in source.tables)
    return any(
        table.person and not table.path and {(table.name, part) for part in table.person} <= origins for table in tables
    )
