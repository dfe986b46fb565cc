"""Interruption of a request, held back where it must not happen: inside a charge, and from the draw to the store.

A process that answers one request at a time (a worker of `dpsql serve`) lets `interrupt` handle a signal. Between the
draw and the store an interruption would make the fate of a drawn value depend on the clock (DESIGN rule 2).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _State(threading.local):
    held = 0
    waiting = False


_state = _State()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold an `interrupt` of this thread back until the block has ended."""
    _state.held += 1
    try:
        yield
    finally:
        _state.held -= 1
    if _state.waiting and not _state.held:
        _state.waiting = False
        raise KeyboardInterrupt


def interrupt() -> None:
    """Raise KeyboardInterrupt here, or at the end of the `uninterrupted` block that runs."""
    if _state.held:
        _state.waiting = True
        return
    raise KeyboardInterrupt


def forget() -> None:
    """Drop an interrupt that waits: what it was meant for has ended."""
    _state.waiting = False
