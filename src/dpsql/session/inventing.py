"""SIMULATE: the same plan, in a place where nobody lives; and a few of its rows, to see what they look like.

The engine of that place holds invented rows, and its ledger is of that place alone: whatever is charged and stored
there is gone with it. Nothing else in the pipeline knows of it, so that what is simulated is what would happen; and the
engine with the data and the ledger of the promise are out of its reach.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Final

from dpsql.accounting.account import Account
from dpsql.catalog.digest import declarations, text_digest
from dpsql.catalog.model import Catalog, Grant, TablePolicy
from dpsql.catalog.names import folded
from dpsql.errors import DpsqlError, NotSupported
from dpsql.ledger.book import Ledger
from dpsql.ledger.facts import Adopted
from dpsql.ledger.memory import MemoryLedger
from dpsql.session.answer import Place
from dpsql.session.answer_value import Answer, labelled
from dpsql.session.declared import ownership_of
from dpsql.session.digits import NO_COST
from dpsql.session.granting import keep_grant
from dpsql.session.permits import readable_tables, today
from dpsql.session.release import Cell
from dpsql.session.views import about_a_view
from dpsql.sql.parse import parse
from dpsql.sql.parsing.text import prepared
from dpsql.sql.syntax import Item, Name, Parsed, Purpose, Select, Star, TableName
from dpsql.synthetic.tables import invented_engine, invented_table


def simulates(sql: str) -> bool:
    """Whether a text begins with SIMULATE; raises where that cannot be read."""
    return "simulate" in sql.lower() and prepared(sql).purpose is Purpose.SIMULATE


def invented_place(sql: str, place: Place, *, rows: int | None = None) -> Place:
    """Where this simulation happens: planned under the accounts as they are, paid from others."""
    parsed = parse(sql, dialect=place.dialect)
    _require_tables(parsed)
    said = parsed.options.rows
    catalog, accounts = place.catalog, place.accounts
    read = readable_tables(place.grant, catalog, today=today()).intersection(_named(parsed.query))
    return replace(
        place,
        engine=invented_engine(catalog, read, rows=rows if said is None else said.value),
        ledger=ledger_of_nobody(catalog, accounts[0], place.grant),
        planned_under=accounts,
        invented=True,
    )


def _named(part: object) -> Iterator[str]:
    """Every table that is named anywhere in a statement."""
    if isinstance(part, TableName):
        yield part.name[-1].name
    elif isinstance(part, tuple):
        yield from (name for each in part for name in _named(each))
    elif is_dataclass(part):
        yield from (name for each in fields(part) for name in _named(getattr(part, each.name)))


def _require_tables(parsed: Parsed) -> None:
    if about_a_view(parsed) is not None:
        raise NotSupported(
            "a view of dpsql is not simulated",
            why="it tells your own standing, exactly and for nothing",
            fix="leave SIMULATE out",
            at=parsed.query.at,
        )


def ledger_of_nobody(catalog: Catalog, promise: Account, grant: Grant) -> Ledger:
    """A ledger in which the same promise was made and the same grant given, and nothing was spent yet."""
    ledger = MemoryLedger()
    ledger.promise(epsilon=promise.epsilon, delta=promise.delta, delta_prime=promise.delta_prime)
    text = declarations(catalog)
    ledger.declare(ownership_of(catalog), Adopted(digest=text_digest(text), text=text))
    keep_grant(ledger, grant, replace(catalog.policy, grants=()))
    return ledger


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
    found = [pair for item in items for pair in _items(item, table)]
    return found if all(name in table.columns for _, name in found) else None


def _items(item: Item, table: TablePolicy) -> Iterator[tuple[str, str]]:
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
        cost=NO_COST,
        confidence=catalog.policy.defaults.confidence,
    )


def _cell(value: object) -> Cell:
    return float(value) if isinstance(value, Fraction) else value  # type: ignore[return-value]
