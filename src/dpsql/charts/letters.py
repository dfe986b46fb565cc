"""Text that came from data, made harmless to show, and how many columns of a terminal it takes."""

from __future__ import annotations

from typing import Final
from unicodedata import category, east_asian_width

_NEITHER: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Characters that move the cursor, turn the text around or end a line."""


def printable(text: str) -> str:
    """Text in which no character steers the terminal: a key is data, whatever it holds."""
    return "".join(repr(char)[1:-1] if category(char) in _NEITHER else char for char in text)


def width(text: str) -> int:
    """How many columns of a terminal it takes."""
    return sum(0 if category(char) == "Mn" else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def padded(text: str, columns: int, *, right: bool = False) -> str:
    """The text, with spaces behind it or before it, so many columns wide."""
    space = " " * (columns - width(text))
    return space + text if right else text + space


def cut(text: str, columns: int, *, end: str = "…") -> str:
    """The text, or its beginning where it is wider."""
    if width(text) <= columns:
        return text
    kept = text
    while kept and width(kept) + width(end) > columns:
        kept = kept[:-1]
    return kept + end
