"""What a condition proves about the columns it compares with literals.

Two questions are enough, and both are closed under AND, OR and NOT: what is known where the condition is *not false*,
and what where it is *not true*. (Where it is true it is not false.) A fact always reads "NULL or inside", so a NULL in
the column itself, which makes a comparison neither true nor false, never breaks it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce
from typing import Final, TypeAlias

from dpsql.catalog.types import SqlType
from dpsql.sql.functions.constants import number_of
from dpsql.sql.intervals import MICROSECONDS_PER_DAY, Interval
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar

Facts: TypeAlias = Mapping[int, Interval]

_NOTHING: Final[Facts] = {}
_MIRRORED: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_OPPOSITE: Final = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
_SAME_AS: Final = {"is_not_distinct": "eq", "is_distinct": "ne"}
_EXACT_DOUBLES: Final = 2**53
"""Below, every whole number is its own double, and no other whole number rounds to it."""


def facts(condition: Scalar, *, true: bool) -> Facts:
    """What holds where the condition is not false (`true`), or where it is not true."""
    match condition:
        case ColumnRef(type=SqlType.BOOLEAN):
            return {condition.id: Interval(Fraction(true), Fraction(true))}
        case Apply(function="not" | "is_false"):
            return facts(condition.arguments[0], true=not true)
        case Apply(function="is_true"):
            return facts(condition.arguments[0], true=true)
        case Apply(function="and" | "or"):
            every = (condition.function == "and") == true
            parts = [facts(part, true=true) for part in condition.arguments]
            return reduce(_both if every else _either, parts)
        case Apply(function="in") if true:
            return _one_of(condition)
        case Apply(arguments=(left, right)):
            return _comparison(condition.function, left, right, true=true)
        case _:
            return _NOTHING


def _both(first: Facts, second: Facts) -> Facts:
    shared = {number: first[number].intersect(second[number]) for number in first.keys() & second.keys()}
    return {**first, **second, **shared}


def _either(first: Facts, second: Facts) -> Facts:
    return {number: first[number].union(second[number]) for number in first.keys() & second.keys()}


def _one_of(condition: Apply) -> Facts:
    """Between the smallest and the largest of the literals; lists are long, so only these two are compared."""
    subject, *options = condition.arguments
    placed = [(number_of(option), option) for option in options if isinstance(option, Constant)]
    numbers = [number for number, _ in placed if number is not None]
    if len(numbers) < len(options):
        return _NOTHING
    low, high = min(numbers), max(numbers)
    ends = [option for number, option in placed if number is low or number is high]
    return reduce(_either, [_comparison("eq", subject, option, true=True) for option in ends])


def _comparison(function: str, left: Scalar, right: Scalar, *, true: bool) -> Facts:
    """A column on one side, a literal on the other; of anything else nothing is known."""
    operator = _SAME_AS.get(function, function)
    if isinstance(left, Constant):
        left, right, operator = right, left, _MIRRORED.get(operator, operator)
    value = number_of(right) if isinstance(right, Constant) else None
    if operator not in _OPPOSITE or value is None:
        return _NOTHING
    column, allowed = _solved(left)
    if column is None or (operator if true else _OPPOSITE[operator]) == "ne":
        return _NOTHING
    return {column.id: allowed(operator if true else _OPPOSITE[operator], value)}


def _solved(side: Scalar) -> tuple[ColumnRef | None, Callable[[str, Fraction], Interval]]:
    """The column a side speaks of, bare or converted, and how a comparison of that side limits the column."""
    match side:
        case ColumnRef(type=SqlType.DOUBLE):
            return side, _closed
        case ColumnRef():
            return side, _whole
        case Apply(function="to_double", arguments=(ColumnRef(type=SqlType.INTEGER) as column,)):
            return column, _whole_as_double
        case Apply(function="to_timestamp", arguments=(ColumnRef(type=SqlType.DATE) as column,)):
            return column, lambda operator, value: _whole(operator, value / MICROSECONDS_PER_DAY)
        case Apply(function="to_date", arguments=(ColumnRef(type=SqlType.TIMESTAMP) as column,)):
            return column, _moments_of_days
    return None, _closed


def _closed(operator: str, value: Fraction) -> Interval:
    """x operator value, for a real x."""
    return Interval(
        value if operator in {"eq", "ge", "gt"} else None,
        value if operator in {"eq", "le", "lt"} else None,
    )


def _whole(operator: str, value: Fraction) -> Interval:
    """x operator value, for a whole x."""
    up, down = math.ceil(value), math.floor(value)
    low = {"ge": up, "gt": down + 1, "eq": down}.get(operator)
    high = {"le": down, "lt": up - 1, "eq": up}.get(operator)
    return Interval(None if low is None else Fraction(low), None if high is None else Fraction(high))


def _whole_as_double(operator: str, value: Fraction) -> Interval:
    """As `_whole`. Large whole numbers share doubles, so far out a comparison of doubles says too little."""
    return _whole(operator, value) if abs(value) < _EXACT_DOUBLES else Interval(None, None)


def _moments_of_days(operator: str, day: Fraction) -> Interval:
    """The microseconds of the days that satisfy the comparison."""
    days = _whole(operator, day)
    return Interval(
        None if days.low is None else days.low * MICROSECONDS_PER_DAY,
        None if days.high is None else (days.high + 1) * MICROSECONDS_PER_DAY - 1,
    )
