"""The policy and the catalogue as values: what the owner declared, and what the engine says about names and types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import Enum
from fractions import Fraction
from math import ceil, floor
from typing import TypeAlias

from dpsql.catalog.types import SqlType
from dpsql.privacy.unit import Neighbours
from dpsql.privacy.window import Window

Value: TypeAlias = bool | int | Fraction | str | date | datetime | None
"""A key or a bound as the owner wrote it. Decimal numbers are exact."""

Cells: TypeAlias = Sequence[bool | int | float | str | date | datetime | None]
"""The values of one column, as an engine binds them."""
Parameter: TypeAlias = int | Cells
"""What is bound to a name in a statement."""

KeyPath: TypeAlias = tuple[str | int, ...]
"""A place in a policy: ("table", "visits", "columns", "charge"), ("grant", 0, "budget")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The smallest and the largest value that counts: numbers, dates or timestamps, low < high."""

    low: int | Fraction | date | datetime
    high: int | Fraction | date | datetime


class _ComparedKeys:
    """Keys that are equal as sets: the order of a list means nothing. Truth values stay apart from numbers, whatever
    Python's True == 1 says."""

    __slots__ = ()
    values: tuple[Value, ...]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.values is other.values or self._kinds() == other._kinds()

    def __hash__(self) -> int:
        return hash(type(self))  # few lists are compared, and long ones: reading all of one takes longer

    def _kinds(self) -> set[tuple[bool, Value]]:
        return {(type(value) is bool, value) for value in self.values}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyList(_ComparedKeys):
    """Public keys, each once, in order of delivery: one value that plans, statements and records share."""

    values: tuple[Value, ...]
    known_digest: list[str] = field(default_factory=list, init=False, repr=False, compare=False)
    """Filled by `key_lists.list_digest`, so that it is computed once."""

    @property
    def count(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRange:
    """Public keys from a first one on: whole numbers or days one after another, or moments that lie so many months, or
    so many microseconds, apart. None of them is NULL."""

    first: int | date | datetime
    count: int
    months: int = 0
    microseconds: int = 0

    def value(self, place: int) -> int | date | datetime:
        """The key at this place, from 0."""
        first = self.first
        if isinstance(first, int):
            return first + place
        if not isinstance(first, datetime):
            return first + timedelta(days=place)
        if self.microseconds:
            return first + timedelta(microseconds=place * self.microseconds)
        year, month = divmod(first.year * 12 + first.month - 1 + place * self.months, 12)
        return datetime(year, month + 1, 1)

    def between(self, low: Fraction | None, high: Fraction | None) -> KeyRange:
        """The whole numbers among them that are neither below `low` nor above `high`."""
        if not isinstance(self.first, int):
            raise TypeError("only a range of whole numbers is cut between two numbers")
        last = self.first + self.count - 1
        first = self.first if low is None else max(self.first, ceil(low))
        last = last if high is None else min(last, floor(high))
        return KeyRange(first=first, count=max(0, last - first + 1))

    @property
    def values(self) -> tuple[Value, ...]:
        """All of them, in order of delivery."""
        return tuple(map(self.value, range(self.count)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublicKeys(_ComparedKeys):
    """A list everybody may know: each key appears in every answer, also with nobody behind it. None is NULL."""

    values: tuple[Value, ...]
    known_lists: dict[bool, KeyList] = field(default_factory=dict, init=False, repr=False)
    """Filled by `key_lists.declared_list`: sorted once, and the same value ever after."""


class KeyKind(Enum):
    """How the groups of a column become known where they are not listed."""

    PRIVATE = "private"
    """Found privately; keys with few people stay hidden. Needs delta."""
    CALENDAR = "calendar"
    """The days, or the buckets of a date_trunc, between the bounds of the column: public."""


Keys: TypeAlias = PublicKeys | KeyKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPolicy:
    """One declared column. A column that is not declared cannot be named in a query."""

    name: str
    type: SqlType | None
    """What the owner says; None: what the engine says."""
    bounds: Bounds | None = None
    keys: Keys | None = None
    hidden: bool = False
    not_null: bool = False
    """Declared by `nulls = "never"`. Trusted for nothing that protects; an engine's constraint is."""
    unique: bool = False
    """Of a public table: no two rows have the same value. Enforced by the plan wherever it rests on it."""
    is_rounded: bool = field(default=False, compare=False)
    """Of a registered table: an integer because bounds or keys are whole, so that fractions were rounded. For words to
    readers, never for meaning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathStep:
    """`columns` of this table lead to `to_columns` of `table`."""

    columns: tuple[str, ...]
    table: str
    to_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePolicy:
    """One declared table: public, or private with a way to its person. All names are folded (`catalog.names`).

    Exactly one of: `public`; `unit_row`; `person` with an empty `path`; `person` with a `path`, where `person` then
    names columns of the last table of the path.
    """

    name: str
    source: str
    """The name in the engine: as the owner spells it, and as the engine does once the policy is checked."""
    public: bool = False
    unit_row: bool = False
    person: tuple[str, ...] = ()
    path: tuple[PathStep, ...] = ()
    unique: bool = False
    rows: int | None = None
    """A size everybody may know (`rows = "about 6000"`): for previews, unless `rows_public` makes it exact."""
    rows_public: bool = False
    """`rows` is the exact number of rows and public: COUNT(*) of the whole table tells it for nothing, and AVG divides
    by it. Where a row is replaced and protected by itself only (change_one, unit_row)."""
    rows_per_person: int | None = None
    rows_per_group: int | None = None
    groups_per_person: int | None = None
    columns: Mapping[str, ColumnPolicy]

    def rows_that_count(self, *, grouped: bool) -> int | None:
        """How many rows of one person count, in one group where rows are grouped; None: nobody said."""
        if self.unique:
            return 1
        return (self.rows_per_group if grouped else None) or self.rows_per_person


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What is promised to every person, over the life of the ledger."""

    epsilon: Fraction
    delta: Fraction
    delta_prime: Fraction
    per: Window = Window.FOREVER


class Mode(Enum):
    """How a person in many groups is bounded."""

    CHOOSE = "choose"
    """At most G groups, by hash."""
    SCALE = "scale"
    """All groups, scaled into a ball."""


class Noise(Enum):
    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What a query gets unless it says otherwise. Privacy parameters have no default of the system: None refuses."""

    cost_per_query: Fraction | None = None
    confidence: Fraction = Fraction(19, 20)
    selection_share: Fraction | None = None
    delta_per_query: Fraction | None = None
    max_keys: int | None = None
    mode: Mode | None = None
    noise: Noise | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A spending limit under the promise, of one analyst or of all whose tokens name it."""

    to: str
    budget: Fraction
    max_per_query: Fraction | None = None
    tables: tuple[str, ...] | None = None
    """None: every table."""
    expires: date | None = None
    sees_releases: bool = False
    """What other analysts have asked is known to these too: it is told again for nothing, without a word of whose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """The unit of protection, in words people read."""

    name: str = "person"
    label: str = ""
    relation: Neighbours = Neighbours.ADD_REMOVE
    group_size: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Where a policy was written down: for messages, never for meaning."""

    file: str
    lines: Mapping[KeyPath, int]
    """The line of each key; names are folded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Everything the owner declared."""

    source: str = field(repr=False)
    """The address of the source, as `duckdb:///path` or `memory:`. It may hold a password, so it is not printed."""
    ledger: str | None
    """The id of the ledger this policy belongs to, once it has one."""
    data_version: str | None
    """None: the one the ledger knows."""
    person: Person
    promise: Promise | None
    defaults: Defaults
    tables: Mapping[str, TablePolicy]
    grants: tuple[Grant, ...] = ()
    ledger_file: str | None = None
    """Where the ledger is kept, seen from the folder of the policy; None: beside the source."""
    ledger_url: str | None = field(default=None, repr=False)
    """The address of a ledger in PostgreSQL; None: it is a file. It may hold a password, so it is not printed."""
    ledger_key: str | None = None
    """Where its key is kept on this machine, seen from the folder of the policy."""
    timeout: Fraction | None = None
    """Seconds after which a statement on the source is stopped, or a request to a server."""
    memory_limit: str | None = None
    """What statements on the source may use together, as in "4GB"; None: half the memory."""
    threads: int | None = None
    """On how many threads a statement runs; None: one for each core."""
    written: Written | None = field(default=None, compare=False, repr=False)
    """None: declared in Python."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineColumn:
    """What an engine's catalogue says about one column: no rows, no statistics."""

    name: str
    type: SqlType | None
    """None: a type dpsql does not read. Such a column may still be a person column."""
    engine_type: str = ""
    """The engine's own name of the type, with a collation that is not binary. Person columns agree on it."""
    low: int | None = None
    high: int | None = None
    """Of an integer type: the smallest and largest value it can hold."""
    wide: bool = False
    """An integer type that also holds numbers beyond 64 bits: those are read as NULL, so bounds must be declared."""
    scale: int | None = None
    """Of a decimal type: how many digits stand behind the point."""
    instead: str = ""
    """Of a type that is not read: what the owner can do about it."""
    not_null: bool = False
    """Enforced by the engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineTable:
    name: str
    columns: tuple[EngineColumn, ...]
    unique: tuple[tuple[str, ...], ...] = ()
    """Sets of columns the engine enforces as unique (primary keys, unique constraints)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """A policy checked against the engine's schema: what `resolve` may know. Built by `catalog.check.checked`."""

    policy: Policy
    schema: Mapping[str, EngineTable]
    """By the name of the declared table (`TablePolicy.name`)."""
