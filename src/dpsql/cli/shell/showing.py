"""An answer in the format that was chosen by `\\mode`, and what belongs to it besides its rows."""

from __future__ import annotations

from typing import Final

from dpsql import formats, formatted, summary
from dpsql.cli.shell.asker import Told, bar
from dpsql.cli.shell.state import Shell

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
