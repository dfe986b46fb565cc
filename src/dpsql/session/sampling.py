"""SIMULATE SELECT * FROM t LIMIT 5: invented rows themselves, to see what a table looks like."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from dpsql.catalog.model import Catalog, TablePolicy
from dpsql.catalog.names import folded
from dpsql.errors import DpsqlError
from dpsql.session.answer import Place
from dpsql.session.answer_value import Answer
from dpsql.session.clock import today
from dpsql.session.cost import Cost
from dpsql.session.inventing import simulates
from dpsql.session.labels import labelled
from dpsql.session.permits import readable_tables
from dpsql.session.release import Cell
from dpsql.sql.parse import parse
from dpsql.sql.syntax import Item, Name, Parsed, Select, Star, TableName
from dpsql.synthetic.tables import invented_table

_ROWS: Final = 5
_HIDDEN: Final = "(hidden)"
"""In place of a value that no question may show, not even an invented one."""


def sample(sql: object, place: Place) -> Answer | None:
    """The rows; None where the text asks for anything else, or for something that planning it refuses."""
    try:
        if not isinstance(sql, str) or not simulates(sql):
            return None
        parsed = parse(sql, dialect=place.dialect)
    except DpsqlError:
        return None
    place = place.as_granted_now()
    catalog = place.catalog
    table = _table(parsed, catalog, readable_tables(place.grant, catalog, today=today()))
    columns = None if table is None else _columns(parsed, table)
    if table is None or columns is None:
        return None
    return labelled(_rows(parsed, columns, table, catalog))


def _table(parsed: Parsed, catalog: Catalog, readable: frozenset[str]) -> TablePolicy | None:
    """The one table whose rows are wanted as they are."""
    query = parsed.query
    if not isinstance(query, Select) or not isinstance(query.from_, TableName) or len(query.from_.name) != 1:
        return None
    clauses = (query.with_, query.distinct, query.where, query.group_by, query.having, query.qualify, query.order_by)
    name = query.from_.name[0].name
    if any(clauses) or query.offset or name not in readable:
        return None
    return catalog.policy.tables[name]


def _columns(parsed: Parsed, table: TablePolicy) -> list[tuple[str, str]] | None:
    """What each column is called, and which one it is; None where one of them is no column of the table."""
    query = parsed.query
    items = query.items if isinstance(query, Select) else ()
    found = [pair for item in items for pair in _named(item, table)]
    return found if all(name in table.columns for _, name in found) else None


def _named(item: Item, table: TablePolicy) -> Iterator[tuple[str, str]]:
    match item.expression:
        case Star(table=None):
            yield from ((name, name) for name in table.columns)
        case Name(parts=(column,)):
            yield (column.written if item.alias is None else item.alias.written), column.name
        case _:
            yield "", ""


def _rows(parsed: Parsed, columns: list[tuple[str, str]], table: TablePolicy, catalog: Catalog) -> Answer:
    said = parsed.options.rows
    made = invented_table(catalog, table, rows=None if said is None else said.value)
    limit = parsed.query.limit
    names = [folded(name) for name, _ in made.columns]
    places = [None if table.columns[name].hidden else names.index(name) for _, name in columns]
    return Answer(
        columns=tuple(shown for shown, _ in columns),
        rows=tuple(
            tuple(_HIDDEN if place is None else _cell(row[place]) for place in places)
            for row in made.rows[: _ROWS if limit is None else limit]
        ),
        cost=Cost(epsilon=Fraction(0)),
        release=None,
        confidence=catalog.policy.defaults.confidence,
    )


def _cell(value: object) -> Cell:
    return float(value) if isinstance(value, Fraction) else value  # type: ignore[return-value]
