"""The declared type of each column of registered data: the one place that decides it. Rows never do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import Enum
from typing import Final

from dpsql.catalog.model import Bounds, ColumnPolicy, PublicKeys, Value
from dpsql.catalog.names import did_you_mean, folded, listed
from dpsql.catalog.types import NUMERIC, TEMPORAL, SqlType
from dpsql.errors import BadName, BadPolicy, NoSource

WHOLE_DOUBLES: Final = 2**53
"""Below it a double holds every whole number; from it on two whole numbers share one double."""


class Origin(Enum):
    """How far the schema of a source says what a column is."""

    SCHEMA = "its schema"
    """A declaration: a catalogue, a nullable dtype of pandas, a dtype of polars or Arrow."""
    TEXT = "every field is text"
    """CSV and JSON lines."""
    ROWS = "nothing declared"
    """The library has chosen the type by looking at values: a plain dtype of pandas, an Arrow decimal. It says nothing
    but whether there are numbers, texts or times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceColumn:
    """One column as its source has it."""

    name: str
    origin: Origin
    type: SqlType | None
    """What holds where nothing is declared. None: of SCHEMA, a type that dpsql does not read; else the column is
    refused until its type is declared."""
    suggested: SqlType = SqlType.DOUBLE
    """The type that a refusal proposes."""
    whole: bool = False
    """Of numbers of pandas: an integer dtype, which may name people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDeclarations:
    """What is declared about the columns of a table before its data are read. Names are folded."""

    types: Mapping[str, SqlType] = field(default_factory=dict)
    """Declared in so many words."""
    implied: Mapping[str, SqlType] = field(default_factory=dict)
    """By bounds and keys: `implied_type`."""
    known: Mapping[str, SqlType] = field(default_factory=dict)
    """By the ledger, from an earlier registration."""
    persons: frozenset[str] = frozenset()
    """Columns that hold a person or lead to one."""
    named: tuple[str, ...] | None = None
    """Columns that the declaration names, spelled as there; None: all of them."""
    public: bool = False
    """Nobody is in the table, so its rows may decide."""

    def names(self, column: str) -> bool:
        """Whether the declaration names this column."""
        return self.named is None or folded(column) in {folded(name) for name in self.named}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The type of one column, and what decided it."""

    type: SqlType | None
    """None: of a type of the engine that is not read."""
    by: str
    is_cast: bool
    """False: the column stays as its source has it."""
    is_rounded: bool = False
    """An integer because bounds or keys are written as whole numbers: fractions of the source are rounded."""


NOTHING_DECLARED: Final = ColumnDeclarations()


def implied_type(column: ColumnPolicy) -> SqlType | None:
    """The type that keys or bounds are written in; None where there are none. 110 is an integer, 110.0 is not."""
    if isinstance(column.keys, PublicKeys):
        return next((_written_as(key) for key in column.keys.values if key is not None), None)
    return None if column.bounds is None else _of_bounds(column.bounds)


def _of_bounds(bounds: Bounds) -> SqlType:
    kinds = {_written_as(bounds.low), _written_as(bounds.high)}
    return kinds.pop() if len(kinds) == 1 else SqlType.DOUBLE


def _written_as(value: Value) -> SqlType:
    if isinstance(value, bool):
        return SqlType.BOOLEAN
    if isinstance(value, datetime):
        return SqlType.TIMESTAMP
    if isinstance(value, date):
        return SqlType.DATE
    return SqlType.INTEGER if isinstance(value, int) else SqlType.TEXT if isinstance(value, str) else SqlType.DOUBLE


def decided_types(
    table: str, columns: Iterable[SourceColumn], declared: ColumnDeclarations = NOTHING_DECLARED
) -> dict[str, Decided]:
    """The type of every column that is copied, by its name in the source.

    In this order: the types declared in words; the schema of the data, where it counts; bounds and keys; the ledger;
    the rule of the source. NoSource names all columns that none of them decides, with the words to add. Of pandas,
    columns that the declaration does not name are left out: nothing else could give them a type.
    """
    given = list(columns)
    _require_columns(table, declared, [column.name for column in given])
    found: dict[str, Decided] = {}
    missing: dict[str, SqlType] = {}
    for column in given:
        name = folded(column.name)
        if column.origin is Origin.ROWS and not declared.names(name):
            continue
        is_person = name in declared.persons
        decision = _decided(name, column, declared, is_person=is_person)
        if decision is not None:
            found[column.name] = decision
        else:
            missing[column.name] = SqlType.INTEGER if is_person and column.suggested is _FRACTIONS else column.suggested
    if missing:
        raise _undeclared(table, missing, declared)
    return found


_FRACTIONS: Final = SqlType.DOUBLE


def _decided(name: str, column: SourceColumn, declared: ColumnDeclarations, *, is_person: bool) -> Decided | None:
    """None: nothing decides."""
    if name in declared.types:
        return Decided(type=declared.types[name], by="types", is_cast=True)
    own, by = column.type, column.origin.value
    if declared.public and column.whole:
        own, by = SqlType.INTEGER, "an integer dtype of a public table"
    if column.origin is Origin.SCHEMA:  # fractions that name people are refused where the declaration is checked
        return Decided(type=own, by=by, is_cast=False)
    if is_person and own is _FRACTIONS:  # fractions that look alike may differ, and so tell one person from another
        own, by = (SqlType.INTEGER if column.whole else None), _WHOLE_PERSONS
    implied = declared.implied.get(name)
    if column.type in NUMERIC and implied in TEMPORAL:  # refused where bounds and keys are held against the type
        implied = None
    known = declared.known.get(name)
    if is_person and known is _FRACTIONS:
        known = None
    if implied is not None:
        is_rounded = implied is SqlType.INTEGER and not is_person
        return Decided(type=implied, by="bounds or keys", is_cast=True, is_rounded=is_rounded)
    for kind, reason in ((known, "the ledger"), (own, by)):
        if kind is not None:
            return Decided(type=kind, by=reason, is_cast=True)
    return None


_WHOLE_PERSONS: Final = "an integer dtype that names people: numbers below 2^53, others are NULL"


def types_line(types: Mapping[str, SqlType]) -> str:
    """The word of `register` that declares these types."""
    return "types={" + ", ".join(f'"{name}": "{kind.value}"' for name, kind in types.items()) + "}"


def _undeclared(table: str, missing: Mapping[str, SqlType], declared: ColumnDeclarations) -> NoSource:
    several = len(missing) > 1
    return NoSource(
        f"the type{'s' if several else ''} of {listed(missing)} {'are' if several else 'is'} not declared",
        why="the library has chosen the type by looking at the rows, so that one person's value could change it, and "
        "with it the price and the verdict of a question",
        fix=f'add {types_line({**declared.types, **missing})} to register("{table}", …). These are suggestions: a type '
        'is "boolean", "integer", "double", "text", "date" or "timestamp", and a value that does not fit it is NULL',
    )


def _require_columns(table: str, declared: ColumnDeclarations, names: list[str]) -> None:
    """Every column that is declared is there."""
    there = {folded(name) for name in names}
    for name in declared.types:
        if name not in there:
            raise BadName(
                f"there is no column {name}",
                why="a type was declared for it",
                fix=f"declare types for: {listed(names)}",
            )
    for name in declared.named or ():
        if folded(name) not in there:
            raise BadPolicy(
                f"table.{folded(table)}: the data have no column {name}{did_you_mean(name, names)}",
                why="a column must be found without doubt, or another one would be read",
                fix=f"correct the name, or leave the column out; the columns are: {listed(names)}",
            )
