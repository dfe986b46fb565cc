"""What CHECK constraints say about one column: its smallest and largest value, or the list of its values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final, TypeAlias

from dpsql.catalog.constraints import Check
from dpsql.catalog.names import folded

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
