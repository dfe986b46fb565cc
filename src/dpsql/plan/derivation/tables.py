"""Where rows come from: literal keys and declared tables. A scan is checked against the policy, column by column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Final

from dpsql.catalog.model import Catalog, TablePolicy, Value
from dpsql.catalog.names import folded
from dpsql.catalog.types import SqlType
from dpsql.plan.derivation.states import NOTHING, Fact, Ids, Owned, Pending, Public, State, refused
from dpsql.sql.relations import AwaitedRows, Column, Listed, Scan


def unique_numbers(columns: Sequence[Column]) -> tuple[int, ...]:
    """The numbers of columns, none of which may be there twice."""
    numbers = tuple(column.id for column in columns)
    if len(set(numbers)) != len(numbers):
        raise refused("two columns with one number")
    return numbers


def _day(value: Value) -> bool:
    return isinstance(value, date) and not isinstance(value, datetime)


def _number(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_DIFFERENT_WHERE_UNEQUAL: Final[Mapping[SqlType, Callable[[Value], bool]]] = {
    SqlType.BOOLEAN: lambda value: isinstance(value, bool),
    SqlType.INTEGER: _number,
    SqlType.TEXT: lambda value: isinstance(value, str),
    SqlType.DATE: _day,
    SqlType.TIMESTAMP: lambda value: isinstance(value, datetime),
}
"""Values that differ here differ in the engine too. Fractions are not among them: two may be one double."""


def of_listed(listed: Listed) -> Public:
    """Literal rows. Keys of an earlier step are not known yet, but each was released once."""
    numbers = unique_numbers(listed.columns)
    if any(len(row) != len(numbers) for row in listed.rows):
        raise refused("a literal row of another length")
    waiting = listed.from_step is not None and not listed.rows
    comparable = all(column.type in _DIFFERENT_WHERE_UNEQUAL for column in listed.columns)
    different = comparable if waiting else len(listed.rows) <= 1 or _all_differ(listed)
    return Public(
        types={column.id: column.type for column in listed.columns},
        distinct=frozenset(numbers) if different else None,
        most=None if waiting else max(len(listed.rows), 1),
    )


def of_awaited(awaited: AwaitedRows) -> Public:
    """Rows that an earlier question will have released: public from then on, any number of them, equal ones too."""
    unique_numbers(awaited.columns)
    return Public(types={column.id: column.type for column in awaited.columns})


def _all_differ(listed: Listed) -> bool:
    rules = [_DIFFERENT_WHERE_UNEQUAL.get(column.type) for column in listed.columns]
    fitting = all(
        rule is not None and (value is None or rule(value))
        for row in listed.rows
        for rule, value in zip(rules, row, strict=True)
    )
    return fitting and len(set(listed.rows)) == len(listed.rows)


def of_scan(scan: Scan, catalog: Catalog) -> State:
    """A declared table, with the owner the policy gives it: nothing the scan says of itself is believed."""
    table = catalog.policy.tables.get(scan.table)
    engine = catalog.schema.get(scan.table)
    if table is None or engine is None or table.source != scan.source:
        raise refused("a table that is not the declared one")
    numbers = unique_numbers(scan.columns)
    names = {column.name for column in engine.columns}
    if len(scan.sources) != len(numbers) or not names.issuperset(scan.sources):
        raise refused("a column the engine does not have")
    if scan.private is table.public:
        raise refused("a private table that passes for a public one")
    unique = {frozenset(map(folded, columns)) for columns in engine.unique}
    return _owned_as_declared(scan, table, unique)


def _owned_as_declared(scan: Scan, table: TablePolicy, unique: set[frozenset[str]]) -> State:
    facts = {
        column.id: Fact(type=None, source=folded(source)) if column.id in scan.raw else Fact(type=column.type)
        for column, source in zip(scan.columns, scan.sources, strict=True)
    }
    named = () if table.public or table.unit_row or table.path else tuple(map(folded, table.person))
    owner = tuple(facts[number].source if number in facts else None for number in scan.owner)
    if owner != named:
        raise refused("rows are given to somebody else than the declared person")
    if table.public:
        return Public(types={number: fact.type for number, fact in facts.items()})
    if table.path:
        return Pending(table=table, facts=facts)
    if not table.unit_row and not named:
        raise refused("a private table without a person")
    alone = table.unit_row or any(columns and columns <= set(named) for columns in unique)
    caps: dict[Ids, int] = {NOTHING: 1} if alone else {}
    return Owned(
        owner=tuple(frozenset({number}) for number in scan.owner),
        facts=facts,
        basis=scan,
        caps=caps,
        spread={},
        table=table,
    )
