"""Text that came from data, policies or questions, made safe to show: in a terminal, and as HTML."""

from __future__ import annotations

from html import escape
from typing import Final
from unicodedata import category

_STEERING: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Characters that move the cursor, turn the text around or end a line."""


def printable(text: str) -> str:
    """Text in which no character steers the terminal: names and keys are data, whatever they hold."""
    return "".join(repr(char)[1:-1] if category(char) in _STEERING else char for char in text)


def html_text(text: str, *, lines: bool = False) -> str:
    """Text that is no markup and steers nothing, for elements and attributes; `lines`: that may have several."""
    return escape("\n".join(map(printable, text.split("\n"))) if lines else printable(text))
