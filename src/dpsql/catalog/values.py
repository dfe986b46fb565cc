"""What the owner writes as a value (numbers, dates, bounds, keys) read exactly, from TOML and from Python alike."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from enum import Enum
from fractions import Fraction
from typing import Final, TypeAlias, TypeVar

from dpsql.catalog.model import Bounds, KeyKind, Keys, PublicKeys, Value
from dpsql.catalog.names import Mistake, folded, listed
from dpsql.catalog.types import SqlType
from dpsql.require import LARGEST_COUNT, shown
from dpsql.written import size_in_bytes

Number: TypeAlias = int | Fraction
Moment: TypeAlias = date | datetime
E = TypeVar("E", bound=Enum)

TYPES: Final[Mapping[str, SqlType]] = {
    "boolean": SqlType.BOOLEAN,
    "bool": SqlType.BOOLEAN,
    "integer": SqlType.INTEGER,
    "int": SqlType.INTEGER,
    "double": SqlType.DOUBLE,
    "float": SqlType.DOUBLE,
    "decimal": SqlType.DOUBLE,
    "text": SqlType.TEXT,
    "string": SqlType.TEXT,
    "date": SqlType.DATE,
    "timestamp": SqlType.TIMESTAMP,
}
_LONGEST_NUMBER: Final = 400
"""Digits, and the largest exponent: beyond, no double holds the value and exact arithmetic would not end."""
_DAY: Final = 86_400
MOST_THREADS: Final = 1024
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d(?P<time>[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?", re.ASCII)
_ABOUT: Final = re.compile(r"about (?P<size>\d{1,3}(?:[ _,]?\d{3})*|\d{1,15})", re.ASCII)
_BOUNDS_WHY: Final = "the bounds decide how much noise hides one person; values outside count as the nearest bound"
_BOUNDS_FIX: Final = "write the smallest and the largest value that should count, for example bounds = [0, 2000]"
_KEYS_WHY: Final = "listed keys appear in every answer, so that nobody learns from the list who is in the data"
_KEYS_FIX: Final = 'list them, for example keys = ["Basel", "Bern"], or say keys = "private" or keys = "calendar"'


def one_of(words: tuple[str, ...], *, why: str) -> Callable[[object], str]:
    """A reader of one word of a list."""

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise Mistake(
                f"{quoted(value)} is not one of {listed(words)}",
                why=why,
                fix=f'write "{words[0]}"' if len(words) == 1 else f"choose one of {listed(words)}",
            )
        return value

    return read


def member_of(kind: type[E], *, why: str) -> Callable[[object], E]:
    """A reader of one member of an enumeration, by its value."""
    members = {str(member.value): member for member in kind}
    read = one_of(tuple(members), why=why)
    return lambda value: members[read(value)]


unit: Final = one_of(("person", "row"), why="it says what is protected: a person with all their rows, or each row")
_type_word: Final = one_of(tuple(TYPES), why="a column is read as one of six types")
_nulls_word: Final = one_of(("ignore", "never"), why="it says what a missing value means")


def sql_type(value: object) -> SqlType:
    """A type, as such or by its name."""
    return value if isinstance(value, SqlType) else TYPES[_type_word(value)]


def nulls(value: object) -> bool:
    """True where the owner says that the column is never NULL."""
    return _nulls_word(value) == "never"


def kind_of(value: object) -> str:
    """What a value is called in messages."""
    words = {bool: "true or false", int: "a whole number", Fraction: "a decimal number", float: "a decimal number"}
    more = {str: "text", list: "a list", tuple: "a list", dict: "a section", datetime: "a timestamp", date: "a date"}
    return {**words, **more}.get(type(value), f"a {type(value).__name__}")


def exact_decimal(text: str) -> Fraction | Decimal:
    """A decimal number of the file, exactly; what is not finite or of no sensible size stays what no reader accepts."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return Decimal("NaN")
    return Fraction(number) if number.is_finite() and _sensible(number) else number


def _sensible(number: Decimal) -> bool:
    _, digits, exponent = number.as_tuple()
    return isinstance(exponent, int) and len(digits) <= _LONGEST_NUMBER and abs(exponent) <= _LONGEST_NUMBER


def number(value: object) -> Number:
    """An exact number. A float stands for the decimal it prints as."""
    if isinstance(value, float) and math.isfinite(value):
        return Fraction(repr(float(value)))
    if isinstance(value, Decimal) and value.is_finite() and _sensible(value):
        return Fraction(value)
    if isinstance(value, (int, Fraction)) and not isinstance(value, bool):
        return int(value) if isinstance(value, int) else value
    raise Mistake(
        f"{quoted(value)} is not a finite number",
        why="NaN, infinities, text and numbers of hundreds of digits have no place in the arithmetic of the promise",
        fix="write a plain number, for example 0.05",
    )


def share(value: object) -> Fraction:
    """A number as a Fraction."""
    return Fraction(number(value))


def seconds(value: object) -> Fraction:
    """A time above 0, of a day at most."""
    found = share(value)
    if not 0 < found <= _DAY:
        raise Mistake(
            f"{quoted(value)} is not a number of seconds above 0 and of at most {_DAY}",
            why="it says how long one statement may take",
            fix="write a number of seconds, for example 60",
        )
    return found


def memory(value: object) -> str:
    """A size of memory, as it is written."""
    if not size_in_bytes(value):
        raise Mistake(
            f"{quoted(value)} is not a size",
            why="it bounds the memory of statements",
            fix='write a number and a unit, for example "4GB"',
        )
    return str(value)


def threads(value: object) -> int:
    """A number of threads."""
    found = count(value)
    if found > MOST_THREADS:
        raise Mistake(f"{found} threads are more than {MOST_THREADS}", why="no engine runs more", fix="write fewer")
    return found


def count(value: object) -> int:
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST_COUNT:
        raise Mistake(
            f"{quoted(value)} is not a whole number of at least 1",
            why="it counts rows, groups, people or keys",
            fix="write a whole number, for example 6",
        )
    return value


def flag(value: object) -> bool:
    """true or false, and nothing that could be taken for one of them."""
    if not isinstance(value, bool):
        raise Mistake(
            f"{quoted(value)} is not true or false",
            why='text such as "no" would count as true',
            fix="write true or false, without quotes",
        )
    return value


def text(value: object) -> str:
    """Text that says something."""
    if not isinstance(value, str) or not value.strip() or not _printable(value):
        raise Mistake(
            f"{quoted(value)} is {'empty or unprintable' if isinstance(value, str) else 'not text'}",
            why="a name or a label is meant",
            fix='write it in quotes, for example "patients"',
        )
    return value


def holder(value: object) -> str:
    """The name of an analyst or a grant, as it is."""
    found = text(value)
    if found != found.strip():
        raise Mistake(
            f"{quoted(value)} begins or ends with a blank",
            why="spending is kept by name, and this one looks like another",
            fix=f'write "{found.strip()}"',
        )
    return found


def name(value: object) -> str:
    """A name of a table or column, folded."""
    return folded(text(value))


def names(value: object) -> tuple[str, ...]:
    """One name or a list of names, folded, none twice."""
    found = (name(value),) if isinstance(value, str) else tuple(name(entry) for entry in _list(value))
    if not found or len(set(found)) != len(found):
        raise Mistake(
            f"{quoted(value)} is empty or names something twice",
            why="each name has one meaning here",
            fix="list each name once",
        )
    return found


def _list(value: object) -> Sequence[object]:
    if not isinstance(value, (list, tuple)):
        raise Mistake(
            f"{quoted(value)} is {kind_of(value)}, not a list", why="several may stand here", fix='write ["a", "b"]'
        )
    return value


def size(value: object) -> int:
    """A public size of a table: 6000 or "about 6000"."""
    if isinstance(value, str) and (match := _ABOUT.fullmatch(value)):
        return count(int(re.sub(r"[ _,]", "", match["size"])))
    if isinstance(value, str):
        raise Mistake(
            f"{quoted(value)} is not a size",
            why="it is used for previews of the margin",
            fix='write rows = 6000 or rows = "about 6000"',
        )
    return count(value)


def day(value: object) -> date:
    """A date, as such or as ISO text."""
    found = moment(value)
    if isinstance(found, datetime):
        raise Mistake(
            f"{quoted(value)} has a time",
            why="a day is meant, in UTC",
            fix="write the date alone, for example 2027-01-01",
        )
    return found


def moment(value: object) -> Moment:
    """A date or a timestamp without zone, as such or as ISO text."""
    found: object = value
    if isinstance(value, str):
        found = _iso(value)
    if type(found) is datetime and found.tzinfo is None:
        return found
    if type(found) is date:
        return found
    raise Mistake(
        f"{quoted(value)} is not a date or a timestamp without zone",
        why="all times are UTC; a zone would move the days by hours",
        fix='write "2024-01-01" or "2024-01-01T12:00:00"',
    )


def _iso(written: str) -> Moment | None:
    match = _MOMENT.fullmatch(written)
    if match is None:
        return None
    try:
        return datetime.fromisoformat(written) if match["time"] else date.fromisoformat(written)
    except ValueError:
        return None


def bounds(value: object) -> Bounds:
    """[low, high]: two numbers, two dates or two timestamps, low < high."""
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise Mistake(f"{quoted(value)} is not a pair [low, high]", why=_BOUNDS_WHY, fix=_BOUNDS_FIX)
    if all(isinstance(end, (str, date)) for end in value):
        return _moments(moment(value[0]), moment(value[1]))
    low, high = number(value[0]), number(value[1])
    try:
        apart = float(low) < float(high)
    except OverflowError:
        apart = False
    if not apart:
        raise Mistake(
            f"[{quoted(low)}, {quoted(high)}] does not go from a smaller to a larger value a double can hold",
            why="reversed bounds clamp every value to the wrong end, equal bounds leave nothing to learn",
            fix=_BOUNDS_FIX,
        )
    return Bounds(low=low, high=high)


def _moments(low: Moment, high: Moment) -> Bounds:
    if type(low) is not type(high):
        raise Mistake(
            f"{low.isoformat()} and {high.isoformat()} are a date and a timestamp",
            why=_BOUNDS_WHY,
            fix="write two dates or two timestamps",
        )
    if not low < high:
        raise Mistake(
            f"{low.isoformat()} is not before {high.isoformat()}",
            why="reversed bounds clamp every value to the wrong end, equal bounds leave nothing to learn",
            fix="write the first day before the last one",
        )
    return Bounds(low=low, high=high)


def keys(value: object) -> Keys:
    """A list of public keys, "private" or "calendar". None, where Python lists it, is NULL and comes last."""
    if isinstance(value, str):
        return _key_kind(value)
    if not isinstance(value, (list, tuple)):
        raise Mistake(f"{quoted(value)} is {kind_of(value)}, not a list of keys", why=_KEYS_WHY, fix=_KEYS_FIX)
    found = [_key(entry) for entry in value if entry is not None]
    if not found:
        raise Mistake("the list of keys is empty", why="an answer without groups tells nothing", fix=_KEYS_FIX)
    kinds = sorted({kind_of(entry) for entry in found})
    if len(kinds) > 1:
        raise Mistake(
            f"the keys are of different types: {' and '.join(kinds)}", why="a column has one type", fix=_KEYS_FIX
        )
    if len(set(found)) != len(found) or value.count(None) > 1:
        raise Mistake(
            f"{quoted(_twice(list(value)))} is listed twice",
            why="each key is one row of the answer",
            fix="list each key once",
        )
    return PublicKeys(values=(*found, *(entry for entry in value if entry is None)))


def _key_kind(value: str) -> KeyKind:
    kinds = {kind.value: kind for kind in KeyKind}
    if value not in kinds:
        raise Mistake(f"{quoted(value)} is not a way to find keys", why=_KEYS_WHY, fix=_KEYS_FIX)
    return kinds[value]


def _key(value: object) -> Value:
    if isinstance(value, date):
        return moment(value)
    if isinstance(value, (bool, int)) or (isinstance(value, str) and _printable(value)):
        return value
    raise Mistake(
        f"{quoted(value)} cannot be a key",
        why="keys are compared by their bytes, and a decimal number or a zoned time has several forms of one value",
        fix="list text, whole numbers, true and false, or dates",
    )


def _twice(values: list[object]) -> object:
    return next(value for value in values if values.count(value) > 1)


def _printable(written: str) -> bool:
    """Can be stored and compared by its bytes everywhere: no NUL, no half characters."""
    return "\0" not in written and not any("\ud800" <= letter <= "\udfff" for letter in written)


def quoted(value: object) -> str:
    """A value as messages show it, short."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(quoted(entry) for entry in value[:5])}{', …' if len(value) > 5 else ''}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, (int, Fraction)):
        return shown(value)
    written = (
        str(value) if isinstance(value, (float, Decimal)) else repr(value) if isinstance(value, str) else kind_of(value)
    )
    return written if len(written) <= 80 else f"{written[:77]}…"
