"""What is proposed about one column of a table with people in it, and from what: the first reason that fits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from dpsql.catalog.model import EngineColumn
from dpsql.catalog.names import folded
from dpsql.catalog.toml_spelling import Value, toml
from dpsql.catalog.types import NUMERIC, TEMPORAL, SqlType
from dpsql.suggest.conditions import NOTHING, Constant, Known
from dpsql.suggest.proposal import NEEDS, Line

IDENTIFYING: Final = frozenset(
    {
        *("name", "surname", "firstname", "lastname", "forename", "fullname", "email", "mail", "ssn", "iban"),
        *("phone", "mobile", "fax", "lat", "lon", "lng", "latitude", "longitude", "address", "street", "passport"),
        *("password", "token", "username", "login", "ip", "licence", "license", "signature", "photo", "note"),
        *("notes", "comment", "remark", "remarks"),
    }
)
"""Parts of names that speak of one person, or of free text in which one is."""
_BOUNDS: Final[Mapping[str, tuple[int, int]]] = {
    "age": (0, 110),
    "pct": (0, 100),
    "percent": (0, 100),
    "percentage": (0, 100),
    "hour": (0, 23),
    "month": (1, 12),
    "weekday": (1, 7),
}
"""By the last part of a name: what such numbers are by their meaning."""
_SHARES: Final = frozenset({"share", "fraction", "probability"})
_PARTS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What a public file shows of a column: for the owner who says that it looks like this one."""

    values: tuple[str, ...]
    """All different ones, sorted."""
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A column, and everything that was read about it."""

    column: EngineColumn
    known: Known = NOTHING
    choices: tuple[str, ...] = ()
    hidden_because: str | None = None
    """It is the person, leads to one, or tells rows apart."""
    public_table: str | None = None
    """The public table whose key it holds."""
    comment: str = ""
    sample: Sample | None = None


def words(name: str) -> list[str]:
    """The parts of a name, in lower case."""
    return [part.lower() for part in _PARTS.split(name) if part]


def column_line(subject: Subject) -> Line | str:
    """The line of a column; or why it is left out."""
    column = subject.column
    if column.type is None:
        return f"{column.name}: {column.engine_type} is not read" + (f"; {column.instead}" if column.instead else "")
    found = (rule(subject, column.type) for rule in _RULES)
    said, reason = next((each for each in found if each is not None), ({}, f"{NEEDS} {_NEEDED[column.type]}"))
    if column.wide and "bounds" not in said:
        return f"{column.name}: {column.engine_type} holds numbers beyond 64 bits, and can be declared with bounds only"
    return _line(subject, said, reason)


def _line(subject: Subject, said: Mapping[str, Value], reason: str) -> Line:
    inside = ", ".join(f"{key} = {toml(value)}" for key, value in said.items())
    more = f" (its comment: {subject.comment})" if subject.comment else ""
    return Line(key=subject.column.name, value=f"{{ {inside} }}" if inside else "{}", reason=reason + more)


Found = tuple[Mapping[str, Value], str] | None


def _hidden(subject: Subject, kind: SqlType) -> Found:
    if subject.hidden_because is not None:
        return {"hidden": True}, f"from {subject.hidden_because}"
    telling = IDENTIFYING.intersection(words(subject.column.name))
    if telling and kind is not SqlType.BOOLEAN:
        return {"hidden": True}, f"from the name: {min(telling)} may identify somebody"
    return None


def _from_enum(subject: Subject, kind: SqlType) -> Found:
    if not subject.choices:
        return None
    return {"keys": subject.choices}, "from the ENUM type: may everybody know this list?"


def _from_check(subject: Subject, kind: SqlType) -> Found:
    known = subject.known
    keys = tuple(key for value in known.values if (key := _as_key(value, kind)) is not None)
    if keys and len(keys) == len(known.values):
        return {"keys": keys}, "from the CHECK constraint"
    bounds = _bounds(known, kind)
    return None if bounds is None else (_bounded(bounds, kind), "from the CHECK constraint")


def _bounded(bounds: tuple[Value, Value], kind: SqlType) -> Mapping[str, Value]:
    return {"bounds": bounds, "keys": "calendar"} if kind is SqlType.DATE else {"bounds": bounds}


def _as_key(value: Constant, kind: SqlType) -> Value | None:
    if kind is SqlType.INTEGER and isinstance(value, Decimal) and value == int(value):
        return int(value)
    if kind is SqlType.DATE and isinstance(value, str):
        return _day(value)
    fits = {SqlType.TEXT: str, SqlType.BOOLEAN: bool, SqlType.DATE: date}.get(kind)
    return value if fits is not None and isinstance(value, fits) else None


def _bounds(known: Known, kind: SqlType) -> tuple[Value, Value] | None:
    """Both ends as values of the column, where there are two; ends that are left out are moved to the next value."""
    low, high = _end(known.low, kind, 1 if known.above else 0), _end(known.high, kind, -1 if known.below else 0)
    if low is None or high is None or type(low) is not type(high):
        return None
    return (low, high) if low < high else None  # type: ignore[operator]


def _end(value: Constant | None, kind: SqlType, step: int) -> Value | None:
    if isinstance(value, str) and kind in TEMPORAL:
        value = _day(value)
    if isinstance(value, date) and kind in TEMPORAL:
        return value + step * _DAY if kind is SqlType.DATE else value
    if isinstance(value, Decimal) and kind is SqlType.INTEGER and value == int(value):
        return int(value) + step
    return value if isinstance(value, Decimal) and kind is SqlType.DOUBLE else None


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _from_sample(subject: Subject, kind: SqlType) -> Found:
    if subject.sample is None:
        return None
    reason, seen = f"from {subject.sample.file}", subject.sample.values
    if kind is SqlType.TEXT:
        return {"keys": seen}, reason
    ends = [_number(value) if kind in NUMERIC else _day(value) for value in seen]
    found = sorted(end for end in ends if end is not None)
    if not found or len(found) < len(seen):
        return None
    bounds = _bounds(Known(low=found[0], high=found[-1]), kind)
    return None if bounds is None else (_bounded(bounds, kind), reason)


def _number(text: str) -> Decimal | None:
    try:
        value = Decimal(text)
    except ArithmeticError:
        return None
    return value if value.is_finite() else None


def _from_name(subject: Subject, kind: SqlType) -> Found:
    if kind not in NUMERIC:
        return None
    last = words(subject.column.name)[-1:]
    if last and last[0] in _BOUNDS:
        return {"bounds": _BOUNDS[last[0]]}, f"from the name: {last[0]}"
    if last and last[0] in _SHARES and kind is SqlType.DOUBLE:
        return {"bounds": (0, 1)}, f"from the name: {last[0]}"
    return None


def _reference(subject: Subject, kind: SqlType) -> Found:
    if subject.public_table is None:
        return None
    return {}, f"from the reference to {subject.public_table}: join it, and group by what it says"


_NEEDED: Final[Mapping[SqlType, str]] = {
    **dict.fromkeys(NUMERIC, "bounds to be summed, as in { bounds = [0, 2000] }: what lies beyond counts as the bound"),
    SqlType.TEXT: 'keys to be grouped by: list what everybody may know, as in { keys = ["a", "b"] }, or '
    '{ keys = "private" } (rare ones stay hidden)',
    SqlType.DATE: 'bounds to be grouped by, as in { bounds = [2024-01-01, 2026-12-31], keys = "calendar" }',
    SqlType.TIMESTAMP: 'bounds to be grouped by, as in { bounds = [2024-01-01, 2026-12-31], keys = "calendar" }',
    SqlType.BOOLEAN: "nothing more",
}
_RULES: Final[tuple[Callable[[Subject, SqlType], Found], ...]] = (
    _hidden,
    _from_enum,
    _from_check,
    _reference,
    (lambda subject, kind: ({"keys": (False, True)}, "from the type BOOLEAN") if kind is SqlType.BOOLEAN else None),
    _from_sample,
    _from_name,
)


def identifies(column: EngineColumn) -> bool:
    """Its name speaks of somebody, more than a title does: a table with such a column is not taken for public."""
    return bool(IDENTIFYING.intersection(words(folded(column.name))) - {"name", "note", "notes", "comment", "remark"})
