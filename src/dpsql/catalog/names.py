"""Names of tables and columns: one way to compare them, one way to suggest them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from dpsql.catalog.model import KeyPath

_UPPER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
RESERVED_SCHEMA: Final = "dp"
OWNER_ACCOUNT: Final = "dpsql owner"
"""Under this name the ledger keeps what the owner has spent on suggestions; nobody else asks under it."""
"""Kept for the views of dpsql itself (`session.views`)."""


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
