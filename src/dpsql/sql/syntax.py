"""What the analyst wrote, as our own small tree: names are text, nothing is looked up yet.

The parser's tree ends at `parse`; every later stage sees these values only. What has no node here cannot be asked.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from typing import Final, Generic, TypeAlias, TypeVar

from dpsql.catalog.model import Mode, Noise
from dpsql.catalog.types import SqlType

At: TypeAlias = tuple[int, int] | None
"""Where in the text: first character, one past the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identifier:
    """A name, folded as the engine folds it: `name` is what is compared, `written` what is shown."""

    name: str
    quoted: bool
    written: str = ""
    """As the analyst wrote it, without its quotes: the name of a column of the answer keeps its case."""
    at: At = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A column, perhaps with the table it is taken from: x, t.x."""

    parts: tuple[Identifier, ...]
    at: At = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    """A constant. Decimal numbers are exact; `type` None is NULL."""

    value: bool | int | Fraction | str | date | datetime | None
    type: SqlType | None
    at: At = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Star:
    """`*` or `t.*`; inside COUNT(*) it is the argument of the call."""

    table: Identifier | None = None
    at: At = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SortKey:
    expression: Expression
    descending: bool = False
    nulls_first: bool = False
    """As the engine would: DuckDB sorts NULLs last unless told otherwise."""


class FrameUnit(Enum):
    ROWS = "rows"
    RANGE = "range"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """ROWS or RANGE BETWEEN start AND end; None is UNBOUNDED, 0 is CURRENT ROW, negative is PRECEDING."""

    unit: FrameUnit
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Over:
    """OVER (PARTITION BY … ORDER BY … frame)."""

    partition_by: tuple[Expression, ...] = ()
    order_by: tuple[SortKey, ...] = ()
    frame: Frame | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContributionBounds:
    """What one person may add to a call, as GoogleSQL says it: each row, or all rows of a group together."""

    low: Literal
    high: Literal
    per_group: bool
    at: At = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Every operator and function by one canonical lower-case name: add, eq, and, like, in, case, count, sum, …

    The names are those of `sql.functions`. `case` is (when, then, when, then, …, else); `in` is (x, a, b, …);
    a cast is `to_integer`, `to_double`, `to_text`, `to_date`, `to_timestamp` or `to_boolean`; a part of a date is
    `year`, `month`, …; `date_trunc` is (unit as a text literal, x).
    """

    function: str
    arguments: tuple[Expression, ...]
    distinct: bool = False
    filter: Expression | None = None
    over: Over | None = None
    at: At = None
    per_group: ContributionBounds | None = None
    """Bounds of what one person adds in one group."""
    per_person: bool = False
    """Of AVG, as GoogleSQL means it: the average of the averages of each person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Among:
    """x IN (query), (x, y) IN (query); without operands it is EXISTS (query)."""

    operands: tuple[Expression, ...] = ()
    query: Query
    at: At = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateValue:
    """PRIVATE (SELECT …) where one value belongs: a question of its own, whose released answer stands here."""

    query: Query
    said: bool = True
    """The word was written; a question about public tables needs none."""
    at: At = None


Expression: TypeAlias = Name | Literal | Star | Call | Among | PrivateValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One column of a SELECT list."""

    expression: Expression
    alias: Identifier | None = None
    text: str = ""
    """The expression as it was written: the name of a column without an alias."""


class JoinKind(Enum):
    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    CROSS = "cross"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableName:
    name: tuple[Identifier, ...]
    alias: Identifier | None = None
    at: At = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """A subquery in FROM."""

    query: Query
    alias: Identifier | None = None
    columns: tuple[Identifier, ...] = ()
    private: bool = False
    """FROM PRIVATE (SELECT …): a question of its own, whose released rows stand here."""
    at: At = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    kind: JoinKind
    left: From
    right: From
    on: Expression | None = None
    using: tuple[Identifier, ...] = ()
    at: At = None


From: TypeAlias = TableName | Derived | Joined


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonTable:
    name: Identifier
    query: Query
    columns: tuple[Identifier, ...] = ()
    private: bool = False
    """WITH w AS PRIVATE (SELECT …): a question of its own, whose released rows w stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Select:
    """One SELECT with everything around it."""

    with_: tuple[CommonTable, ...] = ()
    distinct: bool = False
    items: tuple[Item, ...]
    from_: From | None = None
    where: Expression | None = None
    group_by: tuple[Expression, ...] = ()
    """An ordinal is an integer literal here; `resolve` looks it up."""
    having: Expression | None = None
    qualify: Expression | None = None
    """A condition that may speak of windows."""
    order_by: tuple[SortKey, ...] = ()
    limit: int | None = None
    offset: int = 0
    at: At = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnionAll:
    """The rows of two or more queries under one another. The other set operations have no node: they are refused."""

    with_: tuple[CommonTable, ...] = ()
    branches: tuple[Query, ...]
    order_by: tuple[SortKey, ...] = ()
    limit: int | None = None
    offset: int = 0
    at: At = None


Query: TypeAlias = Select | UnionAll


class Purpose(Enum):
    """What is wanted from the query."""

    ANSWER = "answer"
    EXPLAIN = "explain"
    """EXPLAIN PRIVACY: the derivation, free."""
    EXPLAIN_JSON = "explain_json"
    DRY_RUN = "dry_run"
    """The price and the margins, free."""
    SIMULATE = "simulate"
    """The answer to the same plan on invented rows, free."""


Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said(Generic[Value]):
    """One option, and where its value stands in the text."""

    value: Value
    at: At


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a text says beside its question; None: nothing about it. The clauses at the end of a statement go before a
    hint in a comment; `session.terms` settles the rest."""

    epsilon: Said[Fraction] | None = None
    """The price; 0 asks for what is stored and nothing else."""
    within: Said[Fraction] | None = None
    """The margin that every number of the answer should have: the price follows from it."""
    confidence: Said[Fraction] | None = None
    noise: Said[Noise] | None = None
    mode: Said[Mode] | None = None
    rows_per_person: Said[int] | None = None
    """At most so many rows of one person count; more than the policy allows never do."""
    keys: Said[tuple[Literal, ...]] | None = None
    """The groups to show, of the one expression of GROUP BY."""
    delta: Said[Fraction] | None = None
    """At most so much of δ is spent to find groups."""
    groups_per_person: Said[int] | None = None
    """At most in so many groups one person counts; the policy may allow fewer."""
    rows_in_all: Said[int] | None = None
    """At most so many rows of one person count in all groups together."""
    privacy_unit: Said[str] | None = None
    """The column that holds the person, as the analyst believes."""
    fresh: Said[bool] | None = None
    """New noise is bought, whatever is stored."""
    rows: Said[int] | None = None
    """Of SIMULATE: how many rows each private table has."""

    def over(self, other: Options) -> Options:
        """These options, and of the other ones those that are not said here. A price and a margin exclude each other:
        each is the price of the answer in other words."""
        said = {field.name: getattr(self, field.name) or getattr(other, field.name) for field in fields(self)}
        if self.epsilon is not None or self.within is not None:
            said |= {"epsilon": self.epsilon, "within": self.within}
        return Options(**said)


NO_OPTIONS: Final = Options()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """The result of `parse`: one statement."""

    text: str
    purpose: Purpose
    query: Query
    options: Options = NO_OPTIONS
