"""Names of files as people type them."""

from __future__ import annotations

import os
from pathlib import Path

from dpsql import BadParameter
from dpsql.written import shown_text


def named_path(text: str) -> Path:
    """The file that a text names. ~ is one's own folder, and ~NAME that of somebody else on this machine."""
    try:
        os.fsencode(text)
        path = Path(text).expanduser()
    except (RuntimeError, ValueError):
        raise _no_path(text) from None
    if not text or "\0" in text:
        raise _no_path(text)
    return path


def _no_path(text: str) -> BadParameter:
    if text.startswith("~") and "\0" not in text:
        owner = text.partition("/")[0]
        why = "~ stands for your own folder, and ~NAME for that of a user of this machine"
        return BadParameter(
            f"{shown_text(text)} names no file: {shown_text(owner)} has no folder here",
            why=why,
            fix="write the path out",
        )
    return BadParameter(
        f"{shown_text(text)} names no file" if text else "no file is named",
        why="the name of a file is made of letters that this system can write",
        fix="write a path, as in questions.sql",
    )
