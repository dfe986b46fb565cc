"""The line of every key of a TOML text. The parser of the standard library tells none."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from dpsql.catalog.model import KeyPath

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
