"""Functions that only `rewrite` may use: exact integers, hashes, clamps. No query can name them.

Every one is total, and every one is printed here and nowhere else. `seal` reads the same nodes and trusts two of them
to bound a number: `clamp_whole` and `shrink`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from dpsql.catalog.types import SqlType
from dpsql.sensitivity.grain import Grain
from dpsql.sql.scalars import Apply, Constant, Scalar

_Form = Callable[[Sequence[str]], str]


def _whole(value: int) -> Constant:
    return Constant(value, SqlType.INTEGER)


TRUE: Final = Constant(True, SqlType.BOOLEAN)
SALT: Final = Apply("salt", (), SqlType.INTEGER)
"""A number that is known only when the plan is paid for; bound as the statement's one parameter."""


def hash_of(*parts: Scalar) -> Scalar:
    """The engine's own 64-bit hash."""
    return Apply("hash", parts, SqlType.INTEGER)


def same(a: Scalar, b: Scalar) -> Scalar:
    """Equality of raw columns; NULL equals nothing."""
    return Apply("same", (a, b), SqlType.BOOLEAN)


def alike(a: Scalar, b: Scalar) -> Scalar:
    """Equality of keys; NULL is a key like any other."""
    return Apply("alike", (a, b), SqlType.BOOLEAN)


def all_of(*conditions: Scalar) -> Scalar:
    """Of one or more."""
    return conditions[0] if len(conditions) == 1 else Apply("all", conditions, SqlType.BOOLEAN)


def known(a: Scalar) -> Scalar:
    """Not NULL."""
    return Apply("known", (a,), SqlType.BOOLEAN)


def at_most(a: Scalar, limit: int) -> Scalar:
    return Apply("at_most", (a, _whole(limit)), SqlType.BOOLEAN)


def fine_grains(value: Scalar, grain: Grain) -> Scalar:
    """A fraction in whole grains of 128 bits, so fine that hardly any double falls between two of them."""
    return replace(grains(value, grain), function="fine_grains")


def grains(value: Scalar, grain: Grain) -> Apply:
    """A value in whole grains. Only values inside the bounds are converted, so that no conversion can fail."""
    number = SqlType.DOUBLE if value.type is SqlType.DOUBLE else SqlType.INTEGER
    lower, upper = (Constant(bound, SqlType.DOUBLE) for bound in (grain.lower, grain.upper))
    if number is SqlType.INTEGER:
        lower, upper = _whole(grain.low), _whole(grain.high)
    per_unit = Constant(1 / grain.size, SqlType.DOUBLE)
    function = "grains" if number is SqlType.DOUBLE else "whole_grains"
    return Apply(function, (value, lower, upper, _whole(grain.low), _whole(grain.high), per_unit), SqlType.INTEGER)


def narrow(total: Scalar) -> Scalar:
    """A sum of the engine as one of our whole numbers; NULL where it has more than 64 bits."""
    return Apply("narrow", (total,), SqlType.INTEGER)


def from_grains(total: Scalar, grain: Grain) -> Scalar:
    """Whole grains as the number they stand for."""
    return Apply("from_grains", (total, Constant(grain.size, SqlType.DOUBLE)), SqlType.DOUBLE)


def clamp_whole(value: Scalar, *, low: int, high: int) -> Scalar:
    """An integer moved into [low, high]; NULL stays NULL."""
    return Apply("clamp_whole", (value, _whole(low), _whole(high)), SqlType.INTEGER)


def or_zero(value: Scalar) -> Scalar:
    return Apply("or_zero", (value,), SqlType.INTEGER)


def minus(value: Scalar, amount: int) -> Scalar:
    return value if amount == 0 else Apply("minus", (value, _whole(amount)), SqlType.INTEGER)


def squared(value: Scalar) -> Scalar:
    """In 128 bits."""
    return Apply("squared", (value,), SqlType.INTEGER)


def multiplied(a: Scalar, b: Scalar) -> Scalar:
    """In 128 bits."""
    return Apply("multiplied", (a, b), SqlType.INTEGER)


def side_by_side(*values: Scalar) -> Scalar:
    """The arguments of an aggregate of pairs; only over public tables."""
    return Apply("side_by_side", values, SqlType.DOUBLE)


def plus(*values: Scalar) -> Scalar:
    return values[0] if len(values) == 1 else Apply("plus", values, SqlType.INTEGER)


def times(value: Scalar, amount: int) -> Scalar:
    return value if amount == 1 else Apply("times", (value, _whole(amount)), SqlType.INTEGER)


def down_weighted(total: Scalar, count: Scalar, cap: int) -> Scalar:
    """total · min(1, cap/count), toward zero; nothing is divided where count <= cap."""
    return Apply("down_weighted", (total, count, _whole(cap)), SqlType.INTEGER)


def factor(norm_squared: Scalar, *, radius_squared: int) -> Scalar:
    """min(1, R(1 − 2^-40)/norm) as a double."""
    return Apply("factor", (norm_squared, _whole(radius_squared)), SqlType.DOUBLE)


def shrink(value: Scalar, by: Scalar) -> Scalar:
    """value · by, toward zero; unchanged where `by` is 1."""
    return Apply("shrink", (value, by), SqlType.INTEGER)


def _joined(separator: str) -> _Form:
    return lambda parts: f"({separator.join(parts)})"


SLACK: Final = 1 - 2.0**-40
"""More than the doubles of `factor` and `shrink` can lose: docs/theorems/bounding.md."""

FORMS: Final[Mapping[str, Mapping[str, _Form]]] = {
    "duckdb": {
        "salt": lambda parts: "$salt",
        "hash": lambda parts: f"hash({', '.join(parts)})",
        "same": lambda parts: f"({parts[0]} = {parts[1]})",
        "alike": lambda parts: f"({parts[0]} IS NOT DISTINCT FROM {parts[1]})",
        "all": _joined(" AND "),
        "known": lambda parts: f"({parts[0]} IS NOT NULL)",
        "at_most": lambda parts: f"({parts[0]} <= {parts[1]})",
        "grains": lambda parts: (
            f"CASE WHEN {parts[0]} >= {parts[2]} THEN {parts[4]} WHEN {parts[0]} <= {parts[1]} THEN {parts[3]} "
            f"ELSE CAST(round({parts[0]} * {parts[5]}) AS BIGINT) END"
        ),
        "fine_grains": lambda parts: (
            f"CASE WHEN {parts[0]} >= {parts[2]} THEN {parts[4]} WHEN {parts[0]} <= {parts[1]} THEN {parts[3]} "
            f"ELSE CAST(round({parts[0]} * {parts[5]}) AS HUGEINT) END"
        ),
        "whole_grains": lambda parts: (
            f"CASE WHEN {parts[0]} >= {parts[2]} THEN {parts[4]} WHEN {parts[0]} <= {parts[1]} THEN {parts[3]} "
            f"ELSE {parts[0]} END"
        ),
        "clamp_whole": lambda parts: (
            f"CASE WHEN {parts[0]} > {parts[2]} THEN {parts[2]} WHEN {parts[0]} < {parts[1]} THEN {parts[1]} "
            f"ELSE {parts[0]} END"
        ),
        "narrow": lambda parts: f"TRY_CAST({parts[0]} AS BIGINT)",
        "from_grains": lambda parts: f"(CAST({parts[0]} AS DOUBLE) * {parts[1]})",
        "presence": lambda parts: f"CASE WHEN {parts[0]} IS NOT NULL THEN 1 END",
        "or_zero": lambda parts: f"coalesce({parts[0]}, 0)",
        "minus": lambda parts: f"({parts[0]} - {parts[1]})",
        "squared": lambda parts: f"(CAST({parts[0]} AS HUGEINT) * {parts[0]})",
        "multiplied": lambda parts: f"(CAST({parts[0]} AS HUGEINT) * {parts[1]})",
        "side_by_side": ", ".join,
        "plus": _joined(" + "),
        "times": lambda parts: f"(CAST({parts[0]} AS HUGEINT) * {parts[1]})",
        "down_weighted": lambda parts: (
            f"CASE WHEN {parts[1]} <= {parts[2]} THEN {parts[0]} "
            f"ELSE CAST({parts[0]} AS HUGEINT) * {parts[2]} // {parts[1]} END"
        ),
        "factor": lambda parts: (
            f"CASE WHEN {parts[0]} <= {parts[1]} THEN CAST(1 AS DOUBLE) "
            f"ELSE {SLACK!r} * sqrt(CAST({parts[1]} AS DOUBLE) / CAST({parts[0]} AS DOUBLE)) END"
        ),
        "shrink": lambda parts: (
            f"CASE WHEN {parts[1]} = 1 THEN {parts[0]} "
            f"ELSE CAST(trunc(CAST({parts[0]} AS DOUBLE) * {parts[1]}) AS BIGINT) END"
        ),
    }
}
