"""Text: by its bytes when compared, by its characters when cut."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from dpsql.catalog.types import SqlType
from dpsql.sql.functions.constants import quoted
from dpsql.sql.functions.conversions import converted, counted, is_null, signature
from dpsql.sql.functions.function import (
    LONGEST,
    Argument,
    Form,
    Function,
    Request,
    TypeRule,
    infix,
    inside,
    named,
    not_longer,
    truth,
    where,
)
from dpsql.sql.intervals import Interval
from dpsql.sql.scalars import Apply, Constant, Scalar

_FARTHEST: Final = 2**32
"""The engine's cutting functions fail on positions from here on."""


# ---- types ----------------------------------------------------------------------------------------------------------


def _text_like(request: Request) -> Scalar:
    """Values beside text are joined to it as text."""
    given = [
        scalar
        if scalar.type is SqlType.TEXT
        else Constant(None, SqlType.TEXT)
        if is_null(scalar)
        else Apply("to_text", (scalar,), SqlType.TEXT)
        for scalar in counted(request, 2, 2)
    ]
    if all(scalar.type is not SqlType.TEXT for scalar in request.arguments):
        request.wrong(f"{request.usage} joins text, and neither side is text")
    return request.result(given, SqlType.TEXT)


def _like(request: Request) -> Scalar:
    """The pattern and the escape are literals: a pattern that ends inside an escape would fail, for some rows only."""
    subject, *literals = (converted(request, scalar, SqlType.TEXT) for scalar in counted(request, 2, 3))
    if not all(isinstance(scalar, Constant) for scalar in literals):
        request.wrong(f"the pattern of {request.usage} must be a literal", fix="write the pattern between quotes")
    pattern, *rest = (scalar.value for scalar in literals if isinstance(scalar, Constant))
    escape = rest[0] if rest else ""
    if not isinstance(escape, str) or len(escape.encode("utf-8", "replace")) > 1:
        request.wrong(f"the escape of {request.usage} must be one ASCII character")
    if escape and isinstance(pattern, str) and (len(pattern) - len(pattern.rstrip(escape))) % 2:
        request.wrong(
            f"the pattern of {request.usage} ends with its escape character",
            fix="write the escape character twice to mean itself",
        )
    return request.result((subject, *literals), SqlType.BOOLEAN)


def _replace(request: Request) -> Scalar:
    given = [converted(request, scalar, SqlType.TEXT) for scalar in counted(request, 3, 3)]
    if not all(isinstance(scalar, Constant) for scalar in given[1:]):
        request.wrong(f"what {request.usage} looks for and puts in its place must be literals")
    return request.result(given, SqlType.TEXT)


_ONE: Final = signature(SqlType.TEXT, result=SqlType.TEXT)
_TRIM: Final = signature(SqlType.TEXT, SqlType.TEXT, result=SqlType.TEXT, optional=1)
_TEST: Final = signature(SqlType.TEXT, SqlType.TEXT, result=SqlType.BOOLEAN)
_CUT: Final = signature(SqlType.TEXT, SqlType.INTEGER, result=SqlType.TEXT)


# ---- ranges ---------------------------------------------------------------------------------------------------------


# ---- DuckDB ---------------------------------------------------------------------------------------------------------


def _print_replace(arguments: Sequence[Argument]) -> str:
    """Guarded before it grows: the result has at most LONGEST bytes where the replacement is the longer one."""
    subject, old, new = arguments
    sizes = [len(text.encode()) if isinstance(text, str) else 0 for text in (old.constant, new.constant)]
    grows = 0 < sizes[0] < sizes[1]
    text = not_longer(subject.text, LONGEST * sizes[0] // sizes[1]) if grows else subject.text
    return f"replace({text}, {old.text}, {new.text})"


def _print_like(operator: str) -> Form:
    def form(arguments: Sequence[Argument]) -> str:
        subject, pattern, *rest = arguments
        escape = f" ESCAPE {quoted(str(rest[0].constant))}" if rest and rest[0].constant else ""
        return f"({subject.text} {operator} {pattern.text}{escape})"

    return form


def _position(argument: Argument) -> str:
    """A position the engine accepts, else NULL."""
    if argument.range.within(Interval(Fraction(-_FARTHEST), Fraction(_FARTHEST - 1))):
        return argument.text
    return inside(argument.text, -_FARTHEST, _FARTHEST - 1)


def _print_substring(arguments: Sequence[Argument]) -> str:
    subject, *positions = arguments
    return f"substring({', '.join([subject.text, *map(_position, positions)])})"


def _print_left(arguments: Sequence[Argument]) -> str:
    subject, number = arguments
    high = number.range.high
    safe = high is not None and high < _FARTHEST
    text = number.text if safe else where(_whole(number), lambda v: f"{v} < {_FARTHEST}")
    return f"left({subject.text}, {text})"


def _print_right(arguments: Sequence[Argument]) -> str:
    subject, number = arguments
    return f"right({subject.text}, {_whole(number)})"


def _whole(argument: Argument) -> str:
    """A number of 64 bits, else NULL: released sums may come in 128."""
    return argument.text if argument.constant is not None else f"TRY_CAST({argument.text} AS BIGINT)"


def _plain(name: str, usage: str, summary: str, rule: TypeRule) -> Function:
    return Function(name=name, usage=usage, summary=summary, typed=rule, forms={"duckdb": named(name)})


def _match(name: str, operator: str, summary: str) -> Function:
    return Function(
        name=name,
        usage=f"x {operator} 'pattern' [ESCAPE 'c']",
        summary=summary,
        typed=_like,
        range=truth,
        forms={"duckdb": _print_like(operator)},
    )


def _search(name: str, summary: str) -> Function:
    return Function(
        name=name,
        usage=f"{name.upper()}(x, part)",
        summary=summary,
        typed=_TEST,
        range=truth,
        forms={"duckdb": named(name)},
    )


TEXT: Final = (
    Function(
        name="concat",
        usage="a || b",
        summary=f"Text joined to text; NULL where it would be longer than {LONGEST} bytes.",
        typed=_text_like,
        forms={"duckdb": infix("||")},
        passes=(0, 1),
        grows=True,
    ),
    _match("like", "LIKE", "Matches a pattern: % is any text, _ any character. The pattern is a literal."),
    _match("ilike", "ILIKE", "As LIKE, without regard to upper and lower case."),
    _plain("lower", "LOWER(x)", "In lower case.", _ONE),
    _plain("upper", "UPPER(x)", "In upper case.", _ONE),
    _plain("trim", "TRIM(x[, characters])", "Without spaces, or those characters, at both ends.", _TRIM),
    _plain("ltrim", "LTRIM(x[, characters])", "Without spaces, or those characters, at the start.", _TRIM),
    _plain("rtrim", "RTRIM(x[, characters])", "Without spaces, or those characters, at the end.", _TRIM),
    Function(
        name="length",
        usage="LENGTH(x)",
        summary="Number of characters.",
        typed=signature(SqlType.TEXT, result=SqlType.INTEGER),
        range=lambda _call, _ranges: Interval(Fraction(0), None),
        forms={"duckdb": named("length")},
    ),
    Function(
        name="substring",
        usage="SUBSTRING(x, start[, length])",
        summary="Characters from a position on, counted from 1, or from the end where it is negative.",
        typed=signature(SqlType.TEXT, SqlType.INTEGER, SqlType.INTEGER, result=SqlType.TEXT, optional=1),
        forms={"duckdb": _print_substring},
    ),
    Function(
        name="left",
        usage="LEFT(x, n)",
        summary="The first n characters; all but the last -n where n is negative.",
        typed=_CUT,
        forms={"duckdb": _print_left},
    ),
    Function(
        name="right",
        usage="RIGHT(x, n)",
        summary="The last n characters; all but the first -n where n is negative.",
        typed=_CUT,
        forms={"duckdb": _print_right},
    ),
    Function(
        name="replace",
        usage="REPLACE(x, 'old', 'new')",
        summary=f"With one literal in place of another; NULL where it might grow beyond {LONGEST} bytes.",
        typed=_replace,
        forms={"duckdb": _print_replace},
    ),
    _search("starts_with", "Begins with that text."),
    _search("ends_with", "Ends with that text."),
    _search("contains", "Contains that text."),
)
