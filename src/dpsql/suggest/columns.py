"""What is proposed about one column of a table with people in it, and from what: the first reason that fits.

CHECK constraints say its smallest and largest value, or the list of its values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Final, TypeAlias

from dpsql.catalog.model import EngineColumn
from dpsql.catalog.names import folded
from dpsql.catalog.spelling import Value, toml
from dpsql.catalog.types import NUMERIC, TEMPORAL, SqlType
from dpsql.engines.engine import Check
from dpsql.suggest.proposal import NEEDS, Line

Constant: TypeAlias = Decimal | str | date | bool

_TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<text> '(?:[^']|'')*' )
    | (?P<quoted> "(?:[^"]|"")+" )
    | (?P<number> \d+(?:\.\d+)? )
    | (?P<word> [^\W\d]\w* )
    | (?P<mark> >=|<=|<>|!=|[-=<>(),] )
    | (?P<other> . )
    )""",
    re.VERBOSE | re.DOTALL,
)
_TURNED: Final[Mapping[str, str]] = {">=": "<=", "<=": ">=", ">": "<", "<": ">", "=": "="}
_WORDS: Final[Mapping[str, bool]] = {"true": True, "false": False}

Token: TypeAlias = tuple[str, str]
"""(kind, text); names are folded and of the kind `name`, words of SQL in upper case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What every row meets. Where `above` or `below` is true, the end itself is left out."""

    low: Constant | None = None
    high: Constant | None = None
    above: bool = False
    below: bool = False
    values: tuple[Constant, ...] = ()

    def with_more(self, more: Known) -> Known:
        """Both hold; of two ends the first is kept."""
        low = (self.low, self.above) if self.low is not None else (more.low, more.above)
        high = (self.high, self.below) if self.high is not None else (more.high, more.below)
        return Known(low=low[0], above=low[1], high=high[0], below=high[1], values=self.values or more.values)


NOTHING: Final = Known()


def known(checks: Iterable[Check]) -> dict[str, Known]:
    """By folded column. What is not understood says nothing."""
    found: dict[str, Known] = {}
    for check in checks:
        for name, said in _said(list(_tokens(check.text))):
            found[name] = found.get(name, Known()).with_more(said)
    return found


def _tokens(text: str) -> Iterator[Token]:
    for match in _TOKEN.finditer(text):
        kind, word = match.lastgroup or "", match[match.lastgroup or 0]
        if kind == "quoted":
            yield "name", folded(word[1:-1].replace('""', '"'))
        elif kind == "text":
            yield "text", word[1:-1].replace("''", "'")
        elif kind == "word":
            yield ("sql", word.upper()) if word.upper() in _SQL else ("name", folded(word))
        else:
            yield kind, word


_SQL: Final = frozenset({"AND", "OR", "IN", "BETWEEN", "CAST", "AS", "NOT", "DATE", "TRUE", "FALSE"})


def _said(tokens: list[Token]) -> Iterator[tuple[str, Known]]:
    """Every part of a conjunction that is understood."""
    tokens = _inner(tokens)
    parts = _split(tokens, "AND")
    if len(parts) > 1:
        for part in parts:
            yield from _said(part)
        return
    choices = _split(tokens, "OR")
    said = _choice(choices) if len(choices) > 1 else _leaf(tokens)
    if said is not None:
        yield said


def _inner(tokens: list[Token]) -> list[Token]:
    """Without parentheses around the whole."""
    while tokens[:1] == [("mark", "(")] and _closing(tokens) == len(tokens) - 1:
        tokens = tokens[1:-1]
    return tokens


def _closing(tokens: Sequence[Token]) -> int:
    depth = 0
    for index, (kind, word) in enumerate(tokens):
        depth += {("mark", "("): 1, ("mark", ")"): -1}.get((kind, word), 0)
        if depth == 0:
            return index
    return -1


def _split(tokens: list[Token], word: str) -> list[list[Token]]:
    """At the words outside parentheses; the AND of a BETWEEN is no such word."""
    parts: list[list[Token]] = [[]]
    depth, between = 0, False
    for token in tokens:
        depth += {("mark", "("): 1, ("mark", ")"): -1}.get(token, 0)
        if token == ("sql", "BETWEEN"):
            between = True
        if depth == 0 and token == ("sql", word) and not (word == "AND" and between):
            parts.append([])
            continue
        if token == ("sql", "AND"):
            between = False
        parts[-1].append(token)
    return parts


def _choice(parts: list[list[Token]]) -> tuple[str, Known] | None:
    """x = 'a' OR x = 'b'"""
    read = [_leaf(_inner(part)) for part in parts]
    names = {name for found in read if found is not None for name in [found[0]]}
    if len(names) != 1 or any(found is None or not found[1].values for found in read):
        return None
    values = [value for found in read if found is not None for value in found[1].values]
    return names.pop(), Known(values=tuple(dict.fromkeys(values)))


def _leaf(tokens: list[Token]) -> tuple[str, Known] | None:
    """One condition on one column."""
    if len(tokens) < 3:
        return None
    (kind, name), (_, word) = tokens[0], tokens[1]
    if kind == "name" and word == "BETWEEN" and ("sql", "AND") in tokens:
        at = tokens.index(("sql", "AND"))
        low, high = _constant(tokens[2:at]), _constant(tokens[at + 1 :])
        return None if low is None or high is None else (name, Known(low=low, high=high))
    if kind == "name" and word == "IN":
        values = [_constant(part) for part in _listed(_inner(tokens[2:]))]
        found = tuple(value for value in values if value is not None)
        return (name, Known(values=found)) if found and len(found) == len(values) else None
    if kind == "name" and word in _TURNED:
        return _compared(name, word, _constant(tokens[2:]))
    (kind, name), (_, word) = tokens[-1], tokens[-2]
    if kind == "name" and word in _TURNED:
        return _compared(name, _TURNED[word], _constant(tokens[:-2]))
    return None


def _listed(tokens: list[Token]) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token == ("mark", ","):
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _compared(name: str, sign: str, value: Constant | None) -> tuple[str, Known] | None:
    if value is None:
        return None
    if sign == "=":
        return name, Known(values=(value,))
    if sign in (">", ">="):
        return name, Known(low=value, above=sign == ">")
    return name, Known(high=value, below=sign == "<")


def _constant(tokens: list[Token]) -> Constant | None:
    """A literal, with a sign or inside the CAST that the engine prints around a date; None: anything else."""
    tokens = _inner(tokens)
    if tokens[:2] == [("sql", "CAST"), ("mark", "(")] and len(tokens) == 6 and tokens[3] == ("sql", "AS"):
        return _cast(tokens[2], tokens[4])
    if len(tokens) == 2 and tokens[0] == ("mark", "-") and tokens[1][0] == "number":
        return -Decimal(tokens[1][1])
    if len(tokens) != 1:
        return None
    kind, word = tokens[0]
    if kind == "number":
        return Decimal(word)
    return word if kind == "text" else _WORDS.get(word.lower()) if kind == "sql" else None


def _cast(value: Token, kind: Token) -> Constant | None:
    if value[0] == "text" and kind == ("sql", "DATE"):
        try:
            return date.fromisoformat(value[1])
        except ValueError:
            return None
    if value[0] == "text" and kind == ("name", "boolean"):
        return {"t": True, "true": True, "f": False, "false": False}.get(value[1].lower())
    return None


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
