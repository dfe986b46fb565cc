"""Random expressions of a wanted type, each beside plain SQL that means the same.

A function is one row of SIGNATURES; functions of the rule table that have no row are called with anything.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dpsql.sql.functions import FUNCTIONS
from dpsql.sql.words import RAW_AGGREGATES, REFUSED_FUNCTIONS
from tests.kits.rows import read_rows

INTEGER, DOUBLE, TEXT, DATE, TIMESTAMP, BOOLEAN = "integer", "double", "text", "date", "timestamp", "boolean"
TYPES = (INTEGER, DOUBLE, TEXT, DATE, TIMESTAMP, BOOLEAN)
_LETTERS = {"i": INTEGER, "d": DOUBLE, "t": TEXT, "D": DATE, "T": TIMESTAMP, "b": BOOLEAN}

PLAIN_TYPES = {
    INTEGER: "BIGINT",
    DOUBLE: "DOUBLE",
    TEXT: "VARCHAR",
    DATE: "DATE",
    TIMESTAMP: "TIMESTAMP",
    BOOLEAN: "BOOLEAN",
}
"""Where plain SQL cannot tell of which type a NULL is."""
PLAIN_MACROS = (
    "CREATE MACRO fin(x) AS CASE WHEN isfinite(x) THEN x END",
    "CREATE MACRO clamp(x, low, high) AS CASE WHEN x > high THEN high WHEN x < low THEN low ELSE x END",
)
"""What plain SQL needs to say the same: no number beyond DOUBLE, and CLAMP."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A piece of a statement: what is asked, and plain SQL for the same."""

    ours: str
    plain: str

    def __add__(self, other: Part | str) -> Part:
        two = other if isinstance(other, Part) else both(other)
        return Part(ours=self.ours + two.ours, plain=self.plain + two.plain)


def both(text: str) -> Part:
    return Part(ours=text, plain=text)


def joined(separator: str, parts: Sequence[Part]) -> Part:
    return Part(ours=separator.join(p.ours for p in parts), plain=separator.join(p.plain for p in parts))


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column as it is written in this scope, and what it may be used for."""

    name: str
    type: str
    hidden: bool = False
    key: bool = False
    bounded: bool = False
    person: bool = False


@dataclass(frozen=True)
class Signature:
    """What is written for a function with arguments of these types."""

    function: str
    result: str
    arguments: tuple[str, ...]
    ours: str
    plain: str


def _signature(function: str, types: str, ours: str, plain: str | None = None) -> Signature:
    arguments, _, result = types.partition(">")
    return Signature(function, _LETTERS[result], tuple(_LETTERS[letter] for letter in arguments), ours, plain or ours)


SIGNATURES = [_signature(*row) for row in read_rows(__file__, "signatures")]

_CALL = re.compile(r"([A-Z_0-9]+)\(([a-z]+)((?:\[?, [a-z]+\]*)*)\)")


def _without_a_line() -> list[tuple[str, int]]:
    """Functions of the rule table that SIGNATURES does not know, with their number of arguments."""
    known = {signature.function for signature in SIGNATURES}
    calls = ((name, _CALL.fullmatch(function.usage)) for name, function in FUNCTIONS.items() if name not in known)
    return [(call[1], 1 + call[3].count(",")) for _, call in calls if call is not None]


OTHER_CALLS = _without_a_line()

LITERALS = {
    INTEGER: ("0", "1", "2", "3", "17", "40", "100", "-3", "2147483648", "9223372036854775807"),
    DOUBLE: ("0.5", "1.25", "100.0", "1e6", "-2.75", "0.0"),
    TEXT: ("'flu'", "'Bern'", "''", "'a'", "'it''s'", "'2025-06-01'", "'12'", "'é'"),
    DATE: ("DATE '2025-06-01'", "DATE '1999-12-31'", "CAST('2024-02-29' AS DATE)"),
    TIMESTAMP: ("TIMESTAMP '2025-06-01 12:30:00'", "TIMESTAMP '2025-01-01 00:00:00'"),
    BOOLEAN: ("TRUE", "FALSE"),
}
FOREIGN = (
    "phone", "t9.age", "rowid", "\"Bob\"", "?", "$1", "[1, 2]", "{'a': 1}", "x -> x", "(SELECT 1)", "NULL",
    "(SELECT MAX(age) FROM patients)", "(1, 2)", "COUNT(*)", "SUM(1) OVER ()", "CURRENT_DATE", "INTERVAL 3 DAY",
    "CAST(1 AS BLOB)", "age COLLATE NOCASE", "name", "patient_id", "*", "regexp_matches('a', 'a+')", "1 = 1 = 1",
)  # fmt: skip
"""What no rule names, or not here."""


@dataclass(frozen=True, kw_only=True)
class Expressions:
    """Expressions over the columns of one scope. `wild` is the chance of a part that does not belong there."""

    chance: random.Random
    columns: Sequence[Column]
    wild: float

    def of(self, wanted: str, depth: int = 2) -> Part:
        if self.wild and self.chance.random() < self.wild:
            return self._foreign(depth)
        if depth > 0 and self.chance.random() < 0.65:
            return self._applied(wanted, depth)
        usable = [column for column in self.columns if column.type == wanted and not column.hidden]
        if usable and self.chance.random() < 0.8:
            return both(self.chance.choice(usable).name)
        if self.chance.random() < 0.02:
            return Part(ours="NULL", plain=f"CAST(NULL AS {PLAIN_TYPES[wanted]})")
        literal = self.chance.choice(LITERALS[wanted])
        return Part(ours=literal, plain=f"CAST({literal} AS DOUBLE)" if wanted == DOUBLE else literal)

    def _applied(self, wanted: str, depth: int) -> Part:
        if OTHER_CALLS and wanted == BOOLEAN and self.chance.random() < 0.05:
            name, arity = self.chance.choice(OTHER_CALLS)
            given = joined(", ", [self.of(self.chance.choice(TYPES), depth - 1) for _ in range(arity)])
            return both(f"({name}(") + given + ") IS NULL)"
        signature = self.chance.choice([each for each in SIGNATURES if each.result == wanted])
        arguments = [self.of(type_, depth - 1) for type_ in signature.arguments]
        return Part(
            ours=signature.ours.format(*(part.ours for part in arguments)),
            plain=signature.plain.format(*(part.plain for part in arguments)),
        )

    def _foreign(self, depth: int) -> Part:
        ways: tuple[Callable[[], Part], ...] = (
            lambda: both(self.chance.choice(FOREIGN)),
            lambda: both(f"{self.chance.choice(sorted(REFUSED_FUNCTIONS))}()"),
            lambda: both(f"{self.chance.choice(sorted(RAW_AGGREGATES))}(") + self.of(INTEGER, depth - 1) + ")",
            lambda: both(self.chance.choice(list(self.columns)).name if self.columns else "x"),
            lambda: self.of(self.chance.choice(TYPES), depth - 1),
        )
        return self.chance.choice(ways)()

    def bounded(self) -> Part:
        """A number that has limits, most of the time."""
        usable = [column for column in self.columns if column.bounded and not column.hidden]
        picked = self.chance.random()
        if usable and picked < 0.55:
            return both(self.chance.choice(usable).name)
        inner = self.of(self.chance.choice((INTEGER, DOUBLE)))
        low, high = self.chance.choice(((0, 10), (-100, 100), (0, 5000)))
        return inner if picked < 0.65 else both("CLAMP(") + inner + f", {low}, {high})"
