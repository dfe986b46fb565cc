"""Sums, products and quotients. Whole numbers stay whole only where they provably fit (rule 6)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final

from dpsql.catalog.types import TEMPORAL, SqlType
from dpsql.sql.functions.conversions import (
    converted,
    counted,
    in_range,
    is_null,
    is_text_literal,
    numbers,
    numeric,
    to_double,
    unified,
)
from dpsql.sql.functions.function import Argument, Form, Function, Request, infix, not_zero
from dpsql.sql.intervals import INT64, Interval, integers, rounded, typed
from dpsql.sql.scalars import Apply, Constant, Scalar

_LOWEST: Final = -(2**63)
_LEAST: Final = Fraction(1, 10**30)
"""Literals beyond 30 digits are left to doubles, so that no result leaves them."""


# ---- types ----------------------------------------------------------------------------------------------------------


def _whole_or_double(
    exact: Callable[[Interval, Interval], Interval], of_constants: Callable[[Fraction, Fraction], Fraction]
) -> Callable[[Request], Scalar]:
    """Two numbers. Whole numbers stay whole if their result is proved to fit; else both become DOUBLE."""

    def fits(request: Request, left: Scalar, right: Scalar) -> bool:
        ranges = [typed(request.proved(side), SqlType.INTEGER) for side in (left, right)]
        return exact(*ranges).within(INT64)

    def rule(request: Request) -> Scalar:
        left, right = numbers(request, counted(request, 2, 2))
        if left.type is SqlType.DOUBLE:
            return _of_decimals(left, right, of_constants) or request.result((left, right), SqlType.DOUBLE)
        if fits(request, left, right):
            return request.result((left, right), SqlType.INTEGER)
        inside = _moved_inside(request, left), _moved_inside(request, right)
        if fits(request, *inside):
            return request.result(inside, SqlType.INTEGER)
        return request.result((to_double(left), to_double(right)), SqlType.DOUBLE)

    return rule


def _of_decimals(left: Scalar, right: Scalar, exact: Callable[[Fraction, Fraction], Fraction]) -> Constant | None:
    """Two literals: decimals are exact, as in the engine. In doubles 0.06 + 0.01 would be less than 0.07."""
    values = [side.value for side in (left, right) if isinstance(side, Constant)]
    found = [Fraction(each) for each in values if isinstance(each, int | Fraction) and not isinstance(each, bool)]
    if len(found) < 2 or any(each and not _LEAST < abs(each) < 1 / _LEAST for each in found):
        return None
    return Constant(exact(*found), SqlType.DOUBLE)


def _moved_inside(request: Request, side: Scalar) -> Scalar:
    """The same number in every row that counts, and in the others the nearest that could: filters may come late."""
    proved, kept = (typed(known(side), SqlType.INTEGER) for known in (request.proved, request.kept))
    if kept.low is None or kept.high is None or proved.within(kept):
        return side
    low, high = (Constant(int(end), SqlType.INTEGER) for end in (kept.low, kept.high))
    return Apply("clamp", (side, low, high), SqlType.INTEGER)


_sum: Final = _whole_or_double(Interval.add, operator.add)
_difference: Final = _whole_or_double(Interval.sub, operator.sub)


def _add(request: Request) -> Scalar:
    left, right = counted(request, 2, 2)
    if left.type is SqlType.DATE and right.type is SqlType.INTEGER and not is_null(left):
        return _days_later(left, right)
    if left.type is SqlType.INTEGER and right.type is SqlType.DATE and not is_null(right):
        return _days_later(right, left)
    _no_times(request)
    return _sum(request)


def _sub(request: Request) -> Scalar:
    left, right = counted(request, 2, 2)
    if left.type is SqlType.DATE and right.type is SqlType.INTEGER and not is_null(left):
        return _days_later(left, negated(right))
    if SqlType.DATE in (left.type, right.type) and all(
        side.type is SqlType.DATE or is_text_literal(side) for side in (left, right)
    ):
        later, earlier = unified(request, (left, right))
        return Apply("date_diff", (Constant("day", SqlType.TEXT), earlier, later), SqlType.INTEGER)
    _no_times(request)
    return _difference(request)


def _days_later(day: Scalar, number: Scalar) -> Scalar:
    """date + n is a date: the timestamp of DATE_ADD, back as a date."""
    moment = Apply("date_add", (Constant("day", SqlType.TEXT), number, day), SqlType.TIMESTAMP)
    return Apply("to_date", (moment,), SqlType.DATE)


def _no_times(request: Request) -> None:
    if any(scalar.type in TEMPORAL and not is_null(scalar) for scalar in request.arguments):
        request.wrong(
            f"{request.usage} has no meaning for these dates or timestamps",
            fix="use DATE_DIFF('day', earlier, later) for a difference, or x + INTERVAL 3 DAY for a shift",
        )


def negated(scalar: Scalar) -> Scalar:
    """-x; a literal is negated at once, except the lowest whole number, which has no opposite."""
    value = scalar.value if isinstance(scalar, Constant) else None
    if isinstance(value, int | Fraction) and not isinstance(value, bool) and value != _LOWEST:
        return Constant(-value, scalar.type)
    return Apply("neg", (scalar,), scalar.type)


def _neg(request: Request) -> Scalar:
    (scalar,) = counted(request, 1, 1)
    return in_range(request, negated(numeric(request, scalar)))


def _two_numbers(request: Request) -> Scalar:
    left, right = numbers(request, counted(request, 2, 2))
    return request.result((left, right), left.type)


def _two_wholes(request: Request) -> Scalar:
    left, right = numbers(request, counted(request, 2, 2))
    if left.type is not SqlType.INTEGER:
        request.wrong(
            f"{request.usage} divides whole numbers, and one of these is not provably a whole number of 64 bits",
            fix="write FLOOR(a / b), or CAST(… AS BIGINT) around the side that is not whole",
        )
    return request.result((left, right), SqlType.INTEGER)


def _div(request: Request) -> Scalar:
    left, right = (converted(request, scalar, SqlType.DOUBLE) for scalar in numbers(request, counted(request, 2, 2)))
    return request.result((left, right), SqlType.DOUBLE)


# ---- ranges ---------------------------------------------------------------------------------------------------------


def _mul_range(call: Apply, ranges: Sequence[Interval]) -> Interval:
    product = ranges[0].mul(ranges[1])
    if call.arguments[0] == call.arguments[1]:  # a square
        product = ranges[0].absolute().mul(ranges[0].absolute())
    return fitted(call.type, product)


def fitted(type_: SqlType, exact: Interval) -> Interval:
    return integers(exact) if type_ is SqlType.INTEGER else rounded(exact)


def _intdiv_range(_call: Apply, ranges: Sequence[Interval]) -> Interval:
    """Divisors below and above 0, apart; the quotient is cut toward 0, which keeps order."""
    dividend, divisor = ranges
    parts = []
    if divisor.low is None or divisor.low <= -1:
        high = Fraction(-1) if divisor.high is None else min(divisor.high, Fraction(-1))
        parts.append(dividend.div(Interval(divisor.low, high)))
    if divisor.high is None or divisor.high >= 1:
        low = Fraction(1) if divisor.low is None else max(divisor.low, Fraction(1))
        parts.append(dividend.div(Interval(low, divisor.high)))
    if not parts:
        return Interval(Fraction(0), Fraction(0))  # the divisor is 0 in every row
    whole = parts[0] if len(parts) == 1 else parts[0].union(parts[1])
    return integers(whole.mapped(lambda end: Fraction(math.trunc(end))))


def _mod_range(call: Apply, ranges: Sequence[Interval]) -> Interval:
    """The sign of the dividend, no larger than it, and nearer to 0 than the divisor."""
    dividend, largest = ranges[0], ranges[1].absolute().high
    if largest is not None and call.type is SqlType.INTEGER:
        largest = max(largest - 1, Fraction(0))
    low = dividend.low if dividend.low is None or dividend.low < 0 else Fraction(0)
    high = dividend.high if dividend.high is None or dividend.high > 0 else Fraction(0)
    if largest is not None:
        low = -largest if low is None else max(low, -largest)
        high = largest if high is None else min(high, largest)
    return Interval(low, high)


# ---- DuckDB ---------------------------------------------------------------------------------------------------------


def _quotient(operator: str) -> Form:
    """Whole division fails by 0, and for the lowest number by -1; 128 bits hold that quotient, a cast makes it NULL."""

    def form(arguments: Sequence[Argument]) -> str:
        left, right = arguments
        divisor = not_zero(right.text) if right.range.contains(0) else right.text
        if left.type is SqlType.INTEGER and left.range.contains(_LOWEST) and right.range.contains(-1):
            return f"TRY_CAST(CAST({left.text} AS HUGEINT) {operator} {divisor} AS BIGINT)"
        return f"({left.text} {operator} {divisor})"

    return form


def of_the_lowest(before: str, after: str) -> Form:
    """-x and abs(x) of the lowest whole number do not fit in 64 bits: NULL."""

    def form(arguments: Sequence[Argument]) -> str:
        (argument,) = arguments
        if argument.type is SqlType.INTEGER and argument.range.contains(_LOWEST):
            return f"TRY_CAST({before}CAST({argument.text} AS HUGEINT){after} AS BIGINT)"
        return f"({before}{argument.text}{after})"

    return form


ARITHMETIC: Final = (
    Function(
        name="add",
        usage="a + b",
        summary="Sum. Whole numbers that might leave 64 bits are added as DOUBLE. A date plus n is n days later.",
        typed=_add,
        range=lambda call, ranges: fitted(call.type, ranges[0].add(ranges[1])),
        forms={"duckdb": infix("+")},
        passes=(0, 1),
    ),
    Function(
        name="sub",
        usage="a - b",
        summary="Difference, as for a + b. The difference of two dates is a number of days.",
        typed=_sub,
        range=lambda call, ranges: fitted(call.type, ranges[0].sub(ranges[1])),
        forms={"duckdb": infix("-")},
        passes=(0, 1),
    ),
    Function(
        name="mul",
        usage="a * b",
        summary="Product. Whole numbers that might leave 64 bits are multiplied as DOUBLE.",
        typed=_whole_or_double(Interval.mul, operator.mul),
        range=_mul_range,
        forms={"duckdb": infix("*")},
        passes=(0, 1),
    ),
    Function(
        name="div",
        usage="a / b",
        summary="Quotient, always DOUBLE; NULL where b is 0.",
        typed=_div,
        range=lambda _call, ranges: rounded(ranges[0].div(ranges[1])),
        forms={"duckdb": infix("/")},
        passes=(0,),
    ),
    Function(
        name="intdiv",
        usage="a // b",
        summary="Quotient of whole numbers, cut toward 0; NULL where b is 0.",
        typed=_two_wholes,
        range=_intdiv_range,
        forms={"duckdb": _quotient("//")},
    ),
    Function(
        name="mod",
        usage="a % b",
        summary="Remainder, with the sign of a; NULL where b is 0.",
        typed=_two_numbers,
        range=_mod_range,
        forms={"duckdb": _quotient("%")},
    ),
    Function(
        name="neg",
        usage="-x",
        summary="The opposite number; NULL for the lowest whole number.",
        typed=_neg,
        range=lambda call, ranges: fitted(call.type, ranges[0].negated()),
        forms={"duckdb": of_the_lowest("-", "")},
        passes=(0,),
    ),
)
