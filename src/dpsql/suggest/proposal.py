"""A proposal: lines of a policy with the reason of each, and what nothing was proposed for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from dpsql.catalog.lines import WORD
from dpsql.catalog.spelling import toml_key

NEEDS: Final = "needs"
"""How the reason of a line begins that says nothing yet, or something nobody could know."""
_BLANKS: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """`key = value  # CONFIRM reason`."""

    key: str
    value: str
    """As TOML writes it."""
    reason: str

    @property
    def is_ready(self) -> bool:
        return not self.reason.startswith(NEEDS)

    @property
    def said(self) -> str:
        return f"{toml_key(self.key)} = {self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableProposal:
    """What is proposed about one table. Without `lines` nobody could say whose its rows are."""

    name: str
    lines: tuple[Line, ...] = ()
    columns: tuple[Line, ...] = ()
    remarks: tuple[str, ...] = ()
    """What is not declared, and why."""
    offers: tuple[Line, ...] = ()
    """Lines of which the owner may take one: they stand in the file as comments, and hold nothing."""
    public: bool = False
    header_reason: str | None = None
    """Why the table as a whole waits for the owner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A whole policy that waits to be confirmed."""

    person: str
    """What one protected person is called."""
    person_reason: str
    tables: tuple[TableProposal, ...]
    read: tuple[str, ...]
    """What was read of the source, in words with numbers."""
    remarks: tuple[str, ...] = ()
    """What does not carry over from another file."""


def one_line(text: str) -> str:
    """A text that somebody else wrote, as part of a comment: one line, without control characters."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return _BLANKS.sub(" ", plain).strip()


def marked(said: str, reason: str, width: int) -> str:
    """A line of the file with its mark."""
    return f"{said:<{width}}  # {WORD} {one_line(reason)}"


def left_out(name: str) -> str:
    """Of a table or view of the source that a policy has no name for."""
    return (
        f"{name} is left out: there is a point in its name, or it cannot be read by that name. Nobody can ask about it;"
        " under another name it could be declared"
    )
