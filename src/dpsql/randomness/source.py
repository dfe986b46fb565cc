"""The only door through which chance enters: uniform bits from the operating system."""

from __future__ import annotations

import os
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

_POOL: Final = 1 << 12


class Source(Protocol):
    """Independent uniform bits. Everything random in dpsql is a function of these and of nothing else."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """`count` independent uniform 64-bit words, in an array the caller may overwrite."""
        ...

    def bits(self, count: int) -> int:
        """A uniform integer in [0, 2**count)."""
        ...


class OsSource:
    """The operating system's generator. Small requests are served from a pool that a fork empties.

    A child process that inherited a filled pool would draw the same noise as its parent, and the difference of two
    answers would be exact; so the pool belongs to the process that filled it.
    """

    __slots__ = ("_at", "_pid", "_pool")

    def __init__(self) -> None:
        self._pool: bytes = b""
        self._at = 0
        self._pid = -1

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.frombuffer(bytearray(os.urandom(8 * count)), dtype=np.uint64)

    def bits(self, count: int) -> int:
        size = (count + 7) >> 3
        if size > _POOL >> 2:
            return int.from_bytes(os.urandom(size), "little") >> (8 * size - count)
        end = self._at + size
        if self._pid != os.getpid() or end > len(self._pool):
            self._pool, self._at, self._pid = os.urandom(_POOL), 0, os.getpid()
            end = size
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
