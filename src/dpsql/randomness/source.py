"""The only door through which chance enters: uniform bits from the operating system."""

from __future__ import annotations

import os
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from dpsql.require import require_that


class Source(Protocol):
    """Independent uniform bits. Everything random in dpsql is a function of these and of nothing else."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """`count` independent uniform 64-bit words. The array may be read-only."""
        ...

    def bits(self, count: int) -> int:
        """A uniform integer in [0, 2**count)."""
        ...


class OsSource:
    """The operating system's generator, asked anew for every request.

    Nothing is kept between requests: bits held back could be handed out twice, to a thread, a forked child or a
    signal handler, and the difference of two answers with the same noise would be exact.
    """

    __slots__ = ()

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)

    def bits(self, count: int) -> int:
        size = (count + 7) >> 3
        return int.from_bytes(os.urandom(size), "little") >> (8 * size - count)


SYSTEM: Final = OsSource()
"""The source every release uses."""


def uniform_below(bound: int, *, source: Source) -> int:
    """A uniform integer in [0, bound), by rejection: exact for every bound.

    Requires  bound >= 1.
    """
    require_that(bound >= 1, "uniform_below needs a bound of at least 1")
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
