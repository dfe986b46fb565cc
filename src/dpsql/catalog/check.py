"""The policy held against the engine's schema: every name exists, every type agrees, and bounds and keys fit the type
that the engine gives a column. No rows are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime, time
from fractions import Fraction
from typing import Final

from dpsql.catalog import rules, values
from dpsql.catalog.model import (
    Bounds,
    Catalog,
    ColumnPolicy,
    EngineColumn,
    EngineTable,
    KeyKind,
    Keys,
    Policy,
    PublicKeys,
    TablePolicy,
    Value,
)
from dpsql.catalog.names import Mistake, did_you_mean, folded, line_of, listed
from dpsql.catalog.ownership import named_by, settled
from dpsql.catalog.tables import declares_all
from dpsql.catalog.types import SqlType
from dpsql.catalog.views import NO_VIEWS, Views, view_mistakes

_SMALLEST: Final = -(2**63)
_LARGEST: Final = 2**63 - 1


def fitted(column: ColumnPolicy, engine: EngineColumn) -> ColumnPolicy:
    """The declaration with the engine's type, and bounds and keys as values of it; a Mistake where they are not."""
    if engine.type is None:
        raise Mistake(
            f"its type {_kind_of(engine.engine_type) or 'in the engine'} is not read",
            why="values of a type without rules cannot be bounded or compared safely",
            fix=engine.instead or "leave the column out; it may still be named as person or in person_via",
        )
    if engine.wide and column.bounds is None:
        raise Mistake(
            f"its type {engine.engine_type} holds whole numbers beyond 64 bits, and no bounds are declared",
            why="numbers beyond 64 bits are not read: such a row has no value here, and sums would silently miss it",
            fix="declare bounds where all values lie within 64 bits; else read the column through a view that casts it"
            " to VARCHAR, or to DOUBLE",
        )
    if column.type is not None and column.type is not engine.type:
        raise Mistake(
            f"declared as {column.type.value}, but the engine says {engine.type.value}",
            why="bounds and keys of one type mean nothing in another",
            fix=f'write type = "{engine.type.value}", or leave it out',
            key=("type",),
        )
    return replace(
        column, type=engine.type, bounds=_bounds(column.bounds, engine.type), keys=_keys(column, engine.type)
    )


def _kind_of(engine_type: str) -> str:
    """The kind of a nested type without its parts: a library may have taken these from rows, as the digits of the
    decimals in STRUCT(a DECIMAL(2,1))."""
    if engine_type.endswith("]"):
        return "LIST"
    return engine_type.partition("(")[0]


def _bounds(bounds: Bounds | None, kind: SqlType) -> Bounds | None:
    if bounds is None:
        return None
    fit = _BOUNDS.get(kind)
    found = fit(bounds) if fit else None
    if found is None:
        raise Mistake(
            f"do not fit a column of type {kind.value}",
            why="bounds say which values of the column count",
            fix=_BOUNDS_FIX.get(kind, f"leave out bounds: a {kind.value} has no smallest and largest value to count"),
            key=("bounds",),
        )
    return found


def _whole(bounds: Bounds) -> Bounds | None:
    ends = (bounds.low, bounds.high)
    whole = [int(end) for end in ends if isinstance(end, (int, Fraction)) and end == int(end)]
    if len(whole) != 2 or not _SMALLEST <= whole[0] < whole[1] <= _LARGEST:
        return None
    return Bounds(low=whole[0], high=whole[1])


def _numeric(bounds: Bounds) -> Bounds | None:
    return bounds if isinstance(bounds.low, (int, Fraction)) and isinstance(bounds.high, (int, Fraction)) else None


def _instants(bounds: Bounds) -> Bounds | None:
    """Of two dates: from the first moment of the one to the last moment of the other."""
    low, high = bounds.low, bounds.high
    if type(low) is date and type(high) is date:
        return Bounds(low=datetime.combine(low, time.min), high=datetime.combine(high, time.max))
    return bounds if isinstance(low, datetime) and isinstance(high, datetime) else None


_BOUNDS: Final[Mapping[SqlType, Callable[[Bounds], Bounds | None]]] = {
    SqlType.INTEGER: _whole,
    SqlType.DOUBLE: _numeric,
    SqlType.DATE: lambda bounds: bounds if type(bounds.low) is date and type(bounds.high) is date else None,
    SqlType.TIMESTAMP: _instants,
}
_BOUNDS_FIX: Final[Mapping[SqlType, str]] = {
    SqlType.INTEGER: "write two whole numbers of 64 bits, for example bounds = [0, 110]",
    SqlType.DOUBLE: "write two numbers, for example bounds = [0, 2000]",
    SqlType.DATE: 'write two dates, for example bounds = ["2024-01-01", "2026-12-31"]',
    SqlType.TIMESTAMP: 'write two dates or timestamps, for example bounds = ["2024-01-01", "2026-12-31"]',
    SqlType.TEXT: "leave out bounds: a text has no smallest and largest value to count. Where it holds numbers as"
    ' text, register(…, types={"age": "integer"}) declares them',
}


def _keys(column: ColumnPolicy, kind: SqlType) -> Keys | None:
    keys = column.keys
    if keys is None:
        return None
    if kind not in _KEYS:
        raise Mistake(
            f"a column of type {kind.value} has no keys",
            why="two numbers that print alike may differ in their last bit, and so tell people apart",
            fix="where it holds whole numbers only, declare that: "
            f'register(…, types={{"{column.name}": "integer"}}), or, '
            "of a database, a view that casts it to BIGINT. Else leave out keys, and group by ROUND or FLOOR of the "
            "column as a whole number in a query",
            key=("keys",),
        )
    if isinstance(keys, KeyKind):
        return keys  # a calendar has dates as bounds, and those fit dates only
    found = tuple(None if value is None else _key(value, kind) for value in keys.values)
    if len(set(found)) != len(found):
        raise Mistake(
            "two of them are one value",
            why="each key is one row of the answer",
            fix="list each key once",
            key=("keys",),
        )
    return PublicKeys(values=found)


def _key(value: Value, kind: SqlType) -> Value:
    found = _KEYS[kind](value)
    if found is None:
        raise Mistake(
            f"{values.quoted(value)} is not a value of a column of type {kind.value}",
            why="a key that no row can have is an empty group in every answer",
            fix=f"list values of type {kind.value}",
            key=("keys",),
        )
    return found


def _whole_key(value: Value) -> Value:
    fits = isinstance(value, int) and not isinstance(value, bool) and _SMALLEST <= value <= _LARGEST
    return value if fits else None


def _moment_key(value: Value) -> date | datetime | None:
    """A date or timestamp; ISO text is read as one, since the column holds nothing else."""
    try:
        return values.moment(value)
    except Mistake:
        return None


def _day_key(value: Value) -> Value:
    found = _moment_key(value)
    return None if isinstance(found, datetime) else found


def _instant_key(value: Value) -> Value:
    found = _moment_key(value)
    return datetime.combine(found, time.min) if type(found) is date else found


_KEYS: Final[Mapping[SqlType, Callable[[Value], Value]]] = {
    SqlType.BOOLEAN: lambda value: value if isinstance(value, bool) else None,
    SqlType.INTEGER: _whole_key,
    SqlType.TEXT: lambda value: value if isinstance(value, str) else None,
    SqlType.DATE: _day_key,
    SqlType.TIMESTAMP: _instant_key,
}


def checked(policy: Policy, schema: Mapping[str, EngineTable], *, views: Views = NO_VIEWS) -> Catalog:
    """The catalogue: the policy with paths followed, names and types of the engine filled in.

    BadPolicy where anything is wrong; `all_mistakes` has all of it. `views` are those of the engine.
    """
    catalog, wrong = _examined(policy, schema, views)
    if wrong:
        raise wrong[0].as_error(policy.written)
    return catalog


def all_mistakes(policy: Policy, schema: Mapping[str, EngineTable], *, views: Views = NO_VIEWS) -> list[Mistake]:
    """Everything that is wrong, in the order of the file."""
    return _examined(policy, schema, views)[1]


def _examined(policy: Policy, schema: Mapping[str, EngineTable], views: Views) -> tuple[Catalog, list[Mistake]]:
    tables, wrong_paths = settled(policy.tables)
    policy = replace(policy, tables=tables)
    wrong = [*wrong_paths, *rules.mistakes(policy)]
    owning = _owning_columns(tables.values())
    by_name: dict[str, list[str]] = {}
    for name in schema:
        by_name.setdefault(folded(name), []).append(name)
    engine: dict[str, EngineTable] = {}
    fitting: dict[str, TablePolicy] = {}
    for name, table in tables.items():
        try:
            source = _engine_name(table, by_name)
            engine[name] = schema[source]
        except Mistake as mistake:
            wrong.append(mistake.under("table", name))
            continue
        columns, mistakes = _fitted_columns(table, engine[name], owning.get(name, set()))
        fitting[name] = replace(table, source=source, columns=columns)
        wrong += [mistake.under("table", name, "columns") for mistake in mistakes]
    lost = {mistake.key[1] for mistake in wrong_paths}
    wrong += _owner_mistakes({name: table for name, table in tables.items() if name not in lost}, engine)
    wrong += view_mistakes(fitting, views)
    if policy.written is not None:
        written = policy.written
        wrong.sort(key=lambda mistake: line_of(mistake.key, written))
    return Catalog(policy=replace(policy, tables=fitting), schema=engine), wrong


def _owning_columns(tables: Iterable[TablePolicy]) -> dict[str, set[str]]:
    """By table: the columns that hold a person or lead to one."""
    found: dict[str, set[str]] = {}
    for table in tables:
        here = table.name
        for step in table.path:
            found.setdefault(here, set()).update(step.columns)
            found.setdefault(step.table, set()).update(step.to_columns)
            here = step.table
        found.setdefault(here, set()).update(table.person)
    return found


def _engine_name(table: TablePolicy, by_name: Mapping[str, list[str]]) -> str:
    """The engine's name of a declared table, among its names by how they are compared."""
    found = by_name.get(folded(table.source), [])
    if len(found) != 1:
        known = (name for names in by_name.values() for name in names)
        raise Mistake(
            f"the engine has {listed(found)}, which differ in upper and lower case only"
            if found
            else f"the engine has no table {table.source}{did_you_mean(table.source, known)}",
            why="a table must be found without doubt, or another one would be read",
            fix='correct the name, or give the name in the engine as source = "…"',
        )
    return found[0]


def _engine_column(name: str, engine: EngineTable) -> EngineColumn:
    found = [column for column in engine.columns if folded(column.name) == name]
    if len(found) != 1:
        known = [column.name for column in engine.columns]
        raise Mistake(
            f"{engine.name} has {listed(column.name for column in found)}, which differ in upper and lower case only"
            if found
            else f"{engine.name} has no column {name}{did_you_mean(name, known)}",
            why="a column must be found without doubt, or another one would be read",
            fix="correct the name, or leave the column out",
        )
    return found[0]


def _fitted_columns(
    table: TablePolicy, engine: EngineTable, owning: set[str]
) -> tuple[dict[str, ColumnPolicy], list[Mistake]]:
    """The declared columns as the engine has them. A public table without any declares all that can be read."""
    if declares_all(table):
        return _readable_columns(engine), []
    found: dict[str, ColumnPolicy] = {}
    wrong: list[Mistake] = []
    for name, column in table.columns.items():
        try:
            known = _engine_column(name, engine)
            only_owning = name in owning and known.type is None and _says_nothing(column)
            found[name] = column if only_owning else fitted(column, known)
        except Mistake as mistake:
            if name not in named_by(table) or not _says_nothing(column):  # else told where the owner wrote it
                wrong.append(mistake.under(name))
    return found, wrong


def _says_nothing(column: ColumnPolicy) -> bool:
    """About values: it is declared, perhaps hidden, and that is all."""
    return column.type is None and column.bounds is None and column.keys is None


def _readable_columns(engine: EngineTable) -> dict[str, ColumnPolicy]:
    often = Counter(folded(column.name) for column in engine.columns)
    names = [
        (folded(column.name), column.type)
        for column in engine.columns
        if column.type is not None and not column.wide and often[folded(column.name)] == 1
    ]
    return {name: ColumnPolicy(name=name, type=kind) for name, kind in names}


def _owner_mistakes(tables: Mapping[str, TablePolicy], engine: Mapping[str, EngineTable]) -> Iterator[Mistake]:
    """Columns that hold people, or lead to them, exist and have one type: equal values must mean equal people."""
    first: tuple[str, list[str]] | None = None
    for name, table in tables.items():
        if name not in engine or not (table.person or table.path):
            continue
        key = "person_via" if table.path else "person"
        try:
            if table.path:
                _lead(table, engine)
                continue
            kinds = [_kind(column, engine[name]) for column in table.person]
            first = first or (name, kinds)
            if first[1] != kinds:
                raise Mistake(
                    f"its type is {listed(kinds)}, but {listed(first[1])} in {first[0]}",
                    why="values of two types are equal in one comparison and different in another, and so are people",
                    fix="give the person columns one type in the engine",
                )
        except Mistake as mistake:
            yield mistake.under("table", name, key)


def _lead(table: TablePolicy, engine: Mapping[str, EngineTable]) -> None:
    """The first step of a path joins columns of one type. Further steps are those of the table it leads to."""
    step = table.path[0]
    here = [_kind(column, engine[table.name]) for column in step.columns]
    if step.table not in engine:
        return  # told already
    there = [_kind(column, engine[step.table]) for column in step.to_columns]
    if here != there:
        raise Mistake(
            f"{listed(step.columns)} is of type {listed(here)}, but the key of {step.table} of {listed(there)}",
            why="a comparison that casts could lead to somebody else, or to several people",
            fix="give both columns one type in the engine",
        )


def _kind(name: str, engine: EngineTable) -> str:
    """The engine's name of the type of a column that holds or leads to a person."""
    column = _engine_column(name, engine)
    kind = column.engine_type.upper() or (column.type.value if column.type else "")
    if column.wide:
        raise Mistake(
            f"{engine.name}.{column.name} is of type {kind}, which cannot name a person",
            why="numbers beyond 64 bits are not read, and the people they name would be lost",
            fix="read the table through a view that casts the column to BIGINT, or to VARCHAR",
        )
    if column.type is SqlType.DOUBLE or not kind:
        raise Mistake(
            f"{engine.name}.{column.name} is of type {kind or 'unknown'}, which cannot name a person",
            why="decimal numbers that look alike may differ, and different people could be taken for one",
            fix="use a column of whole numbers or text",
        )
    return kind
