"""Subqueries: what their SELECT makes of the rows of FROM and WHERE, so that each row stays one person's."""

from __future__ import annotations

from dataclasses import replace

from dpsql.errors import NobodyLeft, NotSupported
from dpsql.sql import functions
from dpsql.sql.expressions import aggregates, alias_of, aliased, expanded, meant, ordinal, require_boolean
from dpsql.sql.notes import Notes, Role
from dpsql.sql.outputs import outputs_of
from dpsql.sql.people import grouped_by_person
from dpsql.sql.person_windows import PersonWindows, has_windows, holds_whole_person, qualified
from dpsql.sql.relations import Column, Filter, Project, Relation, refs
from dpsql.sql.scalars import ColumnRef, Scalar
from dpsql.sql.scans import Source
from dpsql.sql.scope import Scope, Table, named
from dpsql.sql.syntax import (
    Expression,
    Identifier,
    Item,
    Name,
    Query,
    Select,
    Star,
)


def filtered(relation: Relation, scalar: Scalar, notes: Notes) -> Filter:
    """What the condition says holds for every row above it.

    It proves nothing about an expression above: an engine may compute that first, on rows the filter then drops.
    """
    kept = functions.refined(scalar, lambda number: notes.columns[number].kept)
    declared = functions.refined(scalar, lambda number: notes.columns[number].declared)
    for number, interval in kept.items():
        notes.know(replace(notes.columns[number], kept=interval, declared=declared.get(number, interval)))
    columns = tuple(notes.columns[column.id] for column in relation.columns)
    return Filter(input=relation, condition=scalar, columns=columns)


def subquery(
    query: Select, source: Source, names: tuple[Identifier, ...], alias: Identifier | None, notes: Notes
) -> Source:
    """What a subquery makes of its source: rows of the same people, computed with, or one row per person."""
    require_all_rows(query)
    if source.kept is not None:
        raise source.kept.elsewhere("in a subquery")
    if query.distinct and not query.group_by and has_windows(query):
        source = subquery(replace(query, distinct=False), source, (), None, notes)
        query = Select(distinct=True, items=(Item(expression=Star(at=query.at)),), at=query.at)
    columns: list[Column] = []
    computed: list[tuple[Column, Scalar]] = []
    if regroups(query):
        source, columns, computed = _grouped(query, source, notes)
    else:
        windows = PersonWindows(source, notes)
        for item in query.items:
            if isinstance(item.expression, Star):
                columns += source.scope.star(item.expression)
            else:
                columns.append(_named(windows.row(item.expression), alias_of(item), notes, computed))
        for key in query.order_by:
            if ordinal(key.expression, len(columns)) is None:  # it changes nothing, but its names must be names
                PersonWindows(source, notes).row(aliased(key.expression, query.items, source.scope))
        source = _qualified(query, windows)
    relation = source.relation
    if computed:
        passed = relation.columns
        relation = Project(
            input=relation,
            columns=(*passed, *(column for column, _ in computed)),
            expressions=(
                *refs(passed),
                *(scalar for _, scalar in computed),
            ),
        )
    table = Table(alias=alias.name if alias else "", columns=named(tuple(columns), names))
    return replace(source, relation=relation, scope=Scope(tables=(table,)))


def _qualified(query: Select, windows: PersonWindows) -> Source:
    """The rows with all their windows, for which QUALIFY is true."""
    source, notes = windows.source, windows.notes
    if query.qualify is None:
        return replace(source, relation=windows.relation)
    condition = windows.row(aliased(query.qualify, query.items, source.scope))
    require_boolean(condition, query.qualify)
    notes.use(Role.FILTER, condition, query.qualify.at)
    notes.multiplied = True
    return replace(source, relation=filtered(windows.relation, condition, notes))


def regroups(query: Select) -> bool:
    """Its rows are groups of rows."""
    return query.distinct or aggregates(query)


def _grouped(query: Select, source: Source, notes: Notes) -> tuple[Source, list[Column], list[tuple[Column, Scalar]]]:
    """GROUP BY the person, or SELECT DISTINCT with the person: one row per person and whatever else is grouped by.

    Groups of public rows are public rows.
    """
    if query.qualify is not None:
        raise qualified(query.qualify.at)
    query = replace(query, items=tuple(expanded(query.items, source.scope)))
    by = query.group_by
    if query.distinct and not by:
        by = tuple(item.expression for item in query.items)
        query = replace(query, group_by=by, distinct=False)
    grouped = tuple(meant(expression, query.items, source.scope) for expression in by)
    if query.distinct or (source.private and not (source.owner and _holds_person(grouped, source, notes))):
        raise _regrouped(query, by, source, notes)
    outputs = outputs_of(query, source.scope, notes, inside_person=True)
    notes.multiplied = True
    relation: Relation = grouped_by_person(source, outputs, notes)
    if outputs.finish.having is not None and query.having is not None:
        notes.use(Role.FILTER, outputs.finish.having, query.having.at)
        relation = filtered(relation, outputs.finish.having, notes)
    columns: list[Column] = []
    computed: list[tuple[Column, Scalar]] = []
    windows = PersonWindows(replace(source, relation=relation), notes)
    for item, output in zip(query.items, outputs.finish.outputs, strict=True):
        scalar = windows.read_off(output.expression, item.expression.at)
        columns.append(_named(scalar, alias_of(item), notes, computed))
    return replace(source, relation=windows.relation), columns, computed


def _named(scalar: Scalar, name: str, notes: Notes, computed: list[tuple[Column, Scalar]]) -> Column:
    """The column that holds an expression: an old one under a new name, or one that is computed."""
    if isinstance(scalar, ColumnRef):
        known = notes.columns[scalar.id]
        return notes.know(replace(known, name=name)) if not known.name else replace(known, name=name)
    column = notes.computed(name, scalar)
    computed.append((column, scalar))
    return column


def require_all_rows(query: Query) -> None:
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
        return NotSupported(
            f"{word} beside GROUP BY inside a subquery is not available"
            if query.distinct
            else f"{word} inside a subquery is not available here",
            why="no rule names it",
            fix="GROUP BY makes rows different already: leave DISTINCT out, or filter and compute in one more subquery",
            at=query.at,
        )
    inside = "" if source.by_row else f"or GROUP BY the {person} inside; "
    return NobodyLeft(
        "the result of the inner query has no person in it any more",
        why=f"a row of it stands for rows of several {person}s at once",
        fix="write PRIVATE before the inner query: it is then asked first, with noise and a price of its own, and what "
        f"is done with its answer is free; {inside}or aggregate once, in one SELECT: HAVING filters its groups, and "
        "windows work on its aggregates, as in RANK() OVER (ORDER BY COUNT(*) DESC) or SUM(SUM(x)) OVER (ORDER BY k)",
        try_sql=_asked_first(query, notes.text),
        at=query.at,
    )


def _asked_first(query: Select, text: str) -> str | None:
    """The text with PRIVATE before the parenthesis of a subquery; None where something else stands there."""
    if query.at is None:
        return None
    opening = text.rfind("(", 0, query.at[0])
    if opening < 0 or text[opening + 1 : query.at[0]].strip():
        return None
    return f"{text[:opening]}PRIVATE {text[opening:]}"


def _holds_person(by: tuple[Expression, ...], source: Source, notes: Notes) -> bool:
    """True where the whole person of some table is among the columns grouped by."""
    stars = [column for each in by if isinstance(each, Star) for column in source.scope.star(each)]
    plain = [source.scope.column(each) for each in by if isinstance(each, Name)]
    return holds_whole_person({column.origin for column in (*stars, *plain)}, source, notes)
