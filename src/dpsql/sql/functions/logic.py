"""Comparisons and three-valued logic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dpsql.catalog.types import SqlType
from dpsql.sql.functions.conversions import converted, counted, signature, unified
from dpsql.sql.functions.function import Argument, Function, Request, infix, truth
from dpsql.sql.scalars import Scalar


def _any_one(request: Request) -> Scalar:
    return request.result(counted(request, 1, 1), SqlType.BOOLEAN)


def _conditions(request: Request) -> Scalar:
    """One condition is itself."""
    given = tuple(converted(request, scalar, SqlType.BOOLEAN) for scalar in counted(request, 1))
    return given[0] if len(given) == 1 else request.result(given, SqlType.BOOLEAN)


def _print_in(arguments: Sequence[Argument]) -> str:
    return f"({arguments[0].text} IN ({', '.join(argument.text for argument in arguments[1:])}))"


def _comparison(name: str, operator: str, summary: str) -> Function:
    return Function(
        name=name,
        usage=f"a {operator} b",
        summary=summary,
        typed=lambda request: request.result(unified(request, counted(request, 2, 2)), SqlType.BOOLEAN),
        range=truth,
        forms={"duckdb": infix(operator)},
    )


def _test(name: str, words: str, summary: str, *, of_any: bool) -> Function:
    return Function(
        name=name,
        usage=f"x {words}",
        summary=summary,
        typed=_any_one if of_any else signature(SqlType.BOOLEAN, result=SqlType.BOOLEAN),
        range=truth,
        forms={"duckdb": lambda arguments: f"({arguments[0].text} {words})"},
    )


def _connective(name: str, word: str, summary: str) -> Function:
    return Function(
        name=name,
        usage=f"a {word} b",
        summary=summary,
        typed=_conditions,
        range=truth,
        forms={"duckdb": lambda arguments: "(" + f" {word} ".join(argument.text for argument in arguments) + ")"},
    )


LOGIC: Final = (
    _comparison("eq", "=", "Equal; text by its bytes."),
    _comparison("ne", "<>", "Not equal."),
    _comparison("lt", "<", "Less than; text by its bytes."),
    _comparison("le", "<=", "Less than or equal."),
    _comparison("gt", ">", "Greater than."),
    _comparison("ge", ">=", "Greater than or equal."),
    _comparison("is_distinct", "IS DISTINCT FROM", "Different, where NULL is a value like any other."),
    _comparison("is_not_distinct", "IS NOT DISTINCT FROM", "The same, where NULL is a value like any other."),
    _test("is_null", "IS NULL", "No value is there.", of_any=True),
    _test("is_not_null", "IS NOT NULL", "A value is there.", of_any=True),
    _test("is_true", "IS TRUE", "True, and not NULL.", of_any=False),
    _test("is_false", "IS FALSE", "False, and not NULL.", of_any=False),
    _connective("and", "AND", "All are true."),
    _connective("or", "OR", "At least one is true."),
    Function(
        name="not",
        usage="NOT a",
        summary="The opposite; NULL stays NULL.",
        typed=signature(SqlType.BOOLEAN, result=SqlType.BOOLEAN),
        range=truth,
        forms={"duckdb": lambda arguments: f"(NOT {arguments[0].text})"},
    ),
    Function(
        name="in",
        usage="x IN (a, b, …)",
        summary="Equal to one of a list.",
        typed=lambda request: request.result(unified(request, counted(request, 2)), SqlType.BOOLEAN),
        range=truth,
        forms={"duckdb": _print_in},
    ),
)
