"""Lines of a policy that wait for the owner: each ends in a comment `# CONFIRM …`. The file itself is the state."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dpsql.catalog.lines import comments
from dpsql.catalog.mistakes import Mistake
from dpsql.catalog.model import KeyPath
from dpsql.catalog.names import listed

WORD: Final = "CONFIRM"
_MARK: Final = re.compile(rf"#\s*{WORD}\b:?\s*(?P<reason>[^\r]*)")
_HOLDERS: Final = (("table",), ("grant",))
"""Sections that only hold others: the first of those has their line."""
_MOST: Final = 20
"""Lines that one message names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One line that is not confirmed, and why it says what it says."""

    line: int
    reason: str
    start: int
    """Where the mark begins in the text; it goes to the end of the line."""
    end: int
    said: str
    """What stands on the line before it."""
    key: KeyPath = ()
    """What the line declares, spelled as in the file; of a line that is all comment, what stands before it."""


def marks(text: str, lines: Mapping[KeyPath, int]) -> tuple[Mark, ...]:
    """Every mark in a text, in its order; `lines` are those of its keys."""
    found = []
    for comment, line, start in comments(text):
        match = _MARK.search(comment)
        if match is not None:
            begin, end = start + match.start(), start + match.end()
            reason = match["reason"].strip()
            said = text[text.rfind("\n", 0, begin) + 1 : begin].strip()
            found.append(Mark(line=line, reason=reason, start=begin, end=end, said=said, key=key_at(line, lines)))
    return tuple(found)


def key_at(line: int, lines: Mapping[KeyPath, int]) -> KeyPath:
    """The outermost key that begins on this line, or else the nearest one before it."""
    here = [key for key, at in lines.items() if at == line and key not in _HOLDERS]
    if here:
        return min(here, key=len)
    before = [(at, len(key), key) for key, at in lines.items() if at < line]
    return max(before, key=lambda found: found[:2])[2] if before else ()


def unconfirmed(found: tuple[Mark, ...]) -> tuple[Mistake, ...]:
    """One mistake for all marks: it stands at the first, and names the line of each."""
    if not found:
        return ()
    numbers = listed(str(mark.line) for mark in found[:_MOST]) + (" …" if len(found) > _MOST else "")
    return (
        Mistake(
            f"not confirmed yet: line{'s' if len(found) > 1 else ''} {numbers}",
            why="what was suggested from names and types may be wrong; the owner decides who is protected",
            fix=f"correct each line if need be, then remove its # {WORD}; dpsql check lists them with their reasons",
            key=found[0].key,
        ),
    )


def without(text: str, confirmed: tuple[Mark, ...]) -> str:
    """The text with these marks taken out, and the blanks before them; everything else stays."""
    for mark in sorted(confirmed, key=lambda mark: -mark.start):
        text = text[: mark.start].rstrip(" \t") + text[mark.end :]
    return text
