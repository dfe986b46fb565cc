"""Text that came from data, policies or questions, made safe to show: in a terminal, in Markdown, and as HTML."""

from __future__ import annotations

import re
from html import escape
from typing import Final
from unicodedata import category

THIN: Final = "\u2009"
"""Between groups of three digits: no line is broken there."""

_STEERING: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Characters that move the cursor, turn the text around or end a line."""


def printable(text: str) -> str:
    """Text in which no character steers the terminal: names and keys are data, whatever they hold."""
    return "".join(repr(char)[1:-1] if category(char) in _STEERING else char for char in text)


_MARKDOWN: Final = re.compile(r"([\\`*_\[\]>|~#])")


def markdown_text(text: str) -> str:
    """Text that is no markup, steers nothing and ends no cell of a table. For the inside of a line: a text that begins
    one could make a list of it."""
    return _MARKDOWN.sub(r"\\\1", printable(text).replace("&", "&amp;").replace("<", "&lt;"))


def html_text(text: str, *, lines: bool = False) -> str:
    """Text that is no markup and steers nothing, for elements and attributes; `lines`: that may have several."""
    return escape("\n".join(map(printable, text.split("\n"))) if lines else printable(text))
