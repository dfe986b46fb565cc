"""The values of options, read from the text itself: a number that is not one, or out of range, is refused at its place.

What is not written in plain digits has no meaning here: no NaN, no infinity, no sign, no digits of other scripts. Also
the options in a comment, what BI tools and formatters let through: SELECT /*+ dp(epsilon=0.1, noise='gaussian') */ ….
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from enum import Enum
from fractions import Fraction
from typing import Any, Final, NamedTuple, TypeVar

from dpsql.catalog.model import Mode, Noise
from dpsql.catalog.names import did_you_mean
from dpsql.errors import BadName, BadParameter, NotUnderstood
from dpsql.require import is_confidence
from dpsql.sql.parsing.refusals import excerpt
from dpsql.sql.syntax import NO_OPTIONS, At, Options, Said
from dpsql.written import plain_number

_LARGEST: Final = Fraction(10**12)
_SMALLEST: Final = Fraction(1, 10**12)
"""Prices are kept to the last of twelve places."""


def price(name: str, written: str, at: At) -> Fraction:
    """A cost: above 0."""
    return _above(name, number(name, written, at), written, at, why="an answer for nothing may not depend on the data")


def margin(name: str, written: str, at: At) -> Fraction:
    """How far off a number may be."""
    return _above(name, number(name, written, at), written, at, why="no number with noise is exact")


def confidence(name: str, written: str, at: At) -> Fraction:
    """How often the margin holds: between 0 and 1."""
    value = number(name, written, at)
    if not is_confidence(value):
        raise _bad(
            name,
            written,
            at,
            why="it is the share of answers that lie inside their margin",
            fix="write a number between 0 and 1, and at least 1e-30 away from both, such as 0.95",
        ).instead_of("0.95")
    return value


def share(name: str, written: str, at: At) -> Fraction:
    """A part of δ: from 0 to below 1."""
    value = number(name, written, at)
    if value >= 1:
        raise _bad(name, written, at, why="at 1 nothing is promised", fix="write a small number, such as 1e-9")
    return value


def rows(name: str, written: str, at: At) -> int:
    """A number of rows: whole, at least 1."""
    value = number(name, written, at) if not re.search("[.eE]", written) else Fraction(0)
    if value.denominator != 1 or value < 1:
        raise _bad(
            name, written, at, why="it is a number of rows", fix="write a whole number of at least 1"
        ).instead_of("1")
    return int(value)


Choice = TypeVar("Choice", bound=Enum)


def _choice(choices: type[Choice]) -> Callable[[str, str, At], Choice]:
    def read(name: str, written: str, at: At) -> Choice:
        if written[:1] == "'":
            for choice in choices:
                if written == f"'{choice.value}'":
                    return choice
        known = [f"'{choice.value}'" for choice in choices]
        raise _bad(
            name,
            written,
            at,
            why="it decides how the answer is protected" + did_you_mean(written, known),
            fix=f"write {' or '.join(known)}",
        )

    return read


noise: Final = _choice(Noise)
mode: Final = _choice(Mode)

HINTED: Final[Mapping[str, Callable[[str, str, At], object]]] = {
    "epsilon": price,
    "confidence": confidence,
    "noise": noise,
    "mode": mode,
}
"""What a hint may say, and how its value is read."""
FLAGS: Final = ("fresh",)
"""What a hint says by a word alone."""


def with_option(options: Options, name: str, value: object, at: At) -> Options:
    """The options with one more; the same twice is refused."""
    if getattr(options, name) is not None:
        raise _twice(name, at)
    more: dict[str, Any] = {name: Said(value=value, at=at)}
    return replace(options, **more)


def require_once(options: Options, more: Options) -> None:
    """Two places of the same rank say nothing about the same option."""
    for name in Options.__dataclass_fields__:
        said: Said[object] | None = getattr(more, name)
        if said is not None and getattr(options, name) is not None:
            raise _twice(name, said.at)


def _twice(name: str, at: At) -> BadParameter:
    return BadParameter(
        f"{_WORDS.get(name, name)} is said twice", why="only one of them could count", fix="say it once", at=at
    )


_WORDS: Final = {
    "epsilon": "the price",
    "within": "WITHIN",
    "rows_per_person": "LIMIT … PER PERSON",
    "keys": "KEYS",
}


def unknown_option(name: str, known: Mapping[str, object], at: At) -> BadName:
    """A name that no option has."""
    return BadName(
        f"there is no option {excerpt(name, (0, len(name)))}{did_you_mean(name, known)}",
        why="an option that is passed over in silence would be a promise about something else",
        fix=f"the options are {', '.join(known)}",
        at=at,
    )


def number(name: str, written: str, at: At) -> Fraction:
    """0 or above. A cost of 0: only what is stored."""
    value = plain_number(written)
    example = "0.1" if name != "LIMIT" else "3"
    if value is None:
        raise _bad(
            name,
            written,
            at,
            why="a price or a margin is a finite number in plain digits",
            fix=f"write a number such as {name} {example}",
        ).instead_of(example)
    if value and not _SMALLEST <= value <= _LARGEST:
        raise _bad(
            name, written, at, why="so small or large a number has no use here", fix="write one of ordinary size"
        )
    return value


def _above(name: str, value: Fraction, written: str, at: At, *, why: str) -> Fraction:
    if not value:
        raise _bad(
            name,
            written,
            at,
            why=why,
            fix="write a number above 0; COST 0 at the end of a statement asks for what is stored and nothing else",
        )
    return value


def _bad(name: str, written: str, at: At, *, why: str, fix: str) -> BadParameter:
    shown = excerpt(written, (0, len(written)), longest=24)
    return BadParameter(f"{name} cannot be {shown or 'nothing'}", why=why, fix=fix, at=at)


_PIECE: Final = re.compile(
    r"(?P<text>'(?:[^']|'')*')|(?P<word>[^\W\d]\w*)|(?P<number>[\w.]+(?:(?<=[eE])[+-]\w+)?)|(?P<sign>[^\w\s])"
)
_DEEPER: Final = {"(": 1, ")": -1}
_CALLED: Final = re.compile(r"\bdp\s*\(", re.IGNORECASE)


class _Piece(NamedTuple):
    kind: str
    text: str
    at: tuple[int, int]


def is_hint(comment: str) -> bool:
    """Whether a comment is a hint by its first signs."""
    return comment.startswith(("/*+", "--+"))


def hinted(text: str, at: tuple[int, int]) -> Options | None:
    """The options of a hint; None where it speaks to another system.

    A hint for another system is a comment like any other. One that names `dp` is read to its end or refused: an option
    that was mistyped must not be passed over.
    """
    start, end = at[0] + 3, at[1] - (2 if text.startswith("/*", at[0]) else 0)
    pieces = [
        _Piece(found.lastgroup or "", found.group(), (found.start(), found.end()))
        for found in _PIECE.finditer(text, start, end)
    ]
    calls = list(_calls(pieces))
    if all(name.text.lower() != "dp" for name, _ in calls):
        if _CALLED.search(text, start, end) is not None and sum(_DEEPER.get(piece.text, 0) for piece in pieces) != 0:
            raise _malformed(text, at)
        return None
    options = NO_OPTIONS
    for name, inside in calls:
        if name.text.lower() == "dp":
            if inside is None:
                raise _malformed(text, at)
            options = _arguments(text, at, inside, options)
    return options


def _calls(pieces: list[_Piece]) -> Iterator[tuple[_Piece, list[_Piece] | None]]:
    """The hints side by side: each a name, and what is between its parentheses; None where they are missing."""
    place = 0
    while place < len(pieces):
        name, place = pieces[place], place + 1
        if name.kind != "word":
            continue
        if place == len(pieces) or pieces[place].text != "(":
            yield name, None
            continue
        depth, first = 1, place + 1
        place = first
        while place < len(pieces) and depth:
            depth += _DEEPER.get(pieces[place].text, 0)
            place += 1
        yield name, None if depth else pieces[first : place - 1]


def _arguments(text: str, at: At, pieces: list[_Piece], options: Options) -> Options:
    """name = value, name = value; some names stand by themselves."""
    if not pieces:
        raise _malformed(text, at)
    place = 0
    while True:
        flag = _flag(pieces, place)
        if flag is not None:
            options = with_option(options, flag.text.lower(), True, flag.at)
            if place + 1 == len(pieces):
                return options
            place += 2
            continue
        if place + 2 >= len(pieces) or pieces[place].kind != "word" or pieces[place + 1].text != "=":
            raise _malformed(text, pieces[min(place, len(pieces) - 1)].at)
        name, first = pieces[place], place + 2
        last = first + 1
        while last < len(pieces) and pieces[last].text != ",":
            last += 1
        where = (pieces[first].at[0], pieces[last - 1].at[1])
        known = name.text.lower()
        if known not in HINTED:
            raise unknown_option(name.text, {**HINTED, **dict.fromkeys(FLAGS)}, name.at)
        options = with_option(options, known, HINTED[known](known, text[slice(*where)], where), where)
        if last == len(pieces):
            return options
        place = last + 1


def _flag(pieces: list[_Piece], place: int) -> _Piece | None:
    """An option without a value, up to a comma or the end."""
    last = place + 1 >= len(pieces) or pieces[place + 1].text == ","
    if place < len(pieces) and last and pieces[place].text.lower() in FLAGS:
        return pieces[place]
    return None


def _malformed(text: str, at: At) -> NotUnderstood:
    return NotUnderstood(
        f"This hint cannot be read, near {excerpt(text, at)!r}",
        why="an option that is passed over in silence would be a promise about something else",
        fix="write it as /*+ dp(epsilon=0.1, confidence=0.9, noise='gaussian', mode='choose') */, or leave it out",
        at=at,
    )
