"""Names and places of the policy: one way to compare and to suggest them, and the mistake that is told at a place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from dpsql.catalog.model import KeyPath, Written
from dpsql.errors import BadPolicy

_UPPER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
RESERVED_SCHEMA: Final = "dp"
"""Kept for the views of dpsql itself (`session.views`)."""
OWNER_ACCOUNT: Final = "dpsql owner"
"""Under this name the ledger keeps what the owner has spent on suggestions; nobody else asks under it."""


def folded(name: str) -> str:
    """The name as it is compared: ASCII letters in lower case, everything else as written.

    `str.lower` also folds other letters which engines keep apart, and two tables could then pass for one.
    """
    return name.lower() if name.isascii() else name.translate(_UPPER)


def nearest(name: str, known: Iterable[str], *, alike: float = 0.6) -> str | None:
    """The known name that is nearest, if one is so much alike."""
    near = get_close_matches(folded(name), sorted(known), n=1, cutoff=alike)
    return near[0] if near else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A closing remark: the known name that is nearest, or nothing."""
    near = nearest(name, known)
    return f". Did you mean {near}?" if near else ""


def dotted(key: KeyPath) -> str:
    """A place as people read it: `table.visits.columns.charge`, `grant[1].budget` (the first grant is 1)."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part + 1}]"
        else:
            text += ("." if text else "") + (part if _BARE.fullmatch(part) else f'"{part}"')
    return text


def listed(names: Iterable[str]) -> str:
    """Names in one line, for messages."""
    return ", ".join(names)


class Mistake(Exception):
    """What is wrong at a key. It never leaves this package: `as_error` turns it into a BadPolicy."""

    def __init__(self, what: str, *, why: str, fix: str, key: KeyPath = ()) -> None:
        super().__init__(what)
        self.what, self.why, self.fix, self.key = what, why, fix, key

    def under(self, *prefix: str | int) -> Mistake:
        """The same mistake, seen from further outside."""
        return Mistake(self.what, why=self.why, fix=self.fix, key=(*prefix, *self.key))

    def as_error(self, written: Written | None) -> BadPolicy:
        """The error: `dpsql.toml:14 table.visits.columns.charge: …`, or without file and line where there are none."""
        where = dotted(self.key)
        place = where if written is None else f"{written.file}:{line_of(self.key, written)} {where}".rstrip()
        return BadPolicy(f"{place}: {self.what}" if place else self.what, why=self.why, fix=self.fix)


def line_of(key: KeyPath, written: Written) -> int:
    """The line of a key, or of the nearest section around it where it is missing."""
    path = tuple(folded(part) if isinstance(part, str) else part for part in key)
    for length in range(len(key), 0, -1):
        for place in (key[:length], path[:length]):
            if place in written.lines:
                return written.lines[place]
    return 1
