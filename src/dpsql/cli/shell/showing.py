"""An answer in the format that was chosen by `\\mode`."""

from __future__ import annotations

from dpsql.cli.shell.asker import Told


def shown(told: Told, mode: str) -> str:
    """The text of an answer."""
    return told.text
