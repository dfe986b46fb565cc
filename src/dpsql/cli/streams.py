"""The three standard streams, of which whoever starts a command may have closed some."""

from __future__ import annotations

import argparse
import codecs
import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

import dpsql
from dpsql import BadParameter

_WITHOUT_RESULT: Final = ("serve", "freeze", "unfreeze")
"""A server is often started without a terminal, and who stops everything is in a hurry."""


BY_NUMBER: Final = "backslashreplace"
IN_WORDS: Final = "dpsql.words"
"""How a stream shows letters that it lacks. What people have named is shown by number: words might be another name."""


def show_missing_letters(how: str) -> None:
    """On a terminal that lacks some."""
    for way in (sys.stdout, sys.stderr):
        if isinstance(way, io.TextIOWrapper):
            way.reconfigure(errors=how)


def _words(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = dpsql.without_symbols(error.object[error.start : error.end])
    return missing.encode("ascii", BY_NUMBER).decode("ascii"), error.end


codecs.register_error(IN_WORDS, _words)


@contextmanager
def completed_streams() -> Iterator[bool]:
    """With nothing in the place of each stream that is closed; whether standard output is one that is read."""
    is_read = sys.stdout is not None
    with ExitStack() as stand_ins:
        for name, way in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            if getattr(sys, name) is None:
                stand_ins.callback(setattr, sys, name, None)
                setattr(sys, name, stand_ins.enter_context(open(os.devnull, way, encoding="utf-8")))
        yield is_read


def require_output(chosen: argparse.Namespace) -> None:
    """Where standard output is closed: that the result goes elsewhere, before anything is done or paid."""
    if getattr(chosen, "output", None) is None and getattr(chosen, "command", None) not in _WITHOUT_RESULT:
        raise BadParameter(
            "standard output is closed",
            why="the result was to go there; nothing was asked, and nothing was spent",
            fix="leave it open, or send it to a file: > FILE",
        )
