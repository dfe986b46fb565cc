"""Where a policy file says what: the line of each key, and the lines that wait for the owner.

The parser of the standard library tells no lines, so that the text is read a second time here, for its keys alone.

A line that waits ends in a comment `# CONFIRM …`; the file itself is the state. It is edited by hand: every comment
with this word in it is a mark, however it is written. A mark too many costs its owner a look, one that is overlooked
lets a guess decide who is protected.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from dpsql.catalog.model import KeyPath
from dpsql.catalog.names import Mistake, listed

_TOKEN: Final = re.compile(
    r'''
      (?P<string> """(?:\\.|[^\\])*?""""{0,2} | \'\'\'.*?\'\'\'\'{0,2} | "(?:\\.|[^"\\])*" | '[^']*' )
    | (?P<comment> \#[^\n]* )
    | (?P<newline> \n )
    | (?P<mark> [\[\]{}=,.] )
    | (?P<blank> [^\S\n]+ )
    | (?P<bare> [^\s\[\]{}=,.#"']+ )
    ''',
    re.VERBOSE | re.DOTALL,
)
_MEANINGLESS: Final = {"comment", "blank"}
_END: Final = ("newline", "")


def key_lines(text: str) -> dict[KeyPath, int]:
    """The line of each key, 1 for the first; headers, dotted keys, tables in line and arrays of tables.

    Requires  a text that `tomllib` accepts; of any other text the lines mean nothing.
    """
    scan = _Scan(tokens=list(_tokens(text)))
    while scan.position < len(scan.tokens):
        scan.statement()
    return scan.lines


def comments(text: str) -> Iterator[tuple[str, int, int]]:
    """(comment, line, where it begins) of each comment; what stands in quotes is none."""
    return ((word, line, start) for kind, word, line, start in _scanned(text) if kind == "comment")


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """(kind, text, line) of everything that matters."""
    return ((kind, word, line) for kind, word, line, _ in _scanned(text) if kind not in _MEANINGLESS)


def _scanned(text: str) -> Iterator[tuple[str, str, int, int]]:
    """(kind, text, line, position) of everything."""
    line, position = 1, 0
    while match := _TOKEN.match(text, position):
        kind, word = match.lastgroup or "", match.group()
        yield kind, word, line, position
        line += word.count("\n")
        position = match.end()
    if position < len(text):  # nothing that tomllib accepts; whatever it is, no mark in it is overlooked
        yield "comment", text[position:], line, position


@dataclass(slots=True, kw_only=True)
class _Scan:
    """A reading position, and what was found before it."""

    tokens: list[tuple[str, str, int]]
    position: int = 0
    section: KeyPath = ()
    lines: dict[KeyPath, int] = field(default_factory=dict)
    repeated: dict[KeyPath, int] = field(default_factory=dict)
    """How often each [[header]] was seen."""

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.position][:2] if self.position < len(self.tokens) else _END

    def line(self) -> int:
        return self.tokens[min(self.position, len(self.tokens) - 1)][2]

    def skip(self, *words: str) -> None:
        while self.position < len(self.tokens) and self.peek()[1] in words:
            self.position += 1

    def statement(self) -> None:
        """A header or `key = value`, to the end of its line."""
        word = self.peek()[1]
        if word == "[":
            self.header()
        elif self.peek()[0] != "newline":
            self.assignment(self.section)
        while self.peek()[0] != "newline":
            self.position += 1
        self.position += 1

    def header(self) -> None:
        line = self.line()
        self.position += 1
        many = self.peek() == ("mark", "[")
        self.skip("[")
        *outer, last = self.key()
        path: KeyPath = ()
        for part in outer:
            path = self.current((*path, part))
        path = (*path, last)
        if many:
            self.repeated[path] = self.repeated.get(path, -1) + 1
        self.section = self.current(path)
        self.note(self.section, line)
        self.lines[self.section] = line  # a header says it better than a key that was met inside it

    def current(self, path: KeyPath) -> KeyPath:
        """Inside an array of tables: its last element."""
        return (*path, self.repeated[path]) if path in self.repeated else path

    def note(self, path: KeyPath, line: int) -> None:
        """The key and the sections around it that have no line of their own."""
        for length in range(1, len(path) + 1):
            self.lines.setdefault(path[:length], line)

    def key(self) -> list[str]:
        """The parts of a dotted key."""
        parts = []
        while self.peek()[0] in {"bare", "string"}:
            kind, word = self.peek()
            parts.append(_unquoted(word) if kind == "string" else word)
            self.position += 1
            self.skip(".")
        return parts or [""]

    def assignment(self, outside: KeyPath) -> None:
        line = self.line()
        path = (*outside, *self.key())
        self.note(path, line)
        self.lines[path] = line
        self.skip("=")
        self.value(path)

    def value(self, path: KeyPath) -> None:
        """One value; keys inside it are noted."""
        word = self.peek()[1]
        if word == "{":
            self.inside(path, "}")
        elif word == "[":
            self.inside(path, "]")
        else:
            while self.peek()[0] in {"bare", "string"} or self.peek()[1] == ".":
                self.position += 1

    def inside(self, path: KeyPath, end: str) -> None:
        """A table in line, or an array, whose elements are numbered."""
        self.position += 1
        index = 0
        while True:
            self.skip("\n", ",")
            if self.position >= len(self.tokens) or self.peek()[1] == end:
                self.position += 1
                return
            before = self.position
            if end == "}":
                self.assignment(path)
            else:
                self.lines[(*path, index)] = self.line()
                self.value((*path, index))
                index += 1
            if self.position == before:
                return


def _unquoted(word: str) -> str:
    """A quoted key as the parser reads it."""
    value = tomllib.loads(f"key = {word}")["key"]
    return str(value)


# ---- lines that wait for the owner ----------------------------------------------------------------------------------

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
