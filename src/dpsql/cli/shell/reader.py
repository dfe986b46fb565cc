"""How lines are read: with editing, history and completion where the terminal can, line by line where it cannot."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from os import open as open_descriptor
from pathlib import Path
from typing import Final, Protocol, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.completion import CompleteEvent, Completer, get_common_complete_suffix
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import get_cwidth

import dpsql
from dpsql.cli.shell.completing import KEYWORDS
from dpsql.cli.shell.pieces import pieces
from dpsql.cli.shell.screen import clean, folder_of_state

# What Tab does: it writes what is certain, and shows what is possible, never more than a screen of it and without a
# question in between.


def complete(event: KeyPressEvent) -> None:
    """At once, so that whoever types on does not lose what Tab gave."""
    buffer = event.current_buffer
    found = list(buffer.completer.get_completions(buffer.document, CompleteEvent(completion_requested=True)))
    shared = get_common_complete_suffix(buffer.document, found)
    if len(found) == 1:
        buffer.delete_before_cursor(-found[0].start_position)
        buffer.insert_text(found[0].text)
    elif shared:
        buffer.insert_text(shared)
    elif found:
        size = event.app.output.get_size()
        shown = in_columns([clean(one.text) for one in found], columns=size.columns, lines=size.rows)
        run_in_terminal(lambda: event.app.print_text("\n".join([*shown, ""])), render_cli_done=True)


def in_columns(words: Sequence[str], *, columns: int, lines: int) -> list[str]:
    """The words below each other, column by column; a screen of them at most, and then how many more there are."""
    width = min(max(map(get_cwidth, words)) + 2, columns)
    side_by_side = max(columns // width, 1)
    room = max(lines - 3, 1)  # the prompt, and the line that says how many more
    kept = words[: side_by_side * room]
    height = -(-len(kept) // side_by_side)
    rows = ["".join(_padded(word, width) for word in kept[row::height]).rstrip() for row in range(height)]
    more = len(words) - len(kept)
    return [*rows, *([f"... and {more} more: type a letter, then Tab"] if more else [])]


def _padded(word: str, width: int) -> str:
    return word + " " * (width - get_cwidth(word))


_STYLE: Final = Style.from_dict(
    {
        "keyword": "ansiblue bold",
        "text": "ansigreen",
        "number": "ansicyan",
        "comment": "ansibrightblack italic",
        "prompt": "bold",
    }
)
_COMMANDS: Final = ("\\", ".")
_PLAIN_WORDS: Final = frozenset({"help", "quit", "exit"})
_WAYS_OUT: Final = _PLAIN_WORDS | {"\\q", "\\?", "\\help", ".quit", ".exit", ".help"}
"""What is tried by somebody who does not know how a statement ends."""


class Reader(Protocol):
    """Where statements come from."""

    def read(self, prompt: str, default: str = "") -> str:
        """A statement or a command, perhaps of several lines. EOFError: they leave. KeyboardInterrupt: they begin
        again."""
        ...

    def typed(self) -> Iterator[str]:
        """What was typed before, oldest first."""
        ...


def is_whole(text: str) -> bool:
    """Whether Enter sends it: a command is one line, a statement ends with a semicolon."""
    stripped = text.strip()
    if not stripped or is_command(text) or behind_statement(text) is not None:
        return True
    return 0 < len(dpsql.script(text)) < len(dpsql.script(f"{text}\nx"))  # x begins one where the last has ended


def is_command(text: str) -> bool:
    """A backslash or a point before a word, or one of the words everybody tries."""
    stripped = text.strip()
    return stripped.startswith(_COMMANDS) or stripped.rstrip(";").strip().lower() in _PLAIN_WORDS


def behind_statement(text: str) -> tuple[str, str] | None:
    """The statement that was begun, and the command, or the way out, on the line behind it; None where there is none.
    What stands in a quotation is text, but for the ways out: nobody is to be caught in it."""
    begun, _, line = text.rstrip().rpartition("\n")
    if not begun.strip() or is_command(text):
        return None
    is_open = not all(piece.closed for piece in pieces(begun))
    if is_way_out(line) or (line.lstrip().startswith("\\") and not is_open):
        return begun, line.strip()
    return None


def is_way_out(line: str) -> bool:
    """Nothing else stands on it."""
    return line.strip().rstrip(";").strip().lower() in _WAYS_OUT


class LineReader:
    """Line by line, for terminals that cannot do more."""

    def __init__(self, *, source: TextIO | None = None, out: TextIO | None = None) -> None:
        self._source, self._out = source or sys.stdin, out or sys.stderr
        self._typed: list[str] = []

    def read(self, prompt: str, default: str = "") -> str:
        text = default.removesuffix("\n")
        shown = prompt if is_whole(text) else continuation(len(prompt))
        while True:
            line = read_line(shown, source=self._source, out=self._out)
            text = f"{text}\n{line}" if text else line
            if is_whole(text):
                self._typed.append(_remembered(text))
                return text
            shown = continuation(len(prompt))

    def typed(self) -> Iterator[str]:
        return iter(self._typed)


def _remembered(text: str) -> str:
    """A command is one by itself, also where it was typed behind a statement that goes on."""
    found = behind_statement(text)
    return text if found is None else found[1]


def read_line(prompt: str, *, source: TextIO | None = None, out: TextIO | None = None) -> str:
    """One line; EOFError where there is none."""
    found = out or sys.stderr
    found.write(prompt)
    found.flush()
    line = (source or sys.stdin).readline()
    if not line:
        raise EOFError
    return line.rstrip("\r\n")


def continuation(width: int) -> str:
    """What stands before the next lines of a statement, as wide as the prompt."""
    return f"{'...> ':>{width}}"


class PromptReader:
    """With editing over several lines, history and completion."""

    def __init__(self, *, completer: Completer, history: bool, colour: bool) -> None:
        self._history = _history(kept=history)
        self._session: PromptSession[str] = PromptSession(
            history=self._history,
            completer=completer,
            complete_while_typing=False,
            multiline=True,
            prompt_continuation=lambda width, number, wrapped: "" if wrapped else continuation(width),
            key_bindings=_keys(),
            lexer=SqlLexer() if colour else None,
            style=_STYLE if colour else None,
            color_depth=None if colour else ColorDepth.DEPTH_1_BIT,
            include_default_pygments_style=False,
            mouse_support=False,
        )

    def read(self, prompt: str, default: str = "") -> str:
        return self._session.prompt([("class:prompt", prompt)], default=default)

    def typed(self) -> Iterator[str]:
        return iter(self._history.get_strings())


def _history(*, kept: bool) -> History:
    """In a file that nobody else can read; in memory where there is no place for one."""
    if not kept:
        return InMemoryHistory()
    try:
        path = folder_of_state() / "history"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = open_descriptor(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.fchmod(descriptor, stat.S_IRUSR | stat.S_IWUSR)
        os.close(descriptor)
    except (OSError, RuntimeError):  # somebody may have no folder at all
        return InMemoryHistory()
    return _FileHistory(path)


class _FileHistory(FileHistory):
    """A disk that is full, or a file that is gone, ends no session."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)

    def store_string(self, string: str) -> None:
        try:
            super().store_string(string)
        except OSError:
            return


def _keys() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("enter")
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if behind_statement(buffer.text) is not None:
            buffer.history.append_string(_remembered(buffer.text))
            event.app.exit(result=buffer.text)
        elif is_whole(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    @bindings.add(Keys.Vt100MouseEvent)
    def _mouse(event: KeyPressEvent) -> None:
        """There is no mouse here: what looks like one was typed or pasted, such as the code of a colour."""

    bindings.add("tab")(complete)
    return bindings


class SqlLexer(Lexer):
    """Words of SQL, texts, numbers and comments in colours of their own."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        lines = _coloured(document.text)
        return lambda number: lines[number] if number < len(lines) else []


def _coloured(text: str) -> list[StyleAndTextTuples]:
    lines: list[StyleAndTextTuples] = [[]]
    position = 0

    def add(style: str, part: str) -> None:
        for place, line in enumerate(part.split("\n")):
            if place:
                lines.append([])
            lines[-1].append((style, line))

    for piece in pieces(text):
        add("", text[position : piece.start])
        add(_style(piece.kind, text[piece.start : piece.end]), text[piece.start : piece.end])
        position = piece.end
    add("", text[position:])
    return lines


def _style(kind: str, text: str) -> str:
    if kind == "word":
        return "class:keyword" if text.upper() in KEYWORDS else ""
    return f"class:{kind}" if kind in ("text", "number", "comment") else ""
