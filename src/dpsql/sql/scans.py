"""Declared tables as relations: each row of a private one beside its owner, found in the table or along its path."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, TypeAlias

from dpsql.catalog.model import Bounds, EngineColumn, PathStep, TablePolicy
from dpsql.catalog.names import folded
from dpsql.catalog.types import SqlType
from dpsql.errors import NotSupported
from dpsql.sql import functions, inner
from dpsql.sql.intervals import EVERYTHING, Interval
from dpsql.sql.notes import Notes
from dpsql.sql.relations import Column, Group, Join, Relation, Scan, inputs
from dpsql.sql.scalars import ColumnRef, Constant, Scalar
from dpsql.sql.scope import Scope, Table
from dpsql.sql.syntax import At

Ids: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Public rows that an outer join keeps without anybody: groups, and nothing else."""

    relation: Relation
    missing: frozenset[int]
    """The columns that are NULL where nobody is."""
    counted: str | None
    """A column, as it may be written, that is not NULL where somebody is."""
    at: At

    def elsewhere(self, what: str) -> NotSupported:
        """The refusal where they are used for anything but groups of the query they stand in."""
        return NotSupported(
            f"public rows that an outer join keeps without anybody are {what}",
            why="such a row has no owner, and what is made of it elsewhere would tell whether people are behind it",
            fix="use JOIN: groups by columns of a public table appear all the same, with a noisy 0 where nobody is",
            at=self.at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A relation, what may be named in it, and who owns its rows."""

    relation: Relation
    scope: Scope
    private: bool
    owner: tuple[int, ...] = ()
    """Columns that hold the person. Empty for public rows, and for rows protected one by one."""
    tables: tuple[str, ...] = ()
    """The declared private tables it reads."""
    kept: Kept | None = None

    @property
    def by_row(self) -> bool:
        return self.private and not self.owner


MOST_READS: Final = 64
"""The same, with what is written once and read several times."""
MOST_SCANS: Final = 16
"""Every table that is joined may multiply the rows, and common tables are read wherever they are named."""


def scanned(table: TablePolicy, notes: Notes, *, at: At = None) -> Source:
    """A declared table with its owner: in the table itself, or at the end of its path."""
    notes.tables[table.name] = None
    count_scan(notes, at=at)
    scan, visible = _scan(table, notes, owned=not table.path)
    source = Source(
        relation=scan,
        scope=Scope(tables=(Table(alias=table.name, columns=visible, name=table.name),)),
        private=not table.public,
        owner=scan.owner,
        tables=() if table.public else (table.name,),
    )
    return _led_to_person(source, scan, table, notes) if table.path else source


def count_scan(notes: Notes, *, at: At) -> None:
    """One more table is read; refuses when they are too many."""
    notes.scans += 1
    if notes.scans > MOST_SCANS:
        raise _too_many(MOST_SCANS, at)


def require_few_reads(relation: Relation, at: At) -> None:
    """FULL JOIN and NOT IN write what they are about several times: one inside the other, the text would explode."""
    if _reads(relation, {}) > MOST_READS:
        raise _too_many(MOST_READS, at)


def _reads(relation: Relation, known: dict[int, int]) -> int:
    """How often a table stands in the text; what is read twice is counted twice, and looked at once."""
    if id(relation) not in known:
        below = inputs(relation)
        known[id(relation)] = sum(_reads(each, known) for each in below) if below else 1
    return known[id(relation)]


def _too_many(most: int, at: At) -> NotSupported:
    return NotSupported(
        f"the query reads tables more than {most} times",
        why="its work would grow without limit",
        fix="join fewer tables, or read them fewer times; FULL JOIN reads both sides twice, NOT IN three times",
        at=at,
    )


def _scan(table: TablePolicy, notes: Notes, *, owned: bool) -> tuple[Scan, tuple[Column, ...]]:
    """The columns that may be named; then, raw, the person and the first step of the path."""
    engine = {folded(column.name): column for column in notes.catalog.schema[table.name].columns}
    visible = tuple(
        notes.know(_declared_column(table, name, engine[name], notes))
        for name in table.columns
        if engine[name].type is not None
    )
    raw = table.person if owned else table.path[0].columns if table.path else ()
    hidden = tuple(notes.know(_raw_column(engine[folded(name)], notes)) for name in raw)
    scan = Scan(
        table=table.name,
        source=table.source,
        columns=(*visible, *hidden),
        sources=(*(engine[column.name].name for column in visible), *(engine[folded(name)].name for name in raw)),
        owner=tuple(column.id for column in hidden) if owned else (),
        raw=tuple(column.id for column in hidden),
        private=not table.public,
    )
    return scan, visible


def _declared_column(table: TablePolicy, name: str, engine: EngineColumn, notes: Notes) -> Column:
    policy = table.columns[name]
    type_ = policy.type or engine.type or SqlType.TEXT
    return Column(
        id=notes.numbers.fresh(),
        name=name,
        type=type_,
        proved=_of_type(type_, engine),
        kept=_of_type(type_, engine),
        declared=_of_bounds(policy.bounds, type_) if policy.bounds else _of_type(type_, engine, declared=True),
        keys=policy.keys,
        hidden=policy.hidden,
        not_null=engine.not_null,
        public=table.public,
        origin=(table.name, name),
    )


def _raw_column(engine: EngineColumn, notes: Notes) -> Column:
    """A person or a key of a path, as the engine holds it: a conversion could make two people one, or one two."""
    return Column(id=notes.numbers.fresh(), name="", type=engine.type or SqlType.TEXT, hidden=True)


def _of_type(type_: SqlType, engine: EngineColumn, *, declared: bool = False) -> Interval:
    if type_ is SqlType.BOOLEAN:
        return Interval(Fraction(0), Fraction(1))
    if type_ is SqlType.INTEGER and not declared and engine.low is not None and engine.high is not None:
        return Interval(Fraction(engine.low), Fraction(engine.high))
    return EVERYTHING


def _of_bounds(bounds: Bounds, type_: SqlType) -> Interval:
    return functions.interval_between(Constant(bounds.low, type_), Constant(bounds.high, type_))


def _led_to_person(source: Source, scan: Scan, table: TablePolicy, notes: Notes) -> Source:
    """The path's join: a row once for each of its owners, however many ways lead to them."""
    lookup, keys, owner = _owners(table.path, table.person, notes)
    notes.multiplied = True
    relation = Join(left=scan, right=lookup, condition=all_equal(scan.raw, keys))
    return replace(source, relation=relation, owner=owner)


def _owners(path: tuple[PathStep, ...], person: tuple[str, ...], notes: Notes) -> tuple[Group, Ids, Ids]:
    """The distinct pairs (key of the first step, owner at the end of the path), and which columns are which.

    A path is followed from its end: if its steps were joined one after the other, a row would count once for each way,
    and a person reached by two ways twice.
    """
    step, *rest = path
    scan, keys, ahead = _lookup(step, rest[0].columns if rest else person, notes)
    relation: Relation = scan
    if rest:
        onward, onward_keys, owner = _owners(tuple(rest), person, notes)
        relation = Join(left=scan, right=onward, condition=all_equal(ahead, onward_keys))
    else:
        owner = ahead
    by = (*keys, *owner)
    return Group(input=relation, by=by, columns=tuple(notes.columns[number] for number in by), totals=()), keys, owner


def _lookup(step: PathStep, following: tuple[str, ...], notes: Notes) -> tuple[Scan, Ids, Ids]:
    """The table a step leads to: its key, and the columns that lead on."""
    policy = notes.catalog.policy.tables[step.table]
    notes.tables[policy.name] = None
    engine = {folded(column.name): column for column in notes.catalog.schema[policy.name].columns}
    names = (*step.to_columns, *following)
    columns = tuple(notes.know(_raw_column(engine[folded(name)], notes)) for name in names)
    ids = tuple(column.id for column in columns)
    ahead = ids[len(step.to_columns) :]
    scan = Scan(
        table=policy.name,
        source=policy.source,
        columns=columns,
        sources=tuple(engine[folded(name)].name for name in names),
        owner=() if policy.path else ahead,
        raw=ids,
        private=not policy.public,
    )
    return scan, ids[: len(step.to_columns)], ahead


def all_equal(left: tuple[int, ...], right: tuple[int, ...]) -> Scalar:
    """Raw columns, as the engine holds them."""
    pairs = zip(left, right, strict=True)
    return inner.all_of(*(inner.same(ColumnRef(a, SqlType.TEXT), ColumnRef(b, SqlType.TEXT)) for a, b in pairs))
