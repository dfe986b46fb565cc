"""Random expressions of a wanted type, each beside plain SQL that means the same.

A function is one line of SIGNATURES; functions of the rule table that have no line are called with anything.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dpsql.sql.functions import FUNCTIONS
from dpsql.sql.words import RAW_AGGREGATES, REFUSED_FUNCTIONS

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


def _lines(table: str) -> list[Signature]:
    found = []
    for line in table.strip().splitlines():
        function, types, ours, *plain = (cell.strip() for cell in line.split("¦"))
        arguments, _, result = types.partition(">")
        found.append(
            Signature(
                function, _LETTERS[result], tuple(_LETTERS[letter] for letter in arguments), ours, (plain or [ours])[0]
            )
        )
    return found


SIGNATURES = _lines("""
add ¦ ii>i ¦ ({0} + {1})
add ¦ dd>d ¦ ({0} + {1}) ¦ fin({0} + {1})
add ¦ D>D ¦ ({0} + 7)
sub ¦ ii>i ¦ ({0} - {1})
sub ¦ id>d ¦ ({0} - {1}) ¦ fin({0} - {1})
sub ¦ DD>i ¦ ({0} - {1})
mul ¦ ii>i ¦ ({0} * {1})
mul ¦ di>d ¦ ({0} * {1}) ¦ fin({0} * {1})
div ¦ dd>d ¦ ({0} / {1}) ¦ fin({0} / NULLIF({1}, 0))
div ¦ ii>d ¦ ({0} / {1}) ¦ fin({0} / NULLIF({1}, 0))
intdiv ¦ ii>i ¦ ({0} // {1}) ¦ ({0} // NULLIF({1}, 0))
mod ¦ ii>i ¦ ({0} % {1}) ¦ ({0} % NULLIF({1}, 0))
neg ¦ i>i ¦ (- {0})
neg ¦ d>d ¦ (- {0})
abs ¦ i>i ¦ ABS({0})
abs ¦ d>d ¦ ABS({0})
round ¦ d>d ¦ ROUND({0}, 1)
round ¦ d>d ¦ ROUND({0})
floor ¦ d>d ¦ FLOOR({0})
ceil ¦ d>d ¦ CEIL({0})
sign ¦ d>i ¦ SIGN({0})
sqrt ¦ d>d ¦ SQRT({0}) ¦ TRY(fin(SQRT({0})))
ln ¦ d>d ¦ LN({0}) ¦ TRY(fin(LN({0})))
log10 ¦ d>d ¦ LOG10({0}) ¦ TRY(fin(LOG10({0})))
log2 ¦ d>d ¦ LOG2({0}) ¦ TRY(fin(LOG2({0})))
exp ¦ d>d ¦ EXP({0} / 1000) ¦ TRY(fin(EXP({0} / 1000)))
power ¦ d>d ¦ POWER({0}, 2) ¦ TRY(fin(POWER({0}, 2)))
eq ¦ ii>b ¦ ({0} = {1})
eq ¦ tt>b ¦ ({0} = {1})
eq ¦ bb>b ¦ ({0} = {1})
ne ¦ DD>b ¦ ({0} <> {1})
ne ¦ tt>b ¦ ({0} != {1})
lt ¦ dd>b ¦ ({0} < {1})
lt ¦ TT>b ¦ ({0} < {1})
le ¦ id>b ¦ ({0} <= {1})
gt ¦ ii>b ¦ ({0} > {1})
gt ¦ DD>b ¦ ({0} > {1})
ge ¦ tt>b ¦ ({0} >= {1})
ge ¦ ii>b ¦ ({0} BETWEEN {1} AND 40)
is_distinct ¦ ii>b ¦ ({0} IS DISTINCT FROM {1})
is_not_distinct ¦ tt>b ¦ ({0} IS NOT DISTINCT FROM {1})
is_null ¦ d>b ¦ ({0} IS NULL)
is_null ¦ t>b ¦ ({0} IS NULL)
is_not_null ¦ i>b ¦ ({0} IS NOT NULL)
is_not_null ¦ D>b ¦ ({0} IS NOT NULL)
is_true ¦ b>b ¦ ({0} IS TRUE)
is_false ¦ b>b ¦ ({0} IS FALSE)
and ¦ bb>b ¦ ({0} AND {1})
or ¦ bb>b ¦ ({0} OR {1})
not ¦ b>b ¦ (NOT {0})
in ¦ i>b ¦ ({0} IN (1, 2, 3))
in ¦ t>b ¦ ({0} NOT IN ('flu', 'Bern', ''))
case ¦ bii>i ¦ CASE WHEN {0} THEN {1} ELSE {2} END
case ¦ bdb>d ¦ CASE WHEN {0} THEN {1} WHEN {2} THEN 1.5 END
case ¦ tt>t ¦ CASE {0} WHEN 'flu' THEN 'ill' ELSE {1} END
coalesce ¦ ii>i ¦ COALESCE({0}, {1})
coalesce ¦ dd>d ¦ COALESCE({0}, {1})
coalesce ¦ t>t ¦ COALESCE({0}, 'none')
nullif ¦ ii>i ¦ NULLIF({0}, {1})
nullif ¦ t>t ¦ NULLIF({0}, 'Bern')
least ¦ ii>i ¦ LEAST({0}, {1})
least ¦ dd>d ¦ LEAST({0}, {1})
greatest ¦ ii>i ¦ GREATEST({0}, {1}, 0)
greatest ¦ DD>D ¦ GREATEST({0}, {1})
clamp ¦ i>i ¦ CLAMP({0}, 0, 100)
clamp ¦ d>d ¦ CLAMP({0}, -5.5, 5000)
to_integer ¦ d>i ¦ CAST({0} AS BIGINT) ¦ TRY_CAST({0} AS BIGINT)
to_integer ¦ t>i ¦ CAST({0} AS BIGINT) ¦ TRY_CAST({0} AS BIGINT)
to_integer ¦ b>i ¦ {0}::BIGINT ¦ TRY_CAST({0} AS BIGINT)
to_double ¦ i>d ¦ CAST({0} AS DOUBLE)
to_double ¦ t>d ¦ TRY_CAST({0} AS DOUBLE) ¦ fin(TRY_CAST({0} AS DOUBLE))
to_text ¦ i>t ¦ CAST({0} AS VARCHAR)
to_text ¦ D>t ¦ ({0})::VARCHAR ¦ CAST({0} AS VARCHAR)
to_date ¦ T>D ¦ CAST({0} AS DATE) ¦ TRY_CAST({0} AS DATE)
to_date ¦ t>D ¦ TRY_CAST({0} AS DATE)
to_timestamp ¦ D>T ¦ CAST({0} AS TIMESTAMP) ¦ TRY_CAST({0} AS TIMESTAMP)
to_boolean ¦ i>b ¦ CAST({0} AS BOOLEAN) ¦ TRY_CAST({0} AS BOOLEAN)
concat ¦ tt>t ¦ ({0} || {1})
like ¦ t>b ¦ ({0} LIKE '%e_n')
like ¦ t>b ¦ ({0} NOT LIKE 'x!%' ESCAPE '!')
ilike ¦ t>b ¦ ({0} ILIKE 'B%')
lower ¦ t>t ¦ LOWER({0})
upper ¦ t>t ¦ UPPER({0})
trim ¦ t>t ¦ TRIM({0})
ltrim ¦ t>t ¦ LTRIM({0}, 'ab')
rtrim ¦ t>t ¦ RTRIM({0}, 'n')
length ¦ t>i ¦ LENGTH({0})
substring ¦ t>t ¦ SUBSTRING({0}, 2, 3)
left ¦ t>t ¦ LEFT({0}, 2)
right ¦ t>t ¦ RIGHT({0}, -1)
replace ¦ t>t ¦ REPLACE({0}, 'e', 'é')
starts_with ¦ tt>b ¦ STARTS_WITH({0}, {1})
ends_with ¦ tt>b ¦ ENDS_WITH({0}, {1})
contains ¦ tt>b ¦ CONTAINS({0}, {1})
year ¦ D>i ¦ EXTRACT(year FROM {0})
year ¦ T>i ¦ YEAR({0})
quarter ¦ D>i ¦ EXTRACT(quarter FROM {0})
month ¦ D>i ¦ MONTH({0})
week ¦ D>i ¦ EXTRACT(week FROM {0})
day ¦ T>i ¦ DAY({0})
dow ¦ D>i ¦ EXTRACT(dow FROM {0})
isodow ¦ D>i ¦ EXTRACT(isodow FROM {0})
doy ¦ D>i ¦ EXTRACT(doy FROM {0})
hour ¦ T>i ¦ EXTRACT(hour FROM {0})
minute ¦ T>i ¦ EXTRACT(minute FROM {0})
second ¦ T>i ¦ EXTRACT(second FROM {0})
date_trunc ¦ T>T ¦ DATE_TRUNC('month', {0})
date_trunc ¦ D>T ¦ DATE_TRUNC('week', {0}) ¦ CAST(DATE_TRUNC('week', {0}) AS TIMESTAMP)
date_diff ¦ DD>i ¦ DATE_DIFF('day', {0}, {1})
date_diff ¦ TT>i ¦ DATE_DIFF('month', {0}, {1})
date_add ¦ T>T ¦ ({0} + INTERVAL 3 DAY)
date_add ¦ D>T ¦ ({0} - INTERVAL '1' MONTH) ¦ CAST({0} - INTERVAL 1 MONTH AS TIMESTAMP)
""")

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
