"""The stages of a question on a terminal. They are the same whatever the rows are: a bar that runs faster where a
filter matches nobody would tell so."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from shutil import get_terminal_size
from typing import Final

from dpsql.cli.manner import Manner
from dpsql.points import EVENT, Point

_STAGES: Final = {
    Point.ASKED.name: "[1/3] planning",
    Point.CHARGED.name: "[2/3] charged",
    Point.RUNNING.name: "[3/3] asking the engine …   (Ctrl-C stops it; what is charged stays charged)",
}
_ERASE: Final = "\r\x1b[K"
_listening: list[bool] = []
"""Whether stages are shown now. What hears the points of this process stays to its end: it is installed once."""


@contextmanager
def stages_shown(manner: Manner) -> Iterator[None]:
    """The stage of what is asked inside the block, on one line that is then erased."""
    if not manner.shows_progress:
        yield
        return
    if not _listening:
        sys.addaudithook(_heard)
    _listening[:] = [True]
    try:
        yield
    finally:
        _listening[:] = [False]
        _show("")


def _heard(event: str, told: tuple[object, ...]) -> None:
    if event == EVENT and _listening == [True] and (stage := _STAGES.get(str(told[0]))) is not None:
        _show(stage)


def _show(stage: str) -> None:
    """In the place of the one before. A terminal that has gone away must not break what was paid for."""
    with suppress(OSError, ValueError):
        sys.stderr.write(_ERASE + _fitting(stage))
        sys.stderr.flush()


def _fitting(stage: str) -> str:
    """On one line of the terminal: what goes over two cannot be erased. The remark behind it goes first."""
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    most = (columns or get_terminal_size().columns) - 1
    return stage if len(stage) <= most else stage.partition("   ")[0][:most]
