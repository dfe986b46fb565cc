"""FROM and WHERE: declared tables, joins and subqueries become one relation whose rows carry their owner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from dpsql.catalog.model import TablePolicy
from dpsql.catalog.names import RESERVED_SCHEMA
from dpsql.catalog.types import SqlType
from dpsql.errors import BadName, NotSupported
from dpsql.sql import joins
from dpsql.sql.expressions import condition, has_private_value
from dpsql.sql.notes import Notes, Role, awaited_rows
from dpsql.sql.person_windows import has_windows, qualified
from dpsql.sql.relations import Column, Listed
from dpsql.sql.scalars import Scalar, columns_of, conjuncts
from dpsql.sql.scans import Source, count_scan, scanned
from dpsql.sql.scope import Scope, Table, unknown_name
from dpsql.sql.subqueries import filtered, regroups, subquery
from dpsql.sql.syntax import (
    At,
    CommonTable,
    Derived,
    Expression,
    From,
    Identifier,
    Joined,
    JoinKind,
    Query,
    Select,
    TableName,
)
from dpsql.sql.unions import union


@dataclass(frozen=True, slots=True)
class Known:
    """Common tables in sight: each with those that were in sight where it was written."""

    tables: Mapping[str, tuple[CommonTable, Known]]

    def with_(self, common: CommonTable) -> Known:
        return Known({**self.tables, common.name.name: (common, self)})


NOTHING: Final = Known({})


def source_of(query: Select, known: Known, notes: Notes) -> Source:
    """FROM and WHERE of one SELECT."""
    if query.qualify is not None and not query.group_by:
        raise qualified(query.qualify.at)
    source, _ = _rows_of(query, known, notes)
    return source


def _rows_of(query: Select, known: Known, notes: Notes, around: Source | None = None) -> tuple[Source, joins.Parts]:
    """The same; in a subquery of WHERE, also the conditions on the row `around` it."""
    known = _with(query.with_, known)
    if query.from_ is None:
        source = kept_by(_one_row(query, notes), query.where, notes)
        _resolve_unread(query.with_, known, notes)
        return source, ()
    tables = []
    for item in _beside(query.from_):  # no comprehension: common tables may stand on each other, and the stack is short
        tables.append(_from(item, known, notes))
    scope = tables[0].scope
    for table in tables[1:]:
        joins.require_aliases(scope, table.scope, query.from_.at)
        scope = scope.using((), table.scope)
    where, memberships = joins.taken_out(query.where)
    apart: joins.Parts = ()
    if around is not None:
        where, apart = joins.correlated(where, scope, around, notes)
    if len(tables) == 1:
        source = kept_by(tables[0], where, notes)
    else:
        source = _met_in_where(tables, scope, where, query.from_.at, notes)
    for membership in memberships:
        source = _among(membership, source, known, notes)
    _resolve_unread(query.with_, known, notes)
    return source, apart


def _among(membership: joins.Membership, source: Source, known: Known, notes: Notes) -> Source:
    """The rows that have, or have not, a partner in a subquery of WHERE."""
    query = joins.rows_alone(membership.among.query)
    if not isinstance(query, Select):
        return joins.chosen(membership, source, _derived(query, (), None, known, notes), (), notes)
    rows, apart = _rows_of(query, known, notes, around=source)
    if apart and (regroups(query) or has_windows(query)):
        raise NotSupported(
            "a subquery that groups or numbers its rows, and compares them with the row around it",
            why="whether the comparison comes before that or after it makes a difference, and no rule names it",
            fix="write it without the comparison: person IN (SELECT person FROM … GROUP BY person HAVING …)",
            at=membership.among.at,
        )
    return joins.chosen(membership, source, subquery(query, rows, (), None, notes), apart, notes)


def _one_row(query: Select, notes: Notes) -> Source:
    """SELECT without FROM computes with released numbers alone; without any it asks nothing."""
    if not any(has_private_value(item.expression) for item in query.items):
        raise NotSupported(
            "a query without FROM",
            why="it asks nothing about the data",
            fix="name a table",
            at=query.at,
        )
    column = notes.know(Column(id=notes.numbers.fresh(), name="", type=SqlType.INTEGER, public=True))
    return Source(relation=Listed(columns=(column,), rows=((1,),)), scope=Scope(tables=()), private=False)


def _beside(item: From) -> Iterator[From]:
    """Tables side by side, by a comma or CROSS JOIN: what ties them stands in WHERE."""
    if isinstance(item, Joined) and item.kind is JoinKind.CROSS:
        yield from _beside(item.left)
        yield from _beside(item.right)
    else:
        yield item


def _met_in_where(tables: list[Source], scope: Scope, where: Expression | None, at: At, notes: Notes) -> Source:
    """Each table joined to those before it by what WHERE says of both; the rest of WHERE is a filter.

    Tables that an equality ties come first, in the order they are written, so that none is paired row by row if it
    need not be.
    """
    parts = [] if where is None else list(conjuncts(condition(where, scope, notes)))
    source, *rest = tables
    while rest:
        table = next((each for each in rest if any(joins.equated(part, source, each) for part in parts)), rest[0])
        rest = [each for each in rest if each is not table]
        here = [part for part in parts if _spans(part, _numbers(source), _numbers(table))]
        parts = [part for part in parts if part not in here]
        source = joins.met(tuple((part, where.at if where else at) for part in here), source, table, notes, at)
    notes.multiplied = True
    for part in parts:
        notes.use(Role.FILTER, part, where.at if where else at)
        source = replace(source, relation=filtered(source.relation, part, notes))
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
        case Derived() if item.private:
            return _awaited(item.query, item.columns, item.alias, notes)
        case Derived():
            return _derived(item.query, item.columns, item.alias, known, notes)
        case Joined():
            return joins.joined(item, _from(item.left, known, notes), _from(item.right, known, notes), notes)


def _derived(
    query: Query, columns: tuple[Identifier, ...], alias: Identifier | None, known: Known, notes: Notes
) -> Source:
    """A query that is read as a table."""
    if isinstance(query, Select):
        rows, _ = _rows_of(query, known, notes)
        return subquery(query, rows, columns, alias, notes)
    known = _with(query.with_, known)
    branches = []
    for branch in query.branches:
        branches.append(_derived(branch, (), None, known, notes))
    source = union(query, branches, columns, alias, notes)
    _resolve_unread(query.with_, known, notes)
    return source


def _table(item: TableName, known: Known, notes: Notes) -> Source:
    name = item.name[-1]
    if len(item.name) == 1 and name.name in known.tables:
        common, before = known.tables[name.name]
        notes.read.add(common.name.at)
        if common.private:
            return _awaited(common.query, common.columns, item.alias or name, notes)
        return _derived(common.query, common.columns, item.alias or name, before, notes)
    source = scanned(_readable(item, known, notes), notes, at=item.at)
    alias = item.alias.name if item.alias else name.name
    (table,) = source.scope.tables
    return replace(source, scope=Scope(tables=(replace(table, alias=alias),)))


def _awaited(query: Query, names: tuple[Identifier, ...], alias: Identifier | None, notes: Notes) -> Source:
    """What a PRIVATE query will have released: public rows, whatever they were computed from."""
    relation = awaited_rows(query, names, notes.outcomes, notes.numbers)
    for column in relation.columns:
        notes.know(column)
    notes.released.update(relation.columns[place].id for place in notes.outcomes[query.at].made_noisy)
    count_scan(notes, at=query.at)
    table = Table(alias=alias.name if alias else "", columns=relation.columns)
    return Source(relation=relation, scope=Scope(tables=(table,)), private=False)


def _readable(item: TableName, known: Known, notes: Notes) -> TablePolicy:
    """The declared table that is named. One the analyst may not ask about is one that does not exist."""
    written = ".".join(part.written for part in item.name)
    name = item.name[-1].name
    if len(item.name) == 2 and item.name[0].name == RESERVED_SCHEMA:
        raise BadName(
            f"{written} is asked with something else",
            why="tables of dp are answered for nothing, from the policy and the ledger",
            fix=f"ask it alone: SELECT * FROM {written}",
            at=item.at,
        )
    if len(item.name) > 1 or name not in notes.readable:
        raise unknown_name(f"there is no table {written}", name, (*notes.readable, *known.tables), item.at)
    return notes.catalog.policy.tables[name]


def kept_by(source: Source, where: Expression | None, notes: Notes) -> Source:
    """The rows that the condition keeps."""
    if where is None:
        return source
    scalar = condition(where, source.scope, notes)
    notes.use(Role.FILTER, scalar, where.at)
    notes.multiplied = True
    return replace(source, relation=filtered(source.relation, scalar, notes))
