"""What is typed, in pieces: enough to colour it and to see where a statement ends. Nothing is judged here: whoever
answers reads the text again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

_PIECE: Final = re.compile(
    r"""(?P<text>'[^']*+(?:''[^']*+)*+(?P<text_ends>')?)|(?P<name>"[^"]*+(?:""[^"]*+)*+(?P<name_ends>")?)"""
    r"""|(?P<comment>--[^\r\n]*+)|(?P<block>/\*)|(?P<tag>(?<![\w$])\$(?:[^\W\d]\w*+)?\$)"""
    r"""|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<word>\w+)|(?P<end>;)|(?P<sign>\S)"""
)
_BLOCK_EDGE: Final = re.compile(r"/\*|\*/")
_TWO: Final = ("EXPLAIN", "PRIVACY", "DIFF")
"""How the one statement begins that holds two questions, with a semicolon between them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A stretch of the text: text, name, comment, number, word, end or sign."""

    kind: str
    start: int
    end: int
    closed: bool = True


def pieces(text: str) -> Iterator[Piece]:
    """The pieces in order, without the blanks between them; the last may be open."""
    position = 0
    while found := _PIECE.search(text, position):
        kind, start, position = found.lastgroup or "sign", found.start(), found.end()
        closed = True
        if kind in ("text", "name"):
            closed = found[f"{kind}_ends"] is not None
        elif kind == "block":
            kind, (position, closed) = "comment", _end_of_block(text, start)
        elif kind == "tag":
            last = text.find(found.group(), position)
            kind, closed = "text", last >= 0
            position = last + len(found.group()) if closed else len(text)
        yield Piece(kind=kind, start=start, end=position, closed=closed)


def _end_of_block(text: str, start: int) -> tuple[int, bool]:
    """Comments nest."""
    depth = 0
    for edge in _BLOCK_EDGE.finditer(text, start):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end(), True
    return len(text), False


def ended(text: str) -> tuple[list[str], str]:
    """The statements that have ended, without their semicolons, and what is left behind the last of them."""
    found: list[str] = []
    start, words, waits = 0, list[str](), False
    for piece in pieces(text):
        if piece.kind == "end" and tuple(words[:3]) == _TWO and not waits:
            waits = True
        elif piece.kind == "end":
            if words:
                found.append(text[start : piece.start].strip())
            start, words, waits = piece.end, [], False
        elif piece.kind != "comment":
            words.append(text[piece.start : piece.end].upper())
    return found, text[start:]


def statements(text: str) -> list[str]:
    """Every statement; the last may do without its semicolon."""
    found, left = ended(text)
    return found if is_blank(left) else [*found, left.strip()]


def is_blank(text: str) -> bool:
    """Nothing but blanks and comments that end."""
    return all(piece.kind == "comment" and piece.closed for piece in pieces(text))


def first_word(text: str) -> str:
    """What a statement begins with, in capitals."""
    return next((text[p.start : p.end].upper() for p in pieces(text) if p.kind != "comment"), "")


def has_margin_wish(text: str) -> bool:
    """Whether it says WITHIN so much: then its price is looked for."""
    said = [piece for piece in pieces(text) if piece.kind != "comment"]
    return any(
        amount.kind == "number" and text[word.start : word.end].upper() == "WITHIN" for word, amount in pairwise(said)
    )
