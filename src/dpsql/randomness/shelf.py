"""Keeps the tables of laws that are drawn from often; serves the others one draw at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsql.randomness.blocks import BlockSampler, Exponent

Integers: TypeAlias = NDArray[np.int64] | NDArray[np.object_]

WIDEST: Final = 2**44
"""Scales below this have tables, and their draws fit 64 bits up to a probability of exp(-2**19)."""

LARGEST_SIZE: Final = 2**32
"""More draws at once than memory holds are a mistake, not a request."""

_WORTHWHILE: Final = 128  # draws from one law after which building its tables has paid for itself
_ROOM: Final = 32  # laws remembered; tables take about 200 kB each


class Shelf:
    """The least recently used law makes room. Shared by all threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._laws: OrderedDict[Exponent, BlockSampler | int] = OrderedDict()  # tables, or the draws asked for so far

    def tables(self, law: Exponent, *, blocks: int, draws: int) -> BlockSampler | None:
        """The tables of `law`, or None while too few draws were asked for to be worth building them."""
        with self._lock:
            known = self._laws.pop(law, 0)
            if isinstance(known, int):
                known += draws
            self._laws[law] = known
            if len(self._laws) > _ROOM:
                self._laws.popitem(last=False)
        if isinstance(known, BlockSampler):
            return known
        if known < _WORTHWHILE:
            return None
        built = BlockSampler.build(law, blocks=blocks)
        with self._lock:
            self._laws[law] = built
        return built


SHELF: Final = Shelf()


def one_by_one(draw: Callable[[], int], *, size: int, wide: bool) -> Integers:
    """`size` calls of `draw`; Python integers where 64 bits might not hold them."""
    draws = [draw() for _ in range(size)]
    return np.array(draws, dtype=np.object_) if wide else np.array(draws, dtype=np.int64)
