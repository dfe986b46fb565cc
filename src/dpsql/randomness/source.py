"""The only door through which chance enters: uniform bits from the operating system."""

from __future__ import annotations

import os
import threading
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

_POOL: Final = 1 << 12


class Source(Protocol):
    """Independent uniform bits. Everything random in dpsql is a function of these and of nothing else."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """`count` independent uniform 64-bit words. The array may be read-only."""
        ...

    def bits(self, count: int) -> int:
        """A uniform integer in [0, 2**count)."""
        ...


class OsSource(threading.local):
    """The operating system's generator. Small requests are served from a pool that no fork or thread shares.

    Two threads, or a parent and a child process, that read the same pool would draw the same noise, and the
    difference of their two answers would be exact. So each thread has its own pool, which belongs to one process.
    """

    def __init__(self) -> None:
        self._pool = b""
        self._at = 0
        self._pid = -1

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)

    def bits(self, count: int) -> int:
        size = (count + 7) >> 3
        if size > _POOL:
            return int.from_bytes(os.urandom(size), "little") >> (8 * size - count)
        end = self._at + size
        if end > len(self._pool) or self._pid != os.getpid():
            self._pool, self._pid, end = os.urandom(_POOL), os.getpid(), size
            self._at = 0
        chunk, self._at = self._pool[self._at : end], end
        return int.from_bytes(chunk, "little") >> (8 * size - count)


SYSTEM: Final = OsSource()
"""The source every release uses."""


def uniform_below(bound: int, *, source: Source) -> int:
    """A uniform integer in [0, bound), by rejection: exact for every bound.

    Requires  bound >= 1.
    """
    count = (bound - 1).bit_length()
    while True:
        value = source.bits(count)
        if value < bound:
            return value


def shuffled(size: int, *, source: Source) -> list[int]:
    """A uniform permutation of range(size): Fisher-Yates with exact uniform integers."""
    order = list(range(size))
    for last in range(size - 1, 0, -1):
        other = uniform_below(last + 1, source=source)
        order[last], order[other] = order[other], order[last]
    return order
