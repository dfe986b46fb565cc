"""Short words for scalars, shared by the tests of functions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dpsql.catalog.types import SqlType
from dpsql.sql.functions import apply, print_scalar
from dpsql.sql.intervals import EVERYTHING, Interval
from dpsql.sql.scalars import ColumnRef, Constant, Scalar

B, I, D, T, DAY, TS = SqlType.BOOLEAN, SqlType.INTEGER, SqlType.DOUBLE, SqlType.TEXT, SqlType.DATE, SqlType.TIMESTAMP
COLUMNS = {kind: ColumnRef(number, kind) for number, kind in enumerate((B, I, D, T, DAY, TS), 1)}
NULL = Constant(None, T)


def whole(value: int) -> Constant:
    return Constant(value, I)


def text(value: str) -> Constant:
    return Constant(value, T)


def double(value: float) -> Constant:
    return Constant(Fraction(value), D)


def between(low: float | None, high: float | None) -> Interval:
    return Interval(None if low is None else Fraction(low), None if high is None else Fraction(high))


def call(function: str, *arguments: Scalar, proved: Callable[[Scalar], Interval] = lambda _: EVERYTHING) -> Scalar:
    return apply(function, arguments, proved=proved)


def printed(scalar: Scalar) -> str:
    return print_scalar(scalar, dialect="duckdb", column=lambda number: f"c{number}")
