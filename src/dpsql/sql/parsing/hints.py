"""Options in a comment: SELECT /*+ dp(epsilon=0.1, noise='gaussian') */ …: what BI tools and formatters let through.

A hint for another system is a comment like any other. One that names `dp` is read to its end or refused: an option
that was mistyped must not be passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from dpsql.errors import NotUnderstood
from dpsql.sql.parsing.option_values import FLAGS, HINTED, unknown_option, with_option
from dpsql.sql.parsing.refusals import excerpt
from dpsql.sql.syntax import NO_OPTIONS, At, Options

_PIECE: Final = re.compile(
    r"(?P<text>'(?:[^']|'')*')|(?P<word>[^\W\d]\w*)|(?P<number>[\w.]+(?:(?<=[eE])[+-]\w+)?)|(?P<sign>[^\w\s])"
)
_CALLED: Final = re.compile(r"\bdp\s*\(", re.IGNORECASE)


class _Piece(NamedTuple):
    kind: str
    text: str
    at: tuple[int, int]


def is_hint(comment: str) -> bool:
    """Whether a comment is a hint by its first signs."""
    return comment.startswith(("/*+", "--+"))


def hinted(text: str, at: tuple[int, int]) -> Options | None:
    """The options of a hint; None where it speaks to another system."""
    start, end = at[0] + 3, at[1] - (2 if text.startswith("/*", at[0]) else 0)
    pieces = [
        _Piece(found.lastgroup or "", found.group(), (found.start(), found.end()))
        for found in _PIECE.finditer(text, start, end)
    ]
    calls = list(_calls(pieces))
    if all(name.text.lower() != "dp" for name, _ in calls):
        if _CALLED.search(text, start, end) is not None and not _balanced(pieces):
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
            depth += {"(": 1, ")": -1}.get(pieces[place].text, 0)
            place += 1
        yield name, None if depth else pieces[first : place - 1]


def _balanced(pieces: list[_Piece]) -> bool:
    return sum({"(": 1, ")": -1}.get(piece.text, 0) for piece in pieces) == 0


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
        written, where = _written(text, pieces[first:last], pieces[first].at)
        known = name.text.lower()
        if known not in HINTED:
            raise unknown_option(name.text, {**HINTED, **dict.fromkeys(FLAGS)}, name.at)
        options = with_option(options, known, HINTED[known](known, written, where), where)
        if last == len(pieces):
            return options
        place = last + 1


def _flag(pieces: list[_Piece], place: int) -> _Piece | None:
    """An option without a value, up to a comma or the end."""
    last = place + 1 >= len(pieces) or pieces[place + 1].text == ","
    if place < len(pieces) and last and pieces[place].text.lower() in FLAGS:
        return pieces[place]
    return None


def _written(text: str, pieces: list[_Piece], at: tuple[int, int]) -> tuple[str, tuple[int, int]]:
    where = (at[0], pieces[-1].at[1])
    return text[where[0] : where[1]], where


def _malformed(text: str, at: At) -> NotUnderstood:
    return NotUnderstood(
        f"This hint cannot be read, near {excerpt(text, at)!r}",
        why="an option that is passed over in silence would be a promise about something else",
        fix="write it as /*+ dp(epsilon=0.1, confidence=0.9, noise='gaussian', mode='choose') */, or leave it out",
        at=at,
    )
