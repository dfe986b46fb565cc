"""The demo hospital with noise from a seed: for tests of what is built upon dpsql."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import dpsql
from dpsql.errors import TestsOnly
from dpsql.testing.seeded import SeededSource

if TYPE_CHECKING:  # the parser and the engine are loaded when the demo is, not with every kit beside this file
    from dpsql import Analyst


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
