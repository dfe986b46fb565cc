"""Where rows come from: literal keys and declared tables. A scan is checked against the policy, column by column."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Final

from dpsql.catalog.model import Catalog, KeyRange, TablePolicy, Value
from dpsql.catalog.names import folded
from dpsql.catalog.types import SqlType
from dpsql.plan.derivation.states import NOTHING, Fact, Ids, Owned, Pending, Public, State, refused
from dpsql.sql.relations import AwaitedRows, Column, Listed, ListedKeys, Scan


def unique_numbers(columns: Sequence[Column]) -> tuple[int, ...]:
    """The numbers of columns, none of which may be there twice."""
    numbers = tuple(column.id for column in columns)
    if len(set(numbers)) != len(numbers):
        raise refused("two columns with one number")
    return numbers


_DIFFERENT_WHERE_UNEQUAL: Final[Mapping[SqlType, frozenset[type]]] = {
    SqlType.BOOLEAN: frozenset({bool}),
    SqlType.INTEGER: frozenset({int}),
    SqlType.TEXT: frozenset({str}),
    SqlType.DATE: frozenset({date}),
    SqlType.TIMESTAMP: frozenset({datetime}),
}
"""Values of these classes that differ here differ in the engine too. Fractions are not among them: two may be one
double."""


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


def of_listed_keys(listed: ListedKeys) -> Public:
    """One column of public keys, each once: whatever a list says of itself is counted again."""
    (number,) = unique_numbers(listed.columns)
    (column,), keys = listed.columns, listed.keys
    if isinstance(keys, KeyRange):
        distinct = keys.count >= 0 and _moves_on(keys, column.type)
    else:
        distinct = len(keys.values) <= 1 or (
            _of_one_kind(keys.values, column.type) and len(set(keys.values)) == len(keys.values)
        )
    return Public(
        types={number: column.type}, distinct=frozenset({number}) if distinct else None, most=max(keys.count, 1)
    )


def _moves_on(keys: KeyRange, type_: SqlType) -> bool:
    """Each key of a range lies after the one before it."""
    first, months, length = keys.first, keys.months, keys.microseconds
    match type_:
        case SqlType.INTEGER:
            return type(first) is int and not months and not length
        case SqlType.DATE:
            return type(first) is date and not months and not length
        case SqlType.TIMESTAMP:
            if type(first) is not datetime or first.tzinfo is not None:
                return False
            begins_a_month = first == datetime(first.year, first.month, 1)  # days are cut off at the end of a month
            return (length > 0 and not months) or (months > 0 and not length and begins_a_month)
        case _:
            return False


def _of_one_kind(values: Collection[Value], type_: SqlType) -> bool:
    """Every value is NULL or of this type, so that those which differ here differ in the engine too."""
    return {*map(type, values)} - {type(None)} <= _DIFFERENT_WHERE_UNEQUAL.get(type_, frozenset())


def of_awaited(awaited: AwaitedRows) -> Public:
    """Rows that an earlier question will have released: public from then on, any number of them, equal ones too."""
    unique_numbers(awaited.columns)
    return Public(types={column.id: column.type for column in awaited.columns})


def _all_differ(listed: Listed) -> bool:
    cells = zip(*listed.rows, strict=True)
    fitting = all(_of_one_kind(values, column.type) for values, column in zip(cells, listed.columns, strict=True))
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
