"""Invented tables that fit together: whoever is in one is in the others, and what points to a row finds one.

How many rows there are is what the policy says everybody may know, or a round number. People are numbered from 1 on;
so is whatever the engine keeps apart, and columns of its name in other tables point to it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from dpsql.catalog.model import Catalog, ColumnPolicy, EngineColumn, PathStep, PublicKeys, TablePolicy
from dpsql.catalog.names import folded
from dpsql.catalog.types import SqlType
from dpsql.engines.desk import DeskTable
from dpsql.require import require_count
from dpsql.synthetic.values import Values, chance, identifiers, invented_column, numbered

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
