"""Short words for scalars, shared by the tests of functions."""

from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from dpsql.catalog.types import SqlType
from dpsql.sql.functions import apply, print_scalar
from dpsql.sql.intervals import EVERYTHING, Interval
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar

B, I, D, T, DAY, TS = SqlType.BOOLEAN, SqlType.INTEGER, SqlType.DOUBLE, SqlType.TEXT, SqlType.DATE, SqlType.TIMESTAMP
COLUMNS = {kind: ColumnRef(number, kind) for number, kind in enumerate((B, I, D, T, DAY, TS), 1)}
NULL = Constant(None, T)
MORE = {"Constant": Constant, "Apply": Apply, "ColumnRef": ColumnRef, "Fraction": Fraction, "date": date}
MORE |= {"datetime": datetime, "B": B, "I": I, "D": D, "T": T, "DAY": DAY, "TS": TS}


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


class _Words(dict[str, Any]):
    """Columns by their letters; any other word is a function of the allow-list, applied as it is in a query."""

    def __init__(self, **how: Any) -> None:
        super().__init__(dict(zip(("b", "i", "d", "t", "day", "ts"), COLUMNS.values(), strict=True)), **MORE)
        self.how = {"proved": lambda _: EVERYTHING} | how

    def __missing__(self, name: str) -> Callable[..., Scalar]:
        return lambda *given: apply(name.removesuffix("_"), [*map(_scalar, given)], **self.how)


def _scalar(value: Any) -> Scalar:
    kinds: dict[type, Callable[[Any], Scalar]] = {int: whole, float: double, str: text, type(None): lambda _: NULL}
    return kinds.get(type(value), lambda scalar: scalar)(value)


def written(expression: str, **how: Any) -> Scalar:
    """The scalar of a text such as `add(i, 1)`: `i` is the column of whole numbers, words of Python end in `_`."""
    return _scalar(eval(expression, {}, _Words(**how)))
