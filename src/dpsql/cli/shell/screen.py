"""What a person sees: answers on standard output, everything else beside them on standard error, and pages of what is
long. On a terminal that has no more than ASCII, words stand for signs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

from dpsql import BadParameter, in_ascii
from dpsql.cli.output import clean as clean

_GAP: Final = re.compile(r"(?<=\S) {2,}(?=\S)")
"""Between the columns of a list: what is wrapped goes on below its column."""
_CODE: Final = re.compile(r" {4}\S| *\^+$")
"""The text an error speaks of, and the caret below it."""
_FRAME: Final = ("┌", "├", "└", "│", "+", "|")


@dataclass(slots=True, kw_only=True)
class Screen:
    """Where answers and remarks go."""

    out: TextIO
    err: TextIO
    ascii: bool
    """Words for signs."""
    paged: bool
    """Whether what is longer than the screen is shown page by page; only ever on a terminal."""
    size: Callable[[], os.terminal_size]
    key: Callable[[str], str]
    """Asks for one line of the person, with these words before it."""
    file: TextIO | None = None
    """Where answers go instead, after `\\o FILE`."""

    def letters(self, text: str) -> str:
        """The text as this terminal can show it."""
        shown = clean(text)
        return in_ascii(shown) if self.ascii else shown

    def say(self, text: str) -> None:
        """A remark: of costs, of mistakes, of what to do."""
        self.err.write("\n".join(self.wrapped(self.letters(text))) + "\n")
        self.err.flush()

    def show(self, text: str, *, whole: bool = False) -> None:
        """An answer. `whole`: its lines are for programs, and stay as they are."""
        if self.file is not None:
            self._keep((text if whole else clean(text)) + "\n", self.file)
            return
        lines = clean(text.replace("\r\n", "\n")).split("\n") if whole else self.wrapped(self.letters(text))
        if self.paged and len(lines) >= self.size().lines and self._page(lines):
            return
        self.out.write("\n".join(lines) + "\n")
        self.out.flush()

    def _keep(self, text: str, file: TextIO) -> None:
        try:
            file.write(text)
            file.flush()
        except OSError as error:
            self.file = None
            with suppress(OSError):
                file.close()
            raise BadParameter(
                f"the answer cannot be written to {file.name}: {error.strerror}",
                why="answers were to go there, and go to the screen again from here on",
                fix="make room or name another file with \\o, and ask again: it is stored, and told for nothing",
            ) from None

    def wrapped(self, text: str) -> list[str]:
        """Lines that fit; those of a table, of code and of a tree stay as they are."""
        return [part for line in text.split("\n") for part in self._parts(line)]

    def _parts(self, line: str) -> list[str]:
        width = max(self.size().columns, 20)
        if len(line) <= width or line.lstrip().startswith(_FRAME) or _CODE.match(line):
            return [line]
        gaps = [gap.end() for gap in _GAP.finditer(line, 0, width // 2)]
        indent = gaps[-1] if gaps else len(line) - len(line.lstrip()) + 2
        return textwrap.wrap(
            line[indent:] if gaps else line.lstrip(),
            width,
            initial_indent=line[:indent] if gaps else line[: indent - 2],
            subsequent_indent=" " * indent,
            break_on_hyphens=False,
        )

    def _page(self, lines: Sequence[str]) -> bool:
        """Whether somebody has shown it: the pager of this person, less, or we ourselves."""
        said = os.environ.get("PAGER")
        if said is not None and not said.strip():
            return False
        try:
            command = shlex.split(said) if said else ["less", "-FRSX"]
        except ValueError:  # a quotation that does not end
            command = []
        if command and shutil.which(command[0]) is not None:
            return self._by_pager(command, "\n".join(lines) + "\n")
        self._by_hand(lines)
        return True

    def _by_pager(self, command: Sequence[str], text: str) -> bool:
        self.out.flush()
        encoding = self.out.encoding or "utf-8"
        try:
            pager = subprocess.Popen(command, stdin=subprocess.PIPE)
        except OSError:
            return False
        with suppress(BrokenPipeError, KeyboardInterrupt):  # they have seen enough
            pager.communicate(text.encode(encoding, "replace"))
        while pager.poll() is None:
            with suppress(KeyboardInterrupt):  # it is the pager's business, which ends by q
                pager.wait()
        return True

    def _by_hand(self, lines: Sequence[str]) -> None:
        """A page at a time; q leaves."""
        for page, more in _pages(lines, max(self.size().lines - 1, 2)):
            self.out.write("\n".join(page) + "\n")
            self.out.flush()
            if more and self._leaves(f"-- {more} more lines; Enter: go on, q: leave -- "):
                return

    def _leaves(self, question: str) -> bool:
        try:
            return self.key(question).strip().lower().startswith("q")
        except (EOFError, KeyboardInterrupt):
            return True


def _pages(lines: Sequence[str], size: int) -> Iterator[tuple[Sequence[str], int]]:
    for start in range(0, len(lines), size):
        yield lines[start : start + size], max(0, len(lines) - start - size)


def folder_of_state() -> Path:
    """Where what is remembered between sessions lies."""
    said = os.environ.get("XDG_STATE_HOME")
    return (Path(said) if said else Path.home() / ".local" / "state") / "dpsql"
