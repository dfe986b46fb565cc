"""Constants and names, read from the text itself: what they say is decided here, not by the parser's tree."""

from __future__ import annotations

import re
from datetime import date, datetime
from fractions import Fraction
from typing import Final

from dpsql.catalog.names import folded
from dpsql.catalog.types import SqlType
from dpsql.errors import NotSupported
from dpsql.sql.parsing.refusals import NO_RULE, Lesson, excerpt, misread, unsupported
from dpsql.sql.syntax import At, Identifier, Literal

MAX_INTEGER: Final = 2**63 - 1
MAX_EXPONENT: Final = 400
"""Doubles end near 1e308; beyond this an exponent is not even computed."""
MAX_DIGITS: Final = 400

_DIGITS = "(?:[0-9]+(?:_[0-9]+)*)"
_NUMBER: Final = re.compile(rf"(?=[.]?[0-9])({_DIGITS}?)(?:(\.)({_DIGITS}?))?(?:[eE]([+-]?[0-9]+))?")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIMESTAMP: Final = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?))?")
_PLAIN_NAME: Final = re.compile("[^\x00-@\\[-^`{-\x7f][^\x00-#%-/:-@\\[-^`{-\x7f]*")


def number(written: str, *, negative: bool = False, at: At) -> Literal:
    """A whole number of 64 bits, or an exact fraction for what has a point or an exponent."""
    found = _NUMBER.fullmatch(written)
    if found is None:
        raise misread("", at, what=f"{excerpt(written, (0, len(written)))!r} is not a number")
    whole, point, decimals, exponent = (part and part.replace("_", "") for part in found.groups())
    sign = -1 if negative else 1
    if point is None and exponent is None:
        digits = whole.lstrip("0") or "0"
        if len(digits) > 19 or not -MAX_INTEGER - 1 <= sign * int(digits) <= MAX_INTEGER:
            raise _out_of_range(written, at)
        return Literal(value=sign * int(digits), type=SqlType.INTEGER, at=at)
    return Literal(
        value=sign * _fraction(whole, decimals or "", exponent or "0", written, at), type=SqlType.DOUBLE, at=at
    )


def _fraction(whole: str, decimals: str, exponent: str, written: str, at: At) -> Fraction:
    if len(whole) + len(decimals) > MAX_DIGITS or len(exponent) > 6 or abs(int(exponent)) > MAX_EXPONENT:
        raise _out_of_range(written, at)
    value = Fraction(int(whole + decimals)) * Fraction(10) ** (int(exponent) - len(decimals))
    try:
        if value and not float(value):
            raise _out_of_range(written, at)
    except OverflowError:
        raise _out_of_range(written, at) from None
    return value


def _out_of_range(written: str, at: At) -> NotSupported:
    return unsupported(
        Lesson(
            f"The number {excerpt(written, (0, len(written)), longest=24)}",
            "whole numbers have 64 bits and others are doubles on every engine",
            "write a number of ordinary size",
        ),
        at=at,
    )


def text(source: str, at: tuple[int, int]) -> Literal:
    """The text between the single quotes of the token at that place; a doubled quote stands for one, nothing else is
    special."""
    return Literal(value=source[at[0] + 1 : at[1] - 1].replace("''", "'"), type=SqlType.TEXT, at=at)


def dated(literal: Literal, *, at: At) -> Literal | None:
    """The date a text says plainly, as YYYY-MM-DD."""
    value = literal.value
    if isinstance(value, str) and _DATE.fullmatch(value) and value.isascii():
        try:
            return Literal(value=date.fromisoformat(value), type=SqlType.DATE, at=at)
        except ValueError:
            return None
    return None


def timed(literal: Literal, *, at: At) -> Literal | None:
    """The moment a text says plainly, as YYYY-MM-DD or YYYY-MM-DD hh:mm:ss with up to six decimals."""
    value = literal.value
    found = _TIMESTAMP.fullmatch(value) if isinstance(value, str) and value.isascii() else None
    if found is None:
        return None
    day, time = found.groups(default="00:00:00")
    clock, _, decimals = time.partition(".")
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}")
    except ValueError:
        return None
    return Literal(value=moment.replace(microsecond=int(decimals.ljust(6, "0"))), type=SqlType.TIMESTAMP, at=at)


def identifier(source: str, at: At) -> Identifier:
    """The name at that place, from the text."""
    written = source[at[0] : at[1]] if at is not None else ""
    if written[:1] == '"' and written[-1:] == '"' and len(written) > 2:
        name = written[1:-1].replace('""', '"')
        return Identifier(name=folded(name), quoted=True, written=name, at=at)
    if written[:1] == "'":
        raise unsupported(
            Lesson(
                "Text in single quotes where a name belongs",
                "as a table it would be a file, and files have no declared owner",
                "write names without quotes or in double quotes",
            ),
            at=at,
        )
    if not _PLAIN_NAME.fullmatch(written):
        raise unsupported(
            Lesson("This name", NO_RULE, "write names as letters, digits and _, or in double quotes"), at=at
        )
    return Identifier(name=folded(written), quoted=False, written=written, at=at)
