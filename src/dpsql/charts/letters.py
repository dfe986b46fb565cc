"""Text that came from data, made harmless to show, and how many columns of a terminal it takes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import accumulate, takewhile
from typing import Final
from unicodedata import category, east_asian_width


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
    reached = accumulate(map(width, text))
    return text[: sum(1 for _ in takewhile(lambda so_far: so_far + width(end) <= columns, reached))] + end


_WORDS: Final[Mapping[str, str]] = {
    "± ": "plus or minus ",
    "±": "plus or minus ",
    "⚠": "(doubtful)",
    "▰": "#",
    "▱": ".",
    " · ": "; ",
    "·": "*",
    "ε": "epsilon",
    "δ": "delta",
    "ρ": "rho",
    "σ": "sigma",
    "Δ": "Delta",
    "√": "sqrt ",
    **{sign: f"^{digit}" for sign, digit in zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True)},
    **{sign: f"_{digit}" for sign, digit in zip("₀₁₂₃", "0123", strict=True)},
    "½": "1/2",
    "∞": "infinity",
    "≠": "!=",
    "α": "alpha",
    "β": "beta",
    "γ": "gamma",
    "μ": "mu",
    "π": "pi",
    "τ": "tau",
    "Σ": "sum ",
    "✗": "no",
    "≤": "<=",
    "≥": ">=",
    "≈": "about",
    "→": "->",
    "←": "<-",
    "×": "x",
    "−": "-",
    "–": "-",
    "—": "-",
    "…": "...",
    "✓": "ok",
    "′": "'",
    "\u2009": "",
    "└": "`",
    "├": "|",
    "│": "|",
    "─": "-",
}
_SYMBOL: Final = re.compile("|".join(map(re.escape, sorted(_WORDS, key=len, reverse=True))))


def without_symbols(text: str) -> str:
    """The text in letters that every terminal has and every screen reader says; what people have named stays."""
    return _SYMBOL.sub(lambda found: _WORDS[found[0]], text)


def in_ascii(text: str) -> str:
    """Without symbols; a letter that ASCII lacks is shown by its number, so that no two texts become one."""
    return without_symbols(text).encode("ascii", "backslashreplace").decode("ascii")
