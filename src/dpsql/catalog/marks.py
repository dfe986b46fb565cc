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
    keys = keys_by_line(text, lines)
    for comment, line, start in comments(text):
        match = _MARK.search(comment)
        if match is not None:
            begin, end = start + match.start(), start + match.end()
            reason = match["reason"].strip()
            said = text[text.rfind("\n", 0, begin) + 1 : begin].strip()
            found.append(Mark(line=line, reason=reason, start=begin, end=end, said=said, key=keys[line]))
    return tuple(found)


def keys_by_line(text: str, lines: Mapping[KeyPath, int]) -> tuple[KeyPath, ...]:
    """By the number of a line, from 1 on: the outermost key that begins on it, or else the innermost before it."""
    here: dict[int, list[KeyPath]] = {}
    for key, line in lines.items():
        if key not in _HOLDERS:
            here.setdefault(line, []).append(key)
    found: list[KeyPath] = [()]
    before: KeyPath = ()
    for line in range(1, text.count("\n") + 2):
        keys = here.get(line)
        found.append(min(keys, key=len) if keys else before)
        before = max(keys, key=len) if keys else before
    return tuple(found)


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
