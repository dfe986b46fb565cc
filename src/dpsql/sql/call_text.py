"""The parts of an aggregate as it was written: messages quote them, and rewrites are made of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from dpsql.sql.parsing.text import blanked

_WHERE: Final = re.compile(r"\s*WHERE\b", re.IGNORECASE)
_BOUNDS: Final = re.compile(r"\s*,\s*contribution_bounds_per_\w+\s*=>\s*\([^()]*\)\s*$", re.IGNORECASE)
"""GoogleSQL's bounds at the end of a call: they are no part of its argument."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallText:
    """`SUM(charge) FILTER (WHERE points > 0)`, without comments."""

    argument: str
    """`charge`"""
    filter: str
    """`points > 0`, or nothing."""
    span: tuple[int, int]
    """Where the argument stands in the call."""


def call_text(call: str) -> CallText:
    """What stands between the first parenthesis and its partner, and in FILTER."""
    plain, words = blanked(call)
    inside, after = _first_pair(words, 0)
    bounds = _BOUNDS.search(words[slice(*inside)])
    inside = inside if bounds is None else (inside[0], inside[0] + bounds.start())
    condition, _ = _first_pair(words, after)
    chosen = plain[slice(*condition)]
    found = _WHERE.match(chosen)
    return CallText(
        argument=plain[slice(*inside)].strip(),
        filter=(chosen[found.end() :] if found else chosen).strip(),
        span=inside,
    )


def with_argument(text: str, places: Sequence[tuple[int, int]], change: Callable[[str], str]) -> str:
    """The text with the argument of a call changed wherever the call is written."""
    for begin, end in sorted(places, reverse=True):
        written = call_text(text[begin:end])
        first, last = (begin + place for place in written.span)
        text = f"{text[:first]}{change(written.argument)}{text[last:]}"
    return text


def _first_pair(words: str, begin: int) -> tuple[tuple[int, int], int]:
    """The place between the first parenthesis and its partner, and where the text goes on."""
    depth, first = 0, words.find("(", begin) + 1
    for place in range(max(first - 1, 0), len(words)):
        depth += (words[place] == "(") - (words[place] == ")")
        if first and depth == 0:
            return (first, place), place + 1
    return (len(words), len(words)), len(words)
