"""A uniform real number that is revealed bit by bit, as far as a question about it needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dpsql.randomness.source import Source

Answer = TypeVar("Answer")


class LazyUniform:
    """A uniform number U in [0, 1), known to lie in [known, known + 1) / 2**bits.

    Questions that the known bits leave open draw 64 more. The interval only shrinks, so every answer is about the same
    U and earlier answers stay true.
    """

    __slots__ = ("_bits", "_known", "_source")

    def __init__(self, source: Source, *, bits: int = 64) -> None:
        self._source, self._bits, self._known = source, bits, source.bits(bits)

    def decided(self, look: Callable[[int, int], Answer | None]) -> Answer:
        """The first answer of `look(known, bits)` that is not None: exact if each answer holds for the whole interval.

        Theorem   docs/theorems/exact_samplers.md, lazy comparison.
        Requires  a `look` that leaves open a set of U that shrinks to probability 0 as `bits` grows.
        Rounds    nothing.
        """
        while (answer := look(self._known, self._bits)) is None:
            self._known = self._known << 64 | self._source.bits(64)
            self._bits += 64
        return answer

    def is_below(self, bounds_at: Callable[[int], tuple[int, int]]) -> bool:
        """Whether U lies below a real number x, given integers around 2**bits · x for as many bits as asked.

        Theorem   as `decided`: U < x with probability exactly x.
        Requires  low <= 2**bits · x <= high that close in on it as `bits` grows.
        Rounds    nothing.
        """

        def look(known: int, bits: int) -> bool | None:
            low, high = bounds_at(bits)
            return True if known < low else False if known >= high else None

        return self.decided(look)
