"""What a shell knows while it runs: who asks, where answers go, what was asked last, and what was `\\set`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpsql import formats, formatted, summary
from dpsql.cli.asking import ASK_ABOVE
from dpsql.cli.shell.asker import Asker, Told, bar
from dpsql.cli.shell.names import Names, names_or_none
from dpsql.cli.shell.reader import Reader
from dpsql.cli.shell.screen import Screen


@dataclass(slots=True, kw_only=True)
class Shell:
    """One session of somebody at a terminal."""

    asker: Asker
    screen: Screen
    reader: Reader
    source: str
    """What is asked, in a word."""
    reconnect: Callable[[], Asker] | None = None
    """Opens the connection again, where there is one, with the limits the shell was started with."""
    mode: str = "table"
    timing: bool = False
    ask_above: Fraction = ASK_ABOVE
    """A price above this share of what is left is asked about first."""
    last_sql: str | None = None
    """The last question, whether or not it was answered."""
    last: Told | None = None
    """The last answer."""
    draft: str = ""
    """What the editor has left for the next prompt, or a statement that goes on after a command."""
    leaving: bool = False
    known: Names | None = None

    def names(self) -> Names:
        """Tables and columns, asked for once."""
        if self.known is None:
            self.known = names_or_none(self.asker)
        return self.known

    @property
    def prompt(self) -> str:
        return f"{self.asker.name}@{self.source}> "


MODES: Final = tuple(name for name, form in formats.items() if not form.is_binary)
"""The formats a screen can show."""
_FOR_PEOPLE: Final = ("table", "records")


def show(shell: Shell, told: Told) -> None:
    """The answer, and beside it what it cost and what is left."""
    shell.screen.show(_text(shell, told, shell.mode), whole=shell.mode not in _FOR_PEOPLE)
    for line in summary(told):
        shell.screen.say(line)
    if told.release is not None and not told.cost.epsilon:  # a repeat: free, and still one wants to know
        shell.screen.say(f"budget {bar(shell.asker)} left")


def _text(shell: Shell, told: Told, mode: str) -> str:
    """A table that is wider than the screen would be cut to pieces: then each column has a line of its own."""
    text = str(formatted(told, mode, plain=shell.screen.ascii)).rstrip("\r\n")
    widest = max(map(len, text.split("\n")))
    if mode == "table" and not told.is_text and shell.screen.file is None and widest > shell.screen.size().columns:
        return _text(shell, told, "records")
    return text
