"""Where the command `dpsql` begins: Ctrl-C ends it quietly, also while its modules are loaded."""

from __future__ import annotations

import os
import signal
from types import FrameType

_INTERRUPTED = 130


def main() -> int:
    """Load the commands, and run one; its exit code."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:  # or whoever started us has it ignored
        signal.signal(signal.SIGINT, _leave)
    from dpsql.cli.main import main as run

    if usual is signal.default_int_handler:
        signal.signal(signal.SIGINT, usual)
    return run()


def _leave(number: int, frame: FrameType | None) -> None:
    """At once: an error raised inside an import may be taken for a module that is missing; nothing is open yet."""
    os._exit(_INTERRUPTED)
