"""Functions that answer with one of their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import Final

from dpsql.catalog.types import NUMERIC, TEMPORAL, SqlType
from dpsql.errors import BadParameter
from dpsql.sql.functions.constants import number_of
from dpsql.sql.functions.conversions import converted, counted, is_null, unified
from dpsql.sql.functions.function import Argument, Function, RangeRule, Request, named, once
from dpsql.sql.intervals import EVERYTHING, ZERO, Interval
from dpsql.sql.scalars import Apply, Constant, Scalar

# ---- types ----------------------------------------------------------------------------------------------------------


def _all_alike(request: Request) -> Scalar:
    given = unified(request, counted(request, 1))
    return given[0] if len(given) == 1 else request.result(given, given[0].type)


def _nullif(request: Request) -> Scalar:
    given = unified(request, counted(request, 2, 2))
    return request.result(given, given[0].type)


def _case(request: Request) -> Scalar:
    """(when, then, when, then, …, else); without an else, NULL."""
    given = list(counted(request, 2))
    conditions = [converted(request, scalar, SqlType.BOOLEAN) for scalar in given[0:-1:2]]
    values = given[1::2] if len(given) % 2 == 0 else [*given[1::2], given[-1]]
    if len(given) % 2 == 0:
        values.append(Constant(None, values[0].type))
    results = unified(request, values)
    pairs = [scalar for pair in zip(conditions, results, strict=False) for scalar in pair]
    return request.result((*pairs, results[-1]), results[-1].type)


def _clamp(request: Request) -> Scalar:
    given = unified(request, counted(request, 3, 3))
    value, low, high = given
    if value.type not in NUMERIC | TEMPORAL:
        request.wrong(f"{request.usage} needs numbers, dates or timestamps, not {value.type.value}")
    ends = [number_of(end) if isinstance(end, Constant) else None for end in (low, high)]
    if ends[0] is None or ends[1] is None:
        request.wrong(f"the limits of {request.usage} must be literals", fix="write the two limits as numbers or dates")
    if ends[0] > ends[1]:
        raise BadParameter(
            f"the limits of {request.usage} are reversed: the low one is above the high one",
            why="no value lies between them, so the result would depend on which limit is applied first",
            fix="write the smaller limit first",
            at=request.at,
        )
    return request.result(given, value.type)


# ---- ranges ---------------------------------------------------------------------------------------------------------


def never_null(scalar: Scalar) -> bool:
    """Sure to have a value in every row."""
    if isinstance(scalar, Constant):
        return scalar.value is not None
    if not isinstance(scalar, Apply):
        return False
    if scalar.function in {"is_null", "is_not_null", "is_true", "is_false", "is_distinct", "is_not_distinct"}:
        return True
    return scalar.function in {"coalesce", "least", "greatest"} and any(map(never_null, scalar.arguments))


def hull(scalars: Sequence[Scalar], ranges: Sequence[Interval]) -> Interval:
    """Around all that may be the result. A literal NULL is outside of every interval, so it adds nothing."""
    there = [known for scalar, known in zip(scalars, ranges, strict=True) if not is_null(scalar)]
    return reduce(Interval.union, there) if there else ZERO


def _case_range(call: Apply, ranges: Sequence[Interval]) -> Interval:
    """Any of the results; `interval_of` knows more, from the conditions."""
    return hull([*call.arguments[1::2], call.arguments[-1]], [*ranges[1::2], ranges[-1]])


def _coalesce_range(call: Apply, ranges: Sequence[Interval]) -> Interval:
    """Any argument up to the first that is never NULL."""
    last = next((i for i, scalar in enumerate(call.arguments) if never_null(scalar)), len(ranges) - 1)
    return hull(call.arguments[: last + 1], ranges[: last + 1])


def _least_range(call: Apply, ranges: Sequence[Interval]) -> Interval:
    """NULLs are passed over: only an argument that is never NULL limits the result from above."""
    around = hull(call.arguments, ranges)
    sure = [r.high for s, r in zip(call.arguments, ranges, strict=True) if never_null(s) and r.high is not None]
    return Interval(around.low, min(sure) if sure else around.high)


def _greatest_range(call: Apply, ranges: Sequence[Interval]) -> Interval:
    around = hull(call.arguments, ranges)
    sure = [r.low for s, r in zip(call.arguments, ranges, strict=True) if never_null(s) and r.low is not None]
    return Interval(max(sure) if sure else around.low, around.high)


def _clamp_range(_call: Apply, ranges: Sequence[Interval]) -> Interval:
    value, low, high = ranges[0], ranges[1].low, ranges[2].high
    if low is None or high is None:  # where a query writes it, the limits are literals
        return EVERYTHING

    def limited(end: Fraction) -> Fraction:
        return min(max(end, low), high)

    return Interval(low, high).intersect(value.mapped(limited))


# ---- DuckDB ---------------------------------------------------------------------------------------------------------


def _print_case(arguments: Sequence[Argument]) -> str:
    texts = [argument.text for argument in arguments]
    whens = " ".join(f"WHEN {when} THEN {then}" for when, then in zip(texts[0:-1:2], texts[1::2], strict=True))
    return f"CASE {whens} ELSE {texts[-1]} END"


def _print_nullif(arguments: Sequence[Argument]) -> str:
    """Not NULLIF: the engine copies its first argument, and nested ones would double at every level."""
    value, other = (argument.text for argument in arguments)
    return once(value, lambda v: f"CASE WHEN {v} = {other} THEN NULL ELSE {v} END", beside=other)


def _print_clamp(arguments: Sequence[Argument]) -> str:
    """Not LEAST and GREATEST, which would turn NULL into a limit."""
    value, low, high = (argument.text for argument in arguments)
    return once(value, lambda v: f"CASE WHEN {v} >= {high} THEN {high} WHEN {v} <= {low} THEN {low} ELSE {v} END")


def _one_of_all(name: str, summary: str, range_: RangeRule) -> Function:
    return Function(
        name=name,
        usage=f"{name.upper()}(a, b, …)",
        summary=summary,
        typed=_all_alike,
        range=range_,
        forms={"duckdb": named(name)},
    )


CHOICES: Final = (
    Function(
        name="case",
        usage="CASE WHEN … THEN … [ELSE …] END",
        summary="The result of the first condition that is true, else the last one or NULL.",
        typed=_case,
        range=_case_range,
        forms={"duckdb": _print_case},
    ),
    _one_of_all("coalesce", "The first argument that is not NULL.", _coalesce_range),
    Function(
        name="nullif",
        usage="NULLIF(a, b)",
        summary="a, or NULL where it equals b.",
        typed=_nullif,
        range=lambda _call, ranges: ranges[0],
        forms={"duckdb": _print_nullif},
    ),
    _one_of_all("least", "The smallest argument; NULLs are passed over.", _least_range),
    _one_of_all("greatest", "The largest argument; NULLs are passed over.", _greatest_range),
    Function(
        name="clamp",
        usage="CLAMP(x, low, high)",
        summary="x, moved to the nearer limit where it is outside of them; NULL stays NULL. Limits are literals.",
        typed=_clamp,
        range=_clamp_range,
        forms={"duckdb": _print_clamp},
    ),
)
