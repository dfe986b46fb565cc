"""The demo hospital with noise from a seed: for tests of what is built upon dpsql."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import dpsql
from dpsql.errors import TestsOnly

if TYPE_CHECKING:
    from dpsql import Analyst


class SeededSource:
    """The bits of SHAKE-256 over a seed and a counter. Works inside a running pytest test and nowhere else.

    Noise from a known seed can be subtracted, so a release that used this source would be the exact value.
    """

    def __init__(self, seed: int) -> None:
        refuse_outside_tests()
        self._seed, self._counter = seed, 0

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.frombuffer(bytearray(self._stream(8 * count)), dtype=np.uint64)

    def bits(self, count: int) -> int:
        size = (count + 7) >> 3
        return int.from_bytes(self._stream(size), "little") >> (8 * size - count)

    def _stream(self, size: int) -> bytes:
        refuse_outside_tests()
        self._counter += 1
        return hashlib.shake_256(f"{self._seed}:{self._counter}".encode()).digest(size)


def refuse_outside_tests() -> None:
    """Whatever would undo protection works inside a running test only."""
    if "PYTEST_CURRENT_TEST" not in os.environ:
        raise TestsOnly(
            "what undoes the noise works in tests only",
            why="noise that is left out, or that comes from a known seed and can be subtracted, protects nobody",
            fix="ask through an analyst, with dpsql.randomness.SYSTEM, the operating system's generator",
        )


@contextmanager
def fixed_noise(*, seed: int, i_know_this_is_not_private: bool = False) -> Iterator[Analyst]:
    """An analyst of the demo hospital who gets the same answers in every run of a test.

    It is made here and cannot be had for other data: noise from a seed can be subtracted, and protects nobody. Outside
    a running pytest test it is refused.
    """
    if i_know_this_is_not_private is not True:
        raise TestsOnly(
            "fixed noise protects nobody",
            why="whoever knows the seed subtracts the noise",
            fix="where that is meant, in a test on the demo hospital: pass i_know_this_is_not_private=True",
        )
    source = SeededSource(seed)
    with dpsql.demo() as analyst:
        yield replace(analyst, place=replace(analyst.place, source=source))
