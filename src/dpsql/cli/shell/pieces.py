"""What is typed, in pieces: enough to colour it and to see whether a quotation is open. Nothing is judged here: whoever
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
    r"""|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<word>\w+)|(?P<sign>\S)"""
)
_BLOCK_EDGE: Final = re.compile(r"/\*|\*/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A stretch of the text: text, name, comment, number, word or sign."""

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


def first_word(text: str) -> str:
    """What a statement begins with, in capitals."""
    return next((text[p.start : p.end].upper() for p in pieces(text) if p.kind != "comment"), "")


def has_margin_wish(text: str) -> bool:
    """Whether it says WITHIN so much: then its price is looked for."""
    said = [piece for piece in pieces(text) if piece.kind != "comment"]
    return any(
        amount.kind == "number" and text[word.start : word.end].upper() == "WITHIN" for word, amount in pairwise(said)
    )
