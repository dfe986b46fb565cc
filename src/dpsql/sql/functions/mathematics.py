"""Roots, logarithms and powers: DOUBLE in, DOUBLE out, NULL outside of their domain. Rounding, sizes and signs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final

from dpsql.catalog.types import SqlType
from dpsql.enclosure import exp_bounds, log_bounds, sqrt_bounds
from dpsql.sql.functions.arithmetic import fitted, of_the_lowest
from dpsql.sql.functions.conversions import counted, numeric, signature, whole_literal
from dpsql.sql.functions.function import Argument, Form, Function, RangeRule, Request, named, where
from dpsql.sql.intervals import EVERYTHING, Interval, integers, rounded, widened
from dpsql.sql.scalars import Apply, Constant, Scalar

_SMALLEST: Final = Fraction(1, 2**1074)
_LARGEST_POWER: Final = 64
"""Whole exponents up to this one are multiplied out exactly."""
_EXPONENT_LIMIT: Final = 760
"""exp(-760) is 0 and exp(760) infinite in doubles."""
_DIGITS: Final = 300
"""Beyond, the engine's powers of ten overflow and it answers 0."""


# ---- types ----------------------------------------------------------------------------------------------------------


_ONE: Final = signature(SqlType.DOUBLE, result=SqlType.DOUBLE)
_TWO: Final = signature(SqlType.DOUBLE, SqlType.DOUBLE, result=SqlType.DOUBLE)


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


def _sqrt_range(_call: Apply, ranges: Sequence[Interval]) -> Interval:
    low, high = ranges[0].low, ranges[0].high
    return widened(
        Interval(
            Fraction(0) if low is None or low <= 0 else sqrt_bounds(low)[0],
            None if high is None else sqrt_bounds(max(high, Fraction(0)))[1],
        )
    )


def _log(base: Fraction | None, value: Fraction) -> tuple[Fraction, Fraction]:
    """(low, high) around the logarithm; 1 has exactly 0."""
    if value == 1:
        return Fraction(0), Fraction(0)
    low, high = log_bounds(value)
    if base is None:
        return low, high
    ends = [end / divisor for end in (low, high) for divisor in log_bounds(base)]
    return min(ends), max(ends)


def _log_range(base: int | None) -> RangeRule:
    """Of the positive values alone. The smallest double bounds the logarithm where the range reaches down to 0."""
    of = None if base is None else Fraction(base)

    def rule(_call: Apply, ranges: Sequence[Interval]) -> Interval:
        low, high = ranges[0].low, ranges[0].high
        return widened(
            Interval(
                None if low is None else _log(of, max(low, _SMALLEST))[0],
                None if high is None else _log(of, max(high, _SMALLEST))[1],
            )
        )

    return rule


def _exp_of(exponent: Interval) -> Interval:
    low, high = exponent.low, exponent.high
    return Interval(
        Fraction(0) if low is None or low < -_EXPONENT_LIMIT else _exp_end(low, 0),
        None if high is None or high > _EXPONENT_LIMIT else _exp_end(high, 1),
    )


def _exp_end(value: Fraction, side: int) -> Fraction:
    """exp is above 0 and never falls: an exponent below the limit has the value of the limit as an upper end."""
    limited = min(max(value, Fraction(-_EXPONENT_LIMIT)), Fraction(_EXPONENT_LIMIT))
    return exp_bounds(limited)[side]


def _power_range(_call: Apply, ranges: Sequence[Interval]) -> Interval:
    base, exponent = ranges
    whole = _whole(exponent)
    if whole is not None:
        if whole % 2 == 0:
            base = base.absolute()
        return widened(base.mapped(lambda end: end**whole)) if whole else Interval(Fraction(1), Fraction(1))
    if base.low is not None and base.low > 0 and base.high is not None and exponent.bounded:
        logarithm = Interval(log_bounds(base.low)[0], log_bounds(base.high)[1])
        return widened(_exp_of(logarithm.mul(exponent)))
    return EVERYTHING  # 0 or below to a broken or negative power is infinite or not a number


def _whole(exponent: Interval) -> int | None:
    """The exponent, if it is one whole number that is multiplied out."""
    value = exponent.low
    if value is None or value != exponent.high or value.denominator != 1 or not 0 <= value <= _LARGEST_POWER:
        return None
    return int(value)


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


def _guarded(name: str, condition: Callable[[str], str], *, sure: Callable[[Fraction], bool]) -> Form:
    """The function of the values in its domain. `sure`: a lowest value that proves the guard needless."""

    def form(arguments: Sequence[Argument]) -> str:
        (argument,) = arguments
        low = argument.range.low
        needless = low is not None and sure(low)
        return f"{name}({argument.text if needless else where(argument.text, condition)})"

    return form


def _print_round(arguments: Sequence[Argument]) -> str:
    number, digits = arguments
    if number.type is SqlType.INTEGER:
        return f"TRY_CAST(round(CAST({number.text} AS HUGEINT), {digits.constant}) AS BIGINT)"
    return f"round({number.text}, {digits.constant})"


# ---- functions ------------------------------------------------------------------------------------------------------


def _logarithm(name: str, what: str, base: int | None) -> Function:
    return Function(
        name=name,
        usage=f"{name.upper()}(x)",
        summary=f"{what}; NULL where x is 0 or below.",
        typed=_ONE,
        range=_log_range(base),
        forms={"duckdb": _guarded(name, lambda v: f"{v} > 0", sure=lambda low: low > 0)},
    )


def _to_whole(name: str, summary: str, whole: Callable[[Fraction], int]) -> Function:
    return Function(
        name=name,
        usage=f"{name.upper()}(x)",
        summary=summary,
        typed=_ONE,
        range=lambda _call, ranges: rounded(ranges[0].mapped(lambda end: Fraction(whole(end)))),
        forms={"duckdb": named(name)},
        passes=(0,),
    )


MATHEMATICS: Final = (
    Function(
        name="sqrt",
        usage="SQRT(x)",
        summary="Square root; NULL where x is below 0.",
        typed=_ONE,
        range=_sqrt_range,
        forms={"duckdb": _guarded("sqrt", lambda v: f"{v} >= 0", sure=lambda low: low >= 0)},
    ),
    _logarithm("ln", "Natural logarithm", None),
    _logarithm("log10", "Logarithm to the base 10", 10),
    _logarithm("log2", "Logarithm to the base 2", 2),
    Function(
        name="exp",
        usage="EXP(x)",
        summary="e to the power of x; NULL where that is larger than any DOUBLE.",
        typed=_ONE,
        range=lambda _call, ranges: widened(_exp_of(ranges[0])),
        forms={"duckdb": named("exp")},
    ),
    Function(
        name="power",
        usage="POWER(x, y)",
        summary="x to the power of y, DOUBLE; NULL where that is no number or larger than any DOUBLE.",
        typed=_TWO,
        range=_power_range,
        forms={"duckdb": named("power")},
    ),
)
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
    _to_whole("floor", "The largest whole number not above x, as DOUBLE.", math.floor),
    _to_whole("ceil", "The smallest whole number not below x, as DOUBLE.", math.ceil),
    Function(
        name="sign",
        usage="SIGN(x)",
        summary="-1, 0 or 1.",
        typed=_sign,
        range=_sign_range,
        forms={"duckdb": lambda arguments: f"CAST(sign({arguments[0].text}) AS BIGINT)"},
    ),
)
