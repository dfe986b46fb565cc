"""Lines of a policy that wait for the owner: each ends in a comment `# CONFIRM …`. The file itself is the state.

A file is edited by hand: every comment with this word in it is a mark, however it is written. A mark too many costs its
owner a look, one that is overlooked lets a guess decide who is protected."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dpsql.catalog.lines import comments
from dpsql.catalog.mistakes import Mistake
from dpsql.catalog.model import KeyPath
from dpsql.catalog.names import listed

WORD: Final = "CONFIRM"
_MARK: Final = re.compile(rf"(?<![^\W\d_]){WORD.lower()}(?![^\W\d_])")
"""The word by itself: signs, digits and the underscore are no part of a word; confirmed is another one."""
_UNSEEN: Final = frozenset({"Cf", "Mn", "Me"})
"""Kinds of characters that take no place of their own on a line."""
_FILLERS: Final = frozenset("\u115f\u1160\u3164\uffa0")
"""Letters that show nothing."""
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
    keys = keys_by_line(text, lines)
    found = (_mark(text, comment, line, start, keys[line]) for comment, line, start in comments(text))
    return tuple(mark for mark in found if mark is not None)


def _mark(text: str, comment: str, line: int, start: int, key: KeyPath) -> Mark | None:
    """From the last # before the word to the end of the comment; None where the word is not in it."""
    seen = list(_seen(comment))
    match = _MARK.search("".join(letter for letter, _ in seen))
    if match is None:
        return None
    word, last = seen[match.start()][1], seen[match.end() - 1][1]
    begin = max(comment.rfind("#", 0, word), 0)
    end = len(comment.rstrip("\r"))
    before = comment[begin:word].removeprefix("#").strip()
    is_plain = not "".join(letter for letter, _ in _seen(before))
    reason = comment[last + 1 : end].lstrip().removeprefix(":") if is_plain else comment[begin + 1 : end]
    said = text[text.rfind("\n", 0, start + begin) + 1 : start + begin].strip()
    return Mark(line=line, reason=reason.strip(), start=start + begin, end=start + end, said=said, key=key)


def _seen(text: str) -> Iterator[tuple[str, int]]:
    """The letters of a text as they are read, in small, each with its place; what is not seen is left out."""
    for place, character in enumerate(text):
        for letter in unicodedata.normalize("NFKD", character).casefold():
            if unicodedata.category(letter) not in _UNSEEN and letter not in _FILLERS:
                yield letter, place


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
