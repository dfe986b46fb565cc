"""What a shell knows while it runs: who asks, where answers go, what was asked last, and what was `\\set`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dpsql.cli.price import ASK_ABOVE
from dpsql.cli.shell.asker import Asker, Told
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
