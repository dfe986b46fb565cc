"""One entry of the allow-list, and what an entry is asked: to check types, to give a range, to print itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NoReturn, TypeAlias

from dpsql.catalog.types import SqlType
from dpsql.errors import BadType
from dpsql.sql.intervals import EVERYTHING, TRUTH, Interval
from dpsql.sql.scalars import Apply, Constant, Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """An application somebody wrote, before its types are known to fit."""

    function: str
    usage: str
    arguments: tuple[Scalar, ...]
    proved: Callable[[Scalar], Interval]
    kept: Callable[[Scalar], Interval]
    at: tuple[int, int] | None = None

    def wrong(self, what: str, *, fix: str | None = None) -> NoReturn:
        raise BadType(
            what,
            why="where types do not fit, engines invent values or fail on some rows, and a failure tells about rows",
            fix=fix or f"write it as {self.usage}, or convert with CAST",
            at=self.at,
        )

    def result(self, arguments: Sequence[Scalar], type_: SqlType) -> Apply:
        return Apply(self.function, tuple(arguments), type_)


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """A printed argument: its text, and what is sure about its value whatever the rows hold."""

    text: str
    scalar: Scalar
    range: Interval
    """Closed by the type: a number that is never outside."""

    @property
    def type(self) -> SqlType:
        return self.scalar.type

    @property
    def constant(self) -> object:
        """The value of a literal; None for everything else."""
        return self.scalar.value if isinstance(self.scalar, Constant) else None


TypeRule: TypeAlias = Callable[[Request], Scalar]
RangeRule: TypeAlias = Callable[[Apply, Sequence[Interval]], Interval]
Form: TypeAlias = Callable[[Sequence[Argument]], str]


def anything(_call: Apply, _ranges: Sequence[Interval]) -> Interval:
    return EVERYTHING


def truth(_call: Apply, _ranges: Sequence[Interval]) -> Interval:
    return TRUTH


def infix(operator: str) -> Form:
    return lambda arguments: f"({arguments[0].text} {operator} {arguments[1].text})"


def named(name: str) -> Form:
    return lambda arguments: f"{name}({', '.join(argument.text for argument in arguments)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function an analyst may use. The table of these is the support matrix.

    Every form is total: no row value makes it fail. A form of type DOUBLE yields NaN or an infinity only where `range`,
    asked with ranges closed by the types of the arguments, leaves an end open; the printer then puts a guard around it.
    """

    name: str
    usage: str
    """As it is written in SQL."""
    summary: str
    typed: TypeRule = field(repr=False)
    range: RangeRule = field(default=anything, repr=False)
    forms: Mapping[str, Form] = field(repr=False)
    """How each dialect says it."""
    passes: tuple[int, ...] = ()
    """Arguments whose guard may wait for that of the result: NaN or infinite there, it is NaN or infinite itself."""
    grows: bool = False
    """Text longer than any argument: the printer limits its length."""


_SHORT: Final = 100
"""Characters that may be written again. Longer texts are named, so the whole grows linearly with the expression."""


def once(text: str, body: Callable[[str], str], *, beside: str = "") -> str:
    """`body` of a value that is computed once. `beside` is any other expression the body contains."""
    if len(text) <= _SHORT:
        return body(text)
    number = 1
    while f"v{number}" in text or f"v{number}" in beside:
        number += 1
    return f"list_transform([{text}], lambda v{number}: {body(f'v{number}')})[1]"


def where(text: str, condition: Callable[[str], str]) -> str:
    """The value where the condition holds, NULL elsewhere."""
    return once(text, lambda v: f"CASE WHEN {condition(v)} THEN {v} END")


def finite(text: str) -> str:
    """A double, or NULL for NaN and the infinities."""
    return where(text, lambda v: f"isfinite({v})")


LONGEST: Final = 16_384
"""Bytes a text may grow to. Without a limit, doubling a text a few times would fill the memory for some rows only."""


def not_longer(text: str, than: int) -> str:
    """A text of at most so many bytes, else NULL."""
    return where(text, lambda v: f"strlen({v}) <= {than}")


def short(text: str) -> str:
    return not_longer(text, LONGEST)


def inside(text: str, low: int, high: int) -> str:
    """A whole number from `low` to `high`, else NULL. In 64 bits: released sums may come in 128."""
    return once(text, lambda v: f"CASE WHEN {v} BETWEEN {low} AND {high} THEN CAST({v} AS BIGINT) END")


def not_zero(text: str) -> str:
    return where(text, lambda v: f"{v} <> 0")


def calendar_dates(text: str) -> str:
    """A date of the years 1 to 9999, else NULL; also the infinite dates are NULL."""
    return where(text, lambda v: f"{v} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'")


def calendar_times(text: str) -> str:
    """A timestamp of the years 1 to 9999, else NULL."""
    first, last = "TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 23:59:59.999999'"
    return where(text, lambda v: f"{v} BETWEEN {first} AND {last}")
