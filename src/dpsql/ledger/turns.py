"""Twins: the same question at the same price by the same analyst, asked again while it is being answered.

A twin waits for the first one and is told its answer, so that only runs that failed count as attempts. This saves
money and decides nothing: a payment is right whoever waits and whoever does not.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import open as open_descriptor
from pathlib import Path
from typing import Final

with suppress(ImportError):  # systems without it: processes do not wait for each other
    import fcntl

from dpsql.ledger.keyfile import PRIVATE

_TICK: Final = 0.01  # seconds between two looks
_PLACES: Final = 7  # bytes of a digest that say where in the file its lock is: 2^56 places


class Turns:
    """The twins of this process: threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._taken: dict[bytes, tuple[threading.Lock, int]] = {}
        """What is being asked, with the number of those who ask it."""

    @contextmanager
    def of(self, same: bytes) -> Iterator[None]:
        """One at a time for each `same`."""
        with self._guard:
            turn, others = self._taken.get(same, (threading.Lock(), 0))
            self._taken[same] = turn, others + 1
        try:
            with turn:
                yield
        finally:
            with self._guard:
                turn, asking = self._taken.pop(same)
                if asking > 1:
                    self._taken[same] = turn, asking - 1


class FileTurns:
    """The twins of all processes of this machine: one byte of an empty file is locked for each question that runs.

    The system forgets the lock of a process that dies. It also forgets it where the process closes the file by another
    descriptor; then twins run at once, as they would without any lock.
    """

    def __init__(self, ledger: Path) -> None:
        self._ledger, self._guard = ledger, threading.Lock()
        self._file: int | None = None

    def _opened(self) -> int:
        """`<ledger>.turns`, which is there once somebody asks."""
        with self._guard:
            if self._file is None:
                path = self._ledger.with_name(self._ledger.name + ".turns")
                self._file = open_descriptor(path, os.O_RDWR | os.O_CREAT, PRIVATE)
            return self._file

    def close(self) -> None:
        with self._guard:
            if self._file is not None:
                os.close(self._file)
            self._file = None

    @contextmanager
    def of(self, same: bytes) -> Iterator[None]:
        """One process at a time for each `same`; its threads are kept apart already."""
        place = int.from_bytes(same[:_PLACES], "big")
        while not self._locked(place):
            time.sleep(_TICK)  # waiting inside the system would be taken for a deadlock where threads wait crosswise
        try:
            yield
        finally:
            self._unlock(place)

    def _locked(self, place: int) -> bool:
        """False where another process has it. True also where this system, or this disk, has no locks."""
        try:
            fcntl.lockf(self._opened(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except BlockingIOError:
            return False
        except (NameError, OSError):
            return True
        return True

    def _unlock(self, place: int) -> None:
        with self._guard, suppress(NameError, OSError):
            if self._file is not None:  # closed: the system has forgotten it already
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)
