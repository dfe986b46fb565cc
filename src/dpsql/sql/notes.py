"""What a query does with columns and tables: noted while names are resolved, judged by `check`.

And what a question of a statement will release, as far as it is known before it is asked: all that later ones may use.
Names, types and ranges of the columns follow from the question. Its rows do not, so that nothing about a later
question, its verdict and its price least of all, depends on what an earlier one released (rule 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from enum import Enum
from types import MappingProxyType
from typing import TypeAlias

from dpsql.catalog.model import Catalog
from dpsql.catalog.types import SqlType
from dpsql.errors import InternalError, NotSupported
from dpsql.sql import functions
from dpsql.sql.intervals import Interval
from dpsql.sql.relations import AwaitedRows, Column, Numbers
from dpsql.sql.scalars import AwaitedValue, ColumnRef, Scalar, children, columns_of
from dpsql.sql.scope import named
from dpsql.sql.syntax import At, Identifier, PrivateValue, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The answer to a question that stands before others in its statement."""

    question: int
    """Its place among the questions of the statement."""
    columns: tuple[Column, ...]
    """Without numbers: wherever the rows are read, their columns get numbers of their own."""
    one_row: bool
    """It has one row, whatever is released."""
    noisy: bool = True
    """It reads people's rows, or what other questions have released of them."""
    made_noisy: frozenset[int] = frozenset()
    """The places of the columns that show this; keys are what they are, though noise may choose them."""


Outcomes: TypeAlias = Mapping[At, Outcome]
"""By the place of the query in the text."""


def awaited_rows(query: Query, names: tuple[Identifier, ...], outcomes: Outcomes, numbers: Numbers) -> AwaitedRows:
    """The rows of a PRIVATE query: public once they are released, whatever is done with them."""
    outcome = _of(query, outcomes)
    columns = tuple(replace(column, id=numbers.fresh()) for column in outcome.columns)
    return AwaitedRows(columns=named(columns, names), question=outcome.question)


def awaited_value(expression: PrivateValue, outcomes: Outcomes) -> AwaitedValue:
    """The one value of a PRIVATE query, a constant of every question after it."""
    outcome = _of(expression.query, outcomes)
    if not outcome.one_row or len(outcome.columns) != 1:
        raise NotSupported(
            "a subquery that is computed with has to be one value",
            why="only an aggregate without GROUP BY, HAVING and LIMIT always has one row, and one column is one value",
            fix="ask for one aggregate; several rows get a name: WITH w AS PRIVATE (SELECT …) SELECT … FROM w",
            at=expression.at,
        )
    (column,) = outcome.columns
    return AwaitedValue(outcome.question, column.type, column.declared, noisy=outcome.noisy)


def _of(query: Query, outcomes: Outcomes) -> Outcome:
    if query.at not in outcomes:
        raise InternalError("a PRIVATE question was not asked before the one that reads it")
    return outcomes[query.at]


class Role(Enum):
    """What a column is used for. `check` lets a hidden column be joined on and counted, and nothing else."""

    FILTER = "filter"
    JOIN = "join"
    GROUP = "group"
    COUNT = "count"
    VALUE = "value"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    role: Role
    columns: tuple[Column, ...]
    at: At


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """Rows of two private tables are paired; or one that is its own unit with any number of a public table."""

    equal_owners: bool
    """The condition implies that both rows are of one person; never so where rows are their own units."""
    tables: tuple[str, str]
    at: At
    on_person: str | None = None
    """The query with this join on the person too."""
    tie: str | None = None
    """What makes both rows one person's, as it may be written here."""


def holds_person(column: Column, catalog: Catalog) -> bool:
    """True for an unchanged column that holds the person, or a part of it."""
    if column.origin is None:
        return False
    table = catalog.policy.tables[column.origin[0]]
    return not table.path and not table.public and column.origin[1] in table.person


class _Ranges:
    """What is known about an expression, from what is known about the columns it reads."""

    __slots__ = ()
    columns: Mapping[int, Column]
    """Every column by its number."""

    def proved(self, scalar: Scalar) -> Interval:
        return functions.interval_of(scalar, lambda number: self.columns[number].proved)

    def kept(self, scalar: Scalar) -> Interval:
        return functions.interval_of(scalar, lambda number: self.columns[number].kept)

    def declared(self, scalar: Scalar) -> Interval:
        return functions.interval_of(scalar, lambda number: self.columns[number].declared)


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings(_Ranges):
    """What is known about the columns of a resolved query."""

    columns: Mapping[int, Column]
    free: int
    """The first number that no column has."""


@dataclass(slots=True)
class Notes(_Ranges):
    """What is collected while one statement is resolved; its end is `findings`, which nobody changes any more."""

    catalog: Catalog
    readable: frozenset[str]
    """The declared tables this query may name."""
    today: date
    text: str
    outcomes: Outcomes = field(default_factory=dict)
    """What the earlier questions of the statement will have released."""
    numbers: Numbers = field(default_factory=Numbers)
    columns: dict[int, Column] = field(default_factory=dict)
    """With what is known so far."""
    uses: list[Use] = field(default_factory=list)
    meetings: list[Meeting] = field(default_factory=list)
    tables: dict[str, None] = field(default_factory=dict)
    read: set[At] = field(default_factory=set)
    """The common tables that were read, by the place of their name."""
    scans: int = 0
    products: int = 0
    """Joins that pair every row with every other."""
    multiplied: bool = False
    """Rows were left out or multiplied: a filter, a join, a path."""
    released: set[int] = field(default_factory=set)
    """Columns that hold numbers which other questions have released of people, or are computed from them."""

    @property
    def findings(self) -> Findings:
        return Findings(columns=MappingProxyType(dict(self.columns)), free=self.numbers.free)

    def aside(self) -> Notes:
        """Notes for what is looked up and never run: its scans go on counting, as looking up is work too."""
        return Notes(
            catalog=self.catalog,
            readable=self.readable,
            today=self.today,
            text=self.text,
            outcomes=self.outcomes,
            read=self.read,
            scans=self.scans,
        )

    def know(self, column: Column) -> Column:
        self.columns[column.id] = column
        return column

    def use(self, role: Role, scalar: Scalar, at: At) -> None:
        self.uses.append(
            Use(role=role, columns=tuple(self.columns[number] for number in sorted(columns_of(scalar))), at=at)
        )

    def is_person(self, column: Column) -> bool:
        return holds_person(column, self.catalog)

    def is_released(self, scalar: Scalar) -> bool:
        """Whether a number that another question has released is in the value; one that is only compared chooses
        rows."""
        waiting = [scalar]
        while waiting:
            node = waiting.pop()
            if isinstance(node, AwaitedValue) and node.noisy:
                return True
            if isinstance(node, ColumnRef) and node.id in self.released:
                return True
            waiting += [inner for inner in children(node) if inner.type is not SqlType.BOOLEAN]
        return False

    def made(self, column: Column, scalars: Iterable[Scalar]) -> Column:
        """A new column is known with what it is made of: else a released number would be lost in it."""
        if any(map(self.is_released, scalars)):
            self.released.add(column.id)
        return self.know(column)

    def computed(self, name: str, scalar: Scalar) -> Column:
        """A new column that holds an expression over known ones."""
        inputs = [self.columns[number] for number in columns_of(scalar)]
        return self.made(
            Column(
                id=self.numbers.fresh(),
                name=name,
                type=scalar.type,
                proved=self.proved(scalar),
                kept=self.kept(scalar),
                declared=self.declared(scalar),
                hidden=any(column.hidden for column in inputs),
                public=all(column.public for column in inputs),
            ),
            (scalar,),
        )
