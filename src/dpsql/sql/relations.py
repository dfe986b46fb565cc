"""Tables inside a query, as a tree of operators. `resolve` builds the lower part, `rewrite` the upper one.

Columns have numbers, not names, and the owner of a row is a column like any other that no query can name: it is
carried upwards by its number from the table that holds it (rule 3). Engine text is printed from these trees alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from dpsql.catalog.model import KeyList, KeyRange, Keys, Value
from dpsql.catalog.types import SqlType
from dpsql.sql.intervals import EVERYTHING, Interval
from dpsql.sql.scalars import ColumnRef, Scalar, Windowed


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a relation."""

    id: int
    name: str
    """As the analyst may write it; empty where nobody may."""
    type: SqlType
    proved: Interval = EVERYTHING
    """What every row of every table satisfies, by type and expression: safe wherever an engine computes it."""
    kept: Interval = EVERYTHING
    """What the rows satisfy that the filters of the query keep. An engine may compute on the others first."""
    declared: Interval = EVERYTHING
    """What counts: the policy's bounds carried through. Rows may break it, so a clamp is always emitted."""
    keys: Keys | None = None
    """As declared; lost by any expression."""
    hidden: bool = False
    """Declared hidden, or computed from something hidden."""
    not_null: bool = False
    """Enforced by the engine."""
    public: bool = False
    """Comes from public tables alone."""
    origin: tuple[str, str] | None = None
    """(declared table, column) of an unchanged base column."""


def ref(column: Column) -> ColumnRef:
    """The column, read by an expression over its relation."""
    return ColumnRef(column.id, column.type)


def refs(columns: Iterable[Column]) -> tuple[ColumnRef, ...]:
    """Each of them, read as it is."""
    return tuple(map(ref, columns))


def ids(columns: Iterable[Column]) -> tuple[int, ...]:
    """Their numbers."""
    return tuple(column.id for column in columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """A declared table. `sources` names the engine's column behind each of `columns`; owner columns are among them."""

    table: str
    source: str
    columns: tuple[Column, ...]
    sources: tuple[str, ...]
    owner: tuple[int, ...] = ()
    """The columns that hold the person: empty for public tables, tables of unit row, and tables with a path."""
    raw: tuple[int, ...] = ()
    """Read as the engine holds them, without conversion: persons and keys of paths."""
    private: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedKeys:
    """One column of public keys: a list, which is bound to a statement as one array, or a range."""

    columns: tuple[Column, ...]
    keys: KeyList | KeyRange


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Literal rows: one row, keys released by an earlier step, or rows released by an earlier question."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    from_step: int | None = None
    """The rows are those released by this step; known only when it has run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitedRows:
    """The rows that an earlier question of the statement will have released: `Listed`, once it has."""

    columns: tuple[Column, ...]
    question: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """The rows for which `condition` is true."""

    input: Relation
    condition: Scalar
    columns: tuple[Column, ...]
    """Those of the input; a condition of the query narrows what is `kept` and `declared`, and proves nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """Each column an expression over the input."""

    input: Relation
    columns: tuple[Column, ...]
    expressions: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """Inner, or left where `outer`; columns of both sides, left first."""

    left: Relation
    right: Relation
    condition: Scalar
    outer: bool = False

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*self.left.columns, *self.right.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """One aggregate of the engine: `count` (rows), `count_of`, `sum`, `count_distinct`, `min`, `max`, `avg`, ….

    Rows of many people meet `count`, `sum` of integers and `count_distinct` only; rows of one person also `count_of`,
    `own_sum`, `own_min` and `own_max`. `min` also picks the one row of a public table that a private row may meet;
    everything else serves queries on public tables.
    """

    function: str
    argument: Scalar | None = None
    filter: Scalar | None = None
    """Only over public tables: in private plans a FILTER is part of the argument."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One row per combination of the columns `by` (numbers of the input), with totals."""

    input: Relation
    by: tuple[int, ...]
    columns: tuple[Column, ...]
    """First those of `by`, unchanged; then one per total."""
    totals: tuple[Total, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """The input with one more column: 1, 2, … inside each `partition`, in the order of `order`."""

    input: Relation
    partition: tuple[int, ...]
    order: tuple[Scalar, ...]
    column: Column

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*self.input.columns, self.column)


@dataclass(frozen=True, slots=True, kw_only=True)
class Union:
    """All rows of all branches; column i is column i of each branch."""

    branches: tuple[Relation, ...]
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exists:
    """The rows of the input that have a partner among others; where `negated`, those that have none."""

    input: Relation
    among: Relation
    condition: Scalar
    """Over columns of both."""
    negated: bool

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The input with one more column per window function, each computed from rows of one person."""

    input: Relation
    added: tuple[Column, ...]
    calls: tuple[Windowed, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*self.input.columns, *self.added)


Relation: TypeAlias = (
    Scan | ListedKeys | Listed | AwaitedRows | Filter | Project | Join | Group | Rank | Union | Exists | Window
)


def inputs(relation: Relation) -> tuple[Relation, ...]:
    """The relations directly below."""
    match relation:
        case Scan() | ListedKeys() | Listed() | AwaitedRows():
            return ()
        case Join():
            return (relation.left, relation.right)
        case Union():
            return relation.branches
        case Exists():
            return (relation.input, relation.among)
        case _:
            return (relation.input,)


def over(relation: Relation, change: Callable[[Relation], Relation]) -> Relation:
    """The same operator over changed inputs."""
    match relation:
        case Scan() | ListedKeys() | Listed() | AwaitedRows():
            return relation
        case Join():
            return replace(relation, left=change(relation.left), right=change(relation.right))
        case Union():
            return replace(relation, branches=tuple(map(change, relation.branches)))
        case Exists():
            return replace(relation, input=change(relation.input), among=change(relation.among))
        case _:
            return replace(relation, input=change(relation.input))


@dataclass(slots=True)
class Numbers:
    """A supply of column numbers that no column has yet. Each stage begins its own where the one before has ended."""

    free: int = 1

    def fresh(self) -> int:
        number = self.free
        self.free += 1
        return number
