"""Numbers and moments as people write them outside Python: plain digits, read exactly, the same in SQL, in words of the
command line and in moments over the socket.

`int`, `Decimal` and `datetime.fromisoformat` also take digits of other scripts, underscores, blanks and NaN: somebody
who writes those means something else than a number, or wants to find out what it is taken for.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from fractions import Fraction
from typing import Final

from dpsql.errors import BadParameter

_NUMBER: Final = re.compile(r"(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,2})?")
_WHOLE: Final = re.compile(r"[0-9]{1,18}")
_MOMENT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?)?"
)
_SIZE: Final = re.compile(r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,3})?) ?(?P<unit>[KMGT])(?P<binary>i?)B")
_LONGEST_SHOWN: Final = 40


def plain_number(text: str) -> Fraction | None:
    """The number that a text says in plain digits, without a sign; None where it says none."""
    if _NUMBER.fullmatch(text) is None:
        return None
    return Fraction(text if text[0] != "." else f"0{text}")


def number(name: str, text: str) -> Fraction:
    """A number, exactly: 0.1 is a tenth. `name` is what the reader of a refusal has written it for."""
    found = plain_number(text)
    if found is None:
        raise refused(name, text, why="a number is written in plain digits, without a sign", fix=f"write {name} 0.1")
    return found


def count(name: str, text: str) -> int:
    """A whole number."""
    if _WHOLE.fullmatch(text) is None:
        raise refused(name, text, why="a whole number is written in plain digits", fix=f"write {name} 16")
    return int(text)


def size_in_bytes(text: object) -> int | None:
    """The bytes of a size such as "4GB" or "512 MiB"; None where it is none."""
    found = _SIZE.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    return int(Fraction(found["number"]) * (1024 if found["binary"] else 1000) ** (1 + "KMGT".index(found["unit"])))


def size(name: str, text: str) -> int:
    """A size of memory, in bytes."""
    found = size_in_bytes(text)
    if not found:
        raise refused(name, text, why="a size is a number and a unit", fix=f"write {name} 4GB")
    return found


def moment(name: str, text: str) -> datetime:
    """A day or a time, of UTC unless it has a zone; in UTC."""
    if _MOMENT.fullmatch(text) is not None:
        with suppress(ValueError):  # the 30th of February
            return in_utc(name, datetime.fromisoformat(text))
    raise _no_moment(name, text)


def in_utc(name: str, at: datetime) -> datetime:
    """The same moment in UTC; what has no zone is UTC already."""
    if not isinstance(at, datetime):
        raise _no_moment(name, str(at))
    if at.tzinfo is None:
        return at.replace(tzinfo=UTC)
    try:
        return at.astimezone(UTC)
    except OverflowError:  # in UTC it lies before the first year, or after the last one
        raise _no_moment(name, at.isoformat()) from None


def _no_moment(name: str, text: str) -> BadParameter:
    return refused(
        name,
        text,
        why="a moment is a day of the calendar, or a time in it, from which on something is told",
        fix=f"write {name} 2026-10-01, or 2026-10-01T18:00, both in UTC; in Python pass a datetime",
    )


def refused(name: str, text: str, *, why: str, fix: str) -> BadParameter:
    """What was written is not what was asked for. It is shown as far as it can be read."""
    return BadParameter(f"{name} cannot be {shown_text(text)}", why=why, fix=fix)


def shown_text(text: str) -> str:
    """What somebody has written, as far as it can be read: no letter of it steers a terminal."""
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…")
