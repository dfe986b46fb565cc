"""Rounding, sizes and signs of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from dpsql.catalog.types import SqlType
from dpsql.sql.functions.arithmetic import fitted, of_the_lowest
from dpsql.sql.functions.conversions import counted, numeric, signature, whole_literal
from dpsql.sql.functions.function import Argument, Function, Request, named
from dpsql.sql.intervals import Interval, integers, rounded, widened
from dpsql.sql.scalars import Apply, Constant, Scalar

_DIGITS: Final = 300
"""Beyond, the engine's powers of ten overflow and it answers 0."""


# ---- types ----------------------------------------------------------------------------------------------------------


def _same_number(request: Request) -> Scalar:
    (scalar,) = counted(request, 1, 1)
    scalar = numeric(request, scalar)
    return request.result((scalar,), scalar.type)


def _sign(request: Request) -> Scalar:
    (scalar,) = counted(request, 1, 1)
    return request.result((numeric(request, scalar),), SqlType.INTEGER)


def _round(request: Request) -> Scalar:
    scalar, *rest = counted(request, 1, 2)
    scalar = numeric(request, scalar)
    digits = whole_literal(rest[0]) if rest else 0
    if digits is None or not -_DIGITS <= digits <= _DIGITS:
        request.wrong(f"the second argument of {request.usage} must be a whole literal from -{_DIGITS} to {_DIGITS}")
    if scalar.type is SqlType.INTEGER and digits >= 0:
        return scalar
    return request.result((scalar, Constant(digits, SqlType.INTEGER)), scalar.type)


# ---- ranges ---------------------------------------------------------------------------------------------------------


def _sign_range(_call: Apply, ranges: Sequence[Interval]) -> Interval:
    low, high = ranges[0].low, ranges[0].high
    return Interval(
        Fraction(-1) if low is None or low < 0 else Fraction(int(low > 0)),
        Fraction(1) if high is None or high > 0 else Fraction(-int(high < 0)),
    )


def _round_range(call: Apply, ranges: Sequence[Interval]) -> Interval:
    """Rounding keeps order, so the ends decide. Ends that are steps themselves stay; others move by at most a step.

    The engine rounds x * 10**n, itself rounded: a value a hair beside a half may take the neighbouring step.
    """
    digits = whole_literal(call.arguments[1]) or 0
    unit = Fraction(10) ** -digits
    exact = ranges[0].mapped(lambda end: _half_away(end, unit))
    if call.type is SqlType.INTEGER:
        return integers(exact)
    if digits == 0:
        return rounded(exact)
    low, high = ranges[0].low, ranges[0].high
    return widened(
        Interval(
            low if low is None or low == exact.low else low - unit,
            high if high is None or high == exact.high else high + unit,
        )
    )


def _half_away(end: Fraction, unit: Fraction) -> Fraction:
    steps = math.floor(abs(end) / unit + Fraction(1, 2))
    return unit * (steps if end >= 0 else -steps)


# ---- DuckDB ---------------------------------------------------------------------------------------------------------


def _print_round(arguments: Sequence[Argument]) -> str:
    number, digits = arguments
    if number.type is SqlType.INTEGER:
        return f"TRY_CAST(round(CAST({number.text} AS HUGEINT), {digits.constant}) AS BIGINT)"
    return f"round({number.text}, {digits.constant})"


_ONE_DOUBLE: Final = signature(SqlType.DOUBLE, result=SqlType.DOUBLE)


ROUNDING: Final = (
    Function(
        name="abs",
        usage="ABS(x)",
        summary="Distance from 0; NULL for the lowest whole number.",
        typed=_same_number,
        range=lambda call, ranges: fitted(call.type, ranges[0].absolute()),
        forms={"duckdb": of_the_lowest("abs(", ")")},
        passes=(0,),
    ),
    Function(
        name="round",
        usage="ROUND(x[, digits])",
        summary="Nearest number with so many digits after the point, half away from 0. Digits are a literal.",
        typed=_round,
        range=_round_range,
        forms={"duckdb": _print_round},
    ),
    Function(
        name="floor",
        usage="FLOOR(x)",
        summary="The largest whole number not above x, as DOUBLE.",
        typed=_ONE_DOUBLE,
        range=lambda _call, ranges: rounded(ranges[0].mapped(lambda end: Fraction(math.floor(end)))),
        forms={"duckdb": named("floor")},
        passes=(0,),
    ),
    Function(
        name="ceil",
        usage="CEIL(x)",
        summary="The smallest whole number not below x, as DOUBLE.",
        typed=_ONE_DOUBLE,
        range=lambda _call, ranges: rounded(ranges[0].mapped(lambda end: Fraction(math.ceil(end)))),
        forms={"duckdb": named("ceil")},
        passes=(0,),
    ),
    Function(
        name="sign",
        usage="SIGN(x)",
        summary="-1, 0 or 1.",
        typed=_sign,
        range=_sign_range,
        forms={"duckdb": lambda arguments: f"CAST(sign({arguments[0].text}) AS BIGINT)"},
    ),
)
