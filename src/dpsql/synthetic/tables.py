"""Invented tables that fit together: whoever is in one is in the others, and what points to a row finds one.

How many rows there are is what the policy says everybody may know, or a round number. People are numbered from 1 on;
so is whatever the engine keeps apart, and columns of its name in other tables point to it. Every listed key is as
likely as another, every value between the bounds too. Nothing here resembles the data.
An engine holds them and nothing else: the very statements of a plan run on it.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from random import Random
from typing import Final, TypeAlias

from dpsql.catalog.model import (
    Bounds,
    Catalog,
    ColumnPolicy,
    EngineColumn,
    KeyKind,
    PathStep,
    PublicKeys,
    TablePolicy,
    Value,
)
from dpsql.catalog.names import folded
from dpsql.catalog.types import SqlType
from dpsql.engines.desk import DeskTable
from dpsql.engines.duckdb import DuckdbEngine
from dpsql.engines.engine import Engine, Limits
from dpsql.require import require_count

Values: TypeAlias = list[Value]

_SEED: Final = "dpsql: rows that nobody lives in"
_PRIVATE_KEYS: Final = 12
"""How many groups a column has whose groups are private."""
_ONE_NULL_IN: Final = 50
_STEPS: Final = 1000
"""Into how many parts the way between two bounds is divided."""
_LARGEST: Final = 2**63 - 1
_FIRST_DAY: Final = datetime(2025, 1, 1)
_UNBOUNDED: Final[Mapping[SqlType, Bounds]] = {
    SqlType.INTEGER: Bounds(low=1, high=100),
    SqlType.DOUBLE: Bounds(low=0, high=100),
    SqlType.DATE: Bounds(low=_FIRST_DAY.date(), high=date(2025, 12, 31)),
    SqlType.TIMESTAMP: Bounds(low=_FIRST_DAY, high=datetime(2025, 12, 31, 23, 59, 59)),
}
"""Of a column of which nobody says how large its values are."""


def chance(*names: str) -> Callable[[int], int]:
    """A die for one purpose: `die(n)` is one of 0, …, n − 1. The same names give the same numbers in every process."""
    source = Random("/".join((_SEED, *names)))  # no noise comes from here: what everybody may know protects nobody
    return lambda sides: min(sides - 1, int(source.random() * sides))


def numbered(type_: SqlType, name: str, number: int) -> Value:
    """The value that stands for the thing of this number, from 0 on: the same wherever it is named."""
    match type_:
        case SqlType.TEXT:
            return f"{name} {number + 1}"
        case SqlType.BOOLEAN:
            return number % 2 == 0
        case SqlType.DATE:
            return _FIRST_DAY.date() + timedelta(days=number)
        case SqlType.TIMESTAMP:
            return _FIRST_DAY + timedelta(minutes=number)
        case _:
            return number + 1


def identifiers(column: ColumnPolicy | None, type_: SqlType, name: str, count: int) -> Values:
    """A value for each row, all of them different as far as keys and bounds leave room."""
    if column is not None and isinstance(column.keys, PublicKeys):
        keys = column.keys.values
        return [keys[row % len(keys)] for row in range(count)]
    if type_ is SqlType.INTEGER and column is not None and column.bounds is not None:
        low, high = _whole(column.bounds)
        return [low + row % (high - low + 1) for row in range(count)]
    return [numbered(type_, name, row) for row in range(count)]


def invented_column(column: ColumnPolicy, engine: EngineColumn, count: int, *, seed: str, nulls: bool) -> Values:
    """A value for each row, as the policy describes them; with `nulls`, NULL now and then where it may be."""
    die = chance(seed, column.name)
    one = _one(column, engine, column.type or engine.type or SqlType.TEXT)
    nulls = nulls and not (engine.not_null or column.not_null)
    return [None if nulls and die(_ONE_NULL_IN) == 0 else one(die, row) for row in range(count)]


_Die: TypeAlias = Callable[[int], int]


def _one(column: ColumnPolicy, engine: EngineColumn, type_: SqlType) -> Callable[[_Die, int], Value]:
    """How one value is chosen."""
    if isinstance(column.keys, PublicKeys):
        keys = column.keys.values
        return lambda die, _: keys[die(len(keys))]
    if column.keys is KeyKind.PRIVATE and column.bounds is None:
        return lambda die, _: numbered(type_, column.name, die(_PRIVATE_KEYS))
    if type_ is SqlType.BOOLEAN:
        return lambda die, _: die(2) == 0
    if type_ is SqlType.TEXT:
        return lambda _, row: numbered(type_, column.name, row)
    return _BETWEEN[type_](column.bounds or _UNBOUNDED[type_], engine.scale)


def _integers(bounds: Bounds, _: int | None) -> Callable[[_Die, int], Value]:
    low, high = _whole(bounds)
    return lambda die, _: low + die(high - low + 1)


def _whole(bounds: Bounds) -> tuple[int, int]:
    """The whole numbers between the bounds that 64 bits hold; at least one."""
    low = max(-_LARGEST, math.ceil(_number(bounds.low)))
    return low, max(low, min(_LARGEST, math.floor(_number(bounds.high))))


def _doubles(bounds: Bounds, scale: int | None) -> Callable[[_Die, int], Value]:
    low, high = _number(bounds.low), _number(bounds.high)
    step = (high - low) / _STEPS

    def one(die: _Die, _: int) -> Value:
        value = low + die(_STEPS + 1) * step
        return value if scale is None else min(high, max(low, round(value, scale)))

    return one


def _number(end: object) -> Fraction:
    return Fraction(end) if isinstance(end, int | Fraction) else Fraction(0)


def _dates(bounds: Bounds, _: int | None) -> Callable[[_Die, int], Value]:
    low, high = _day(bounds.low), _day(bounds.high)
    days = (high - low).days
    return lambda die, _: low + timedelta(days=die(days + 1))


def _day(end: object) -> date:
    return end.date() if isinstance(end, datetime) else end if isinstance(end, date) else _FIRST_DAY.date()


def _timestamps(bounds: Bounds, _: int | None) -> Callable[[_Die, int], Value]:
    low, high = _moment(bounds.low), _moment(bounds.high)
    seconds = int((high - low).total_seconds())
    return lambda die, _: low + timedelta(seconds=die(seconds + 1))


def _moment(end: object) -> datetime:
    day = _day(end)
    return end if isinstance(end, datetime) else datetime(day.year, day.month, day.day)


_BETWEEN: Final[Mapping[SqlType, Callable[[Bounds, int | None], Callable[[_Die, int], Value]]]] = {
    SqlType.INTEGER: _integers,
    SqlType.DOUBLE: _doubles,
    SqlType.DATE: _dates,
    SqlType.TIMESTAMP: _timestamps,
}


MOST_ROWS: Final = 20_000
"""Of one table: they are made for nothing, and whoever asks has no account for time."""
_PRIVATE_ROWS: Final = 1_000
_PUBLIC_ROWS: Final = 10
_ROWS_EACH: Final = 3
"""Of a person, where the policy does not say."""


def invented_tables(catalog: Catalog, names: Collection[str], *, rows: int | None = None) -> Mapping[str, DeskTable]:
    """These declared tables by their names in the engine; what they hold does not depend on which others are made.
    `rows`: of each private one."""
    making = _making(catalog, rows)
    return {table.source: making.table(table) for table in catalog.policy.tables.values() if table.name in names}


def with_paths(catalog: Catalog, names: Iterable[str]) -> frozenset[str]:
    """These tables, and those that lead from their rows to people."""
    declared = [catalog.policy.tables[name] for name in names]
    return frozenset(name for table in declared for name in (table.name, *(step.table for step in table.path)))


def invented_table(catalog: Catalog, table: TablePolicy, *, rows: int | None = None) -> DeskTable:
    """The same for one of them."""
    return _making(catalog, rows).table(table)


def _making(catalog: Catalog, rows: int | None) -> Making:
    if rows is not None:
        require_count(rows=rows, at_most=MOST_ROWS)
    return Making(catalog=catalog, rows=rows)


@dataclass(slots=True, kw_only=True)
class Making:
    """Columns are made when they are first needed, and once."""

    catalog: Catalog
    rows: int | None
    made: dict[tuple[str, str], Values] = field(default_factory=dict)

    def table(self, table: TablePolicy) -> DeskTable:
        """Everything of a table that a statement may read."""
        names = tuple(dict.fromkeys((*table.columns, *map(folded, self._needed(table)))))
        columns = [self._engine(table.name)[name] for name in names]
        values = [self.column(table.name, name) for name in names]
        return DeskTable(
            columns=tuple((column.name, self._type(table.name, folded(column.name))) for column in columns),
            rows=list(zip(*values, strict=True)) if values else [],
        )

    def column(self, table: str, name: str) -> Values:
        """The values of a column, row by row."""
        if (table, name) not in self.made:
            self.made[table, name] = self._made(self.catalog.policy.tables[table], name)
        return self.made[table, name]

    def size(self, table: TablePolicy) -> int:
        """How many rows it has."""
        if table.public:
            return min(table.rows or self._listed(table) or _PUBLIC_ROWS, MOST_ROWS)
        size = self.rows or min(table.rows or _PRIVATE_ROWS, MOST_ROWS)
        return size if not table.person or table.path else min(size, self._people() * self._rows_each(table))

    def _needed(self, table: TablePolicy) -> tuple[str, ...]:
        """Columns that nobody need declare: the person, the steps of its path, and what paths of others lead to."""
        own = table.path[0].columns if table.path else table.person
        ends = [
            (other.path[number + 1].columns if number + 1 < len(other.path) else other.person, step)
            for other in self.catalog.policy.tables.values()
            for number, step in enumerate(other.path)
            if step.table == table.name
        ]
        return (*own, *(name for onward, step in ends for name in (*step.to_columns, *onward)))

    def _made(self, table: TablePolicy, name: str) -> Values:
        size, type_ = self.size(table), self._type(table.name, name)
        if not table.path and name in map(folded, table.person):
            return [numbered(type_, self.catalog.policy.person.name, who) for who in self._owners(table, size)]
        target = self._pointed_to(table, name)
        if target is not None:
            found = self.column(*target)
            die = chance(table.name, "points to", target[0])  # the same row for every column that points to it
            return [found[die(len(found))] for _ in range(size)]
        if self._is_identifier(table, name):
            return identifiers(table.columns.get(name), type_, name, size)
        declared = table.columns.get(name) or ColumnPolicy(name=name, type=type_)
        engine = self._engine(table.name)[name]
        return invented_column(declared, engine, size, seed=table.name, nulls=not table.public)

    def _pointed_to(self, table: TablePolicy, name: str) -> tuple[str, str] | None:
        """The column of another table whose values it repeats: along its path, or by its name."""
        steps: tuple[PathStep, ...] = table.path[:1]
        for step in steps:
            pairs = dict(zip(map(folded, step.columns), map(folded, step.to_columns), strict=True))
            if name in pairs:
                return step.table, pairs[name]
        own = table.columns.get(name)
        if self._is_identifier(table, name) or (own is not None and isinstance(own.keys, PublicKeys)):
            return None
        for other in self.catalog.policy.tables.values():
            same = other.name != table.name and name in self._engine(other.name) and self._is_identifier(other, name)
            if same and self._type(other.name, name) is self._type(table.name, name):
                return other.name, name
        return None

    def _is_identifier(self, table: TablePolicy, name: str) -> bool:
        """No two rows have the same, by the engine or by the policy; or the path of another table leads to it."""
        alone = {folded(key[0]) for key in self.catalog.schema[table.name].unique if len(key) == 1}
        column = table.columns.get(name)
        steps = (step for other in self.catalog.policy.tables.values() for step in other.path)
        led_to = {folded(end) for step in steps if step.table == table.name for end in step.to_columns}
        return name in alone | led_to or (column is not None and column.unique)

    def _listed(self, table: TablePolicy) -> int | None:
        """As many rows as there are listed keys of an identifier."""
        keys = (column.keys for name, column in table.columns.items() if self._is_identifier(table, name))
        return next((len(each.values) for each in keys if isinstance(each, PublicKeys)), None)

    def _people(self) -> int:
        """As many as the largest table has in which each has one row; else as many as have a few rows each."""
        tables = [table for table in self.catalog.policy.tables.values() if table.person and not table.path]
        sizes = [(self.rows or min(table.rows or _PRIVATE_ROWS, MOST_ROWS), table) for table in tables]
        once = [size for size, table in sizes if self._rows_each(table) == 1]
        return max(once) if once else max(1, max(2 * size // (1 + self._rows_each(table)) for size, table in sizes))

    def _rows_each(self, table: TablePolicy) -> int:
        enforced = frozenset(map(folded, table.person)) in {
            frozenset(map(folded, key)) for key in self.catalog.schema[table.name].unique
        }
        return 1 if table.unique or enforced else table.rows_per_person or _ROWS_EACH

    def _owners(self, table: TablePolicy, size: int) -> list[int]:
        """Whose each row is: nobody has more rows than count."""
        each, people = self._rows_each(table), self._people()
        if each == 1:
            return list(range(size))
        die, has = chance(table.name, "people"), [0] * people
        owners = []
        for _ in range(size):
            who = die(people)
            while has[who] >= each:
                who = (who + 1) % people
            has[who] += 1
            owners.append(who)
        return owners

    def _engine(self, table: str) -> dict[str, EngineColumn]:
        return {folded(column.name): column for column in self.catalog.schema[table].columns}

    def _type(self, table: str, name: str) -> SqlType:
        declared = self.catalog.policy.tables[table].columns.get(name)
        said = None if declared is None else declared.type
        return said or self._engine(table)[name].type or SqlType.TEXT


_LIMITS: Final = Limits(memory_limit="1GB", threads=1, timeout=30.0)
"""What is free must not keep the machine from those who pay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Filled:
    """An engine, and which tables it has."""

    catalog: Catalog
    rows: int | None
    engine: DuckdbEngine
    tables: frozenset[str] = frozenset()

    def is_of(self, catalog: Catalog, rows: int | None) -> bool:
        return self.catalog is catalog and self.rows == rows


_filling: Final = threading.Lock()
_filled: Final[dict[int, _Filled]] = {}
"""The one that was filled last, by process: a forked child must not use its parent's connection."""


def invented_engine(catalog: Catalog, tables: Iterable[str], *, rows: int | None = None) -> Engine:
    """These declared tables and those on their paths, with invented rows; no other engine is in its reach, and nothing
    can be written to it. What is there already is not made again, and nobody waits for what others have made."""
    process, wanted = os.getpid(), with_paths(catalog, tables)
    known = _filled.get(process)
    if known is not None and known.is_of(catalog, rows) and wanted <= known.tables:
        return known.engine
    with _filling:
        known = _filled.get(process)
        if known is None or not known.is_of(catalog, rows):
            known = _Filled(catalog=catalog, rows=rows, engine=DuckdbEngine.in_memory(_LIMITS))
        return _fill(process, known, wanted)


def _fill(process: int, known: _Filled, wanted: frozenset[str]) -> Engine:
    made = invented_tables(known.catalog, wanted - known.tables, rows=known.rows)
    _filled[process] = known  # while it is filled already, so that it can be interrupted
    try:
        for source, table in made.items():
            known.engine.add_rows(source, table)
    except BaseException:
        _filled.pop(process, None)  # with half of a table in it
        raise
    _filled[process] = replace(known, tables=known.tables | wanted)
    return known.engine


def interrupt_invented() -> None:
    """Stops every statement that runs on invented rows in this process; each ends as EngineFailed."""
    known = _filled.get(os.getpid())
    if known is not None:
        known.engine.interrupt()
