"""What `derive` knows about the rows of a relation: whose they are, how many each unit has, how large a number is.

Four kinds of relation, and nothing else: public rows, rows on the way to their person, rows of units, totals.
Proof: docs/theorems/derivation.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from dpsql.catalog.model import TablePolicy
from dpsql.catalog.types import SqlType
from dpsql.errors import InternalError
from dpsql.sql.relations import Relation
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, Windowed

Ids: TypeAlias = frozenset[int]
NOTHING: Final[Ids] = frozenset()

ROWS: Final = 2**40
"""No relation has more rows. This keeps sums inside the engine's integers; no sensitivity rests on it."""
KEYS: Final = 2**30
"""No answer has more keys. Used as ROWS is, and for nothing else."""


def refused(what: str) -> InternalError:
    """A statement whose sensitivity cannot be derived is never run."""
    return InternalError(f"the sensitivity of a statement cannot be derived: {what}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Every value is NULL (where `null`) or a whole number between `low` and `high`; None is without end."""

    low: int | None = None
    high: int | None = None
    null: bool = True
    sure: bool = False
    """False: it rests on the largest number of rows, which is good enough against overflow and for nothing else."""


@dataclass(frozen=True, slots=True)
class Norm:
    """For each unit: the sum over its rows of `basis` of the squares of `terms`."""

    basis: Relation
    terms: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Factor:
    """min(1, R(1 − 2^-40)/√norm)."""

    norm: Norm
    radius_squared: int


@dataclass(frozen=True, slots=True)
class Coordinate:
    """A term of the norm without its weight, times the factor, toward zero."""

    factor: Factor
    index: int
    weight: int


Role: TypeAlias = Norm | Factor | Coordinate


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What is known about one column."""

    type: SqlType | None
    """None: as the engine holds it."""
    range: Range = Range()
    source: str | None = None
    """The engine's name (folded) of an unchanged, unconverted column of `table`."""
    meaning: Scalar | None = None
    """The column as an expression over the row of the basis it comes from; None: the basis has this very column."""
    role: Role | None = None


Facts: TypeAlias = Mapping[int, Fact]


@dataclass(frozen=True, slots=True, kw_only=True)
class Public:
    """Rows nobody is in: literal, released, or of public tables."""

    types: Mapping[int, SqlType | None]
    distinct: Ids | None = None
    """No two rows agree on all of these columns. None: rows may repeat."""
    most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """Rows of a table whose person is found along a path that is not followed yet."""

    table: TablePolicy
    facts: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """Each row belongs to one unit, and the rows of a unit are a function of that unit's rows in the database."""

    owner: tuple[Ids, ...]
    """For each part of the person the columns that hold it. Empty: each row of the table is a unit of its own."""
    facts: Facts
    basis: Relation
    part: bool = False
    """Some rows of the basis may be missing. No row of it is there twice."""
    known: Ids = NOTHING
    """Columns that are not NULL."""
    caps: Mapping[Ids, int]
    """At most so many rows of one unit agree on these columns."""
    spread: Mapping[Ids, int]
    """At most so many different combinations of these columns has one unit."""
    crowd: int = ROWS
    """At most so many rows of one unit; against overflow only."""
    table: TablePolicy | None = None
    """The declared table, as long as rows are rows of it."""
    owner_columns: Ids = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "owner_columns", NOTHING.union(*self.owner))

    @property
    def owners_known(self) -> bool:
        """No row belongs to NULL."""
        return all(part & self.known for part in self.owner)

    def rows(self, columns: Ids) -> int | None:
        """At most so many rows of one unit agree on `columns`."""
        found = [most for alike, most in self.caps.items() if alike - self.owner_columns <= columns]
        found += [
            different * most
            for combined, different in self.spread.items()
            for alike, most in self.caps.items()
            if alike - self.owner_columns <= combined | columns
        ]
        return min(found, default=None)

    def groups(self, columns: Ids) -> int | None:
        """At most so many combinations of `columns` has one unit."""
        if columns <= self.owner_columns:
            return 1
        found = [different for combined, different in self.spread.items() if columns - self.owner_columns <= combined]
        rows = self.rows(NOTHING)
        return min(found if rows is None else [*found, rows], default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One total: what one unit adds to one group of it, and in how many groups."""

    low: int
    high: int
    groups: int | None
    coordinate: Coordinate | None = None
    null: bool
    """NULL where nobody is: it would tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """One row per combination of `keys`, with totals over all units."""

    keys: Mapping[int, SqlType | None]
    """Numbers and types."""
    public: bool
    """Which rows there are depends on nobody."""
    values: Mapping[int, Value]


State: TypeAlias = Public | Pending | Owned | Totals


def types_in(state: State) -> Mapping[int, SqlType | None]:
    """The types of all columns but totals."""
    match state:
        case Public():
            return state.types
        case Totals():
            return state.keys
        case _:
            return {number: fact.type for number, fact in state.facts.items()}


def columns_in(state: State) -> Ids:
    """The numbers of all columns."""
    match state:
        case Public():
            return frozenset(state.types)
        case Totals():
            return frozenset(state.keys) | frozenset(state.values)
        case _:
            return frozenset(state.facts)


def require_reads(scalar: Scalar, columns: Ids) -> None:
    """The expression is one of a row: it reads these columns and no window."""
    if isinstance(scalar, Apply):
        for argument in scalar.arguments:
            require_reads(argument, columns)
    elif isinstance(scalar, ColumnRef):
        if scalar.id not in columns:
            raise refused("an expression reads a column that is not there")
    elif isinstance(scalar, Windowed):
        raise refused("a window function inside an expression")


def require_condition(scalar: Scalar, types: Mapping[int, SqlType | None], columns: Ids) -> None:
    """The expression is true, false or NULL for each row: what an engine makes of anything else may fail on some."""
    require_reads(scalar, columns)
    for part in conjuncts(scalar):
        if (types.get(part.id) if isinstance(part, ColumnRef) else part.type) is not SqlType.BOOLEAN:
            raise refused("a condition that is not one")


def conjuncts(scalar: Scalar) -> Iterator[Scalar]:
    """What must all be true for the condition to be true."""
    if isinstance(scalar, Apply) and scalar.function in {"all", "and"}:
        for argument in scalar.arguments:
            yield from conjuncts(argument)
    else:
        yield scalar


def equalities(scalar: Scalar) -> frozenset[tuple[int, int]]:
    """Pairs of columns that are equal wherever the condition is true, both ways around."""
    found: set[tuple[int, int]] = set()
    for each in conjuncts(scalar):
        match each:
            case Apply("same" | "alike", (ColumnRef(id=a), ColumnRef(id=b))):
                found |= {(a, b), (b, a)}
            case _:
                continue
    return frozenset(found)


def whole(scalar: Scalar) -> int | None:
    """The number, where the expression is an integer literal."""
    if not isinstance(scalar, Constant) or scalar.type is not SqlType.INTEGER:
        return None
    return scalar.value if isinstance(scalar.value, int) and not isinstance(scalar.value, bool) else None


def least(*maps: Mapping[Ids, int]) -> dict[Ids, int]:
    """All limits of several maps, the smaller one where two speak of the same columns."""
    found: dict[Ids, int] = {}
    for each in maps:
        for columns, most in each.items():
            found[columns] = min(most, found.get(columns, most))
    return found


def as_basis(facts: Facts) -> dict[int, Fact]:
    """The facts of a relation that is its own basis."""
    return {n: fact if fact.meaning is None else replace(fact, meaning=None) for n, fact in facts.items()}


def all_known(known: Ids, owner: tuple[Ids, ...]) -> Ids:
    """Columns that hold the same part of the person are all NULL or none is."""
    return known.union(*(part for part in owner if part & known))
