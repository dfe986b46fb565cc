"""Exact draws from Pr[x] ∝ exp(-(A·x² + B·|x|)) on the integers: the engine behind both samplers.

    x  =  ±( block · 2**shift  +  low )

1. A *cell*, the block with its sign, is drawn by inverting its distribution function: a 16-bit guide table settles
   nearly every draw, 64-bit bounds most of the rest, and integers of any length the few that remain.
2. `low` is uniform, and the proposal is kept with probability exp(-γ), γ being how much less likely it is than the
   first value of its cell: a 16-bit threshold settles nearly every draw, 32-bit fixed point most of the rest, and
   integers of any length the few that remain. A rejected proposal is forgotten whole.

At each step the uniform number is known to an interval and the probability it is compared with to another; a draw
is decided only where the intervals do not overlap, otherwise more bits are fetched. No floating point takes part.
The proof is docs/theorems/exact_samplers.md.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsql.enclosure import exp_negative_fixed
from dpsql.errors import InternalError
from dpsql.randomness.bernoulli import below_exp
from dpsql.randomness.source import Source

Words = NDArray[np.uint64]

_GUIDE: Final = 16  # bits of the first look at a uniform number
_CHUNK: Final = 1 << 16  # proposals made at once: their arrays stay in the processor's cache
_FEW: Final = 16  # below this many draws plain integers are quicker than arrays
_FIXED: Final = 1 << 32  # the unit of the fixed-point stage
_SLACK: Final = 16  # the fixed-point γ is at most this many units too small


@dataclass(frozen=True, slots=True, kw_only=True)
class Exponent:
    """The law Pr[x] ∝ exp(-(square · x² + linear · |x|)), its values grouped in blocks of 2**shift.

    Cells are numbered 0, 1, 2, … for block 0 upward, block 0 downward, block 1 upward and so on. A negative x is
    stored as y = -1 - x, so that cell 2b holds x = b·2**shift + low and cell 2b + 1 holds x = -1 - (b·2**shift + low).
    """

    square: Fraction
    linear: Fraction
    shift: int

    def value(self, cell: int, low: int) -> int:
        """The integer that a cell and the bits below it stand for."""
        magnitude = ((cell >> 1) << self.shift) + low
        return ~magnitude if cell & 1 else magnitude

    def excess(self, cell: int, low: int) -> Fraction:
        """γ: the exponent of the value at `low` minus that of the first value of the cell."""
        start = ((cell >> 1) << self.shift) + (cell & 1)
        return self.square * (2 * start * low + low * low) + self.linear * low

    def weights(self, *, blocks: int, bits: int) -> tuple[list[tuple[int, int]], int]:
        """2**bits · exp(-exponent of the first value) of the first 2·blocks cells, enclosed; a bound of all the rest.

        The exponents of one sign are a quadratic in the block, so each weight is the one before times a ratio, and
        each ratio the one before times a constant.
        """
        sides, rest, size = [], 0, 1 << self.shift
        step = exp_negative_fixed(2 * self.square * size * size, bits=bits)
        for sign in (0, 1):
            weight = exp_negative_fixed((self.square + self.linear) * sign, bits=bits)
            ratio = exp_negative_fixed(self.square * size * (size + 2 * sign) + self.linear * size, bits=bits)
            side = []
            for _ in range(blocks):
                side.append(weight)
                weight = weight[0] * ratio[0] >> bits, (weight[1] * ratio[1] >> bits) + 1
                ratio = ratio[0] * step[0] >> bits, (ratio[1] * step[1] >> bits) + 1
            # What follows falls at least as fast as a geometric series with the ratio reached.
            rest += -((weight[1] << bits) // (ratio[1] - (1 << bits)))
            sides.append(side)
        return [weight for pair in zip(*sides, strict=True) for weight in pair], rest

    def bounds(self, *, blocks: int, bits: int) -> tuple[list[int], list[int]]:
        """2**bits · Pr[cell < j] for j = 0 … 2·blocks, rounded down and rounded up."""
        weights, rest = self.weights(blocks=blocks, bits=bits + 48)
        low = [0, *accumulate(weight[0] for weight in weights)]
        high = [0, *accumulate(weight[1] for weight in weights)]
        least, most = low[-1], high[-1] + rest
        return [(value << bits) // most for value in low], [-((-value << bits) // least) for value in high]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class BlockSampler:
    """The tables of one law. Built once, then only read: safe to share between threads."""

    law: Exponent
    blocks: int
    lower: list[int]  # 2**64 · Pr[cell < j], rounded down
    upper: list[int]  # … and rounded up
    lower_words: Words
    upper_words: Words
    guide: NDArray[np.uint16]  # by the first 16 bits of the uniform number: its cell, or 2·blocks where undecided
    first: NDArray[np.int64]  # by cell: the value at low = 0
    threshold: NDArray[np.uint16]  # by cell: a 16-bit toss below this accepts every low; 0 where undecided
    square_fixed: int  # 2**44 · square · 4**shift, rounded down
    linear_fixed: int  # 2**32 · linear · 2**shift, rounded down

    @staticmethod
    def build(law: Exponent, *, blocks: int) -> BlockSampler:
        """Tables that cover `blocks` blocks of each sign; what lies beyond is drawn without tables.

        Requires  blocks < 2**11 and, where shift > 0, square · 4**shift <= 2**-11, linear · 2**shift <= 2**-4,
                  (2·blocks + 3) · square · 4**shift <= 1/2: the fixed-point stage then stays inside 64 bits.
        """
        cells, size = 2 * blocks, 1 << law.shift
        square, linear = law.square * size * size, law.linear * size
        narrow = 2**11 * square <= 1 and 2**4 * linear <= 1 and 2 * (2 * blocks + 3) * square <= 1
        if blocks >= 2**11 or (law.shift and not narrow):
            raise InternalError("a law with blocks too wide for the fixed-point stage")
        lower, upper = law.bounds(blocks=blocks, bits=64)
        lower_words = np.array(lower, dtype=np.uint64)
        upper_words = np.array([min(value, 2**64 - 1) for value in upper], dtype=np.uint64)
        start = np.arange(1 << _GUIDE, dtype=np.uint64) << np.uint64(64 - _GUIDE)
        cell, decided = _invert(lower_words, upper_words, start, start + np.uint64((1 << (64 - _GUIDE)) - 1))
        # γ <= square·size·(size-1)·(2·block + 2) + linear·(size-1) for all of a cell, and exp(-γ) >= 1 - γ.
        square_up = -(-law.square * size * (size - 1) * _FIXED // 1)
        linear_up = -(-law.linear * (size - 1) * _FIXED // 1)
        gamma = np.array([square_up * (2 * block + 2) + linear_up for block in range(blocks)], dtype=np.int64)
        accept = np.clip((1 << 16) - 1 - (gamma >> 16), 0, None).astype(np.uint16)
        return BlockSampler(
            law=law,
            blocks=blocks,
            lower=lower,
            upper=upper,
            lower_words=lower_words,
            upper_words=upper_words,
            guide=np.where(decided, cell, cells).astype(np.uint16),
            first=np.array([law.value(j, 0) for j in range(cells)] + [0], dtype=np.int64),
            threshold=np.append(np.repeat(accept, 2), np.uint16(0)),
            square_fixed=int(square * (1 << 44)),
            linear_fixed=int(linear * _FIXED),
        )

    def draw(self, *, source: Source) -> int:
        """One draw."""
        while True:
            cell, low = self._cell(source.bits(64), source), source.bits(self.law.shift)
            if below_exp(self.law.excess(cell, low), toss=source.bits(64), source=source):
                return self.law.value(cell, low)

    def draws(self, *, size: int, source: Source) -> NDArray[np.int64]:
        """`size` independent draws."""
        if size < _FEW:
            return np.array([self.draw(source=source) for _ in range(size)], dtype=np.int64)
        out = np.empty(size, dtype=np.int64)
        done = 0
        while done < size:
            # A little more than is missing, so that one round usually makes up for what is rejected.
            missing = size - done
            made = self._propose(min(_CHUNK, missing + (missing >> 4) + 8 if self.law.shift else missing), source)
            taken = made[:missing]
            out[done : done + len(taken)] = taken
            done += len(taken)
        return out

    def _propose(self, count: int, source: Source) -> NDArray[np.int64]:
        """The accepted values of `count` proposals, in order."""
        if not self.law.shift:
            return self._propose_single_values(count, source)
        look, toss, low = _split(source, count, self.law.shift)
        cell = self.guide[look]
        values = self.first[cell] ^ low
        slow = np.flatnonzero(toss >= self.threshold[cell])
        if len(slow):
            kept = self._settle(values, slow, look[slow], toss[slow], low[slow], cell[slow], source)
            if not kept.all():
                values = np.delete(values, slow[~kept])
        return values

    def _propose_single_values(self, count: int, source: Source) -> NDArray[np.int64]:
        look = source.words((count + 3) >> 2).view(np.uint16)[:count]
        cell = self.guide[look]
        values = self.first[cell]
        unsettled = np.flatnonzero(cell == 2 * self.blocks)
        if len(unsettled):
            found, decided, words = self._cells(look[unsettled], source)
            values[unsettled] = self.first[found]
            for at, word in zip(unsettled[~decided], words[~decided], strict=True):
                values[at] = self.law.value(self._cell(int(word), source), 0)
        return values

    def _settle(
        self,
        values: NDArray[np.int64],
        at: NDArray[np.intp],
        look: NDArray[np.uint16],
        toss: NDArray[np.uint16],
        low: NDArray[np.int64],
        cell: NDArray[np.uint16],
        source: Source,
    ) -> NDArray[np.bool_]:
        """Decide the proposals the 16-bit looks left open: writes their values, returns which are accepted."""
        words = _lengthened(look, source)
        tosses = _lengthened(toss, source)
        cells = cell.astype(np.int64)
        decided = cells < 2 * self.blocks
        open_ = np.flatnonzero(~decided)
        cells[open_], decided[open_] = _invert(self.lower_words, self.upper_words, words[open_], words[open_])
        cells[~decided] = 2 * self.blocks
        values[at] = self.first[cells] ^ low
        surely, possibly = self._acceptance(cells, low)
        short = (tosses >> np.uint64(32)).astype(np.int64)
        kept = short < surely
        for i in np.flatnonzero(~decided | (~kept & (short < possibly))):
            exact_cell = int(cells[i]) if decided[i] else self._cell(int(words[i]), source)
            gamma = self.law.excess(exact_cell, int(low[i]))
            kept[i] = below_exp(gamma, toss=int(tosses[i]), source=source)
            values[at[i]] = self.law.value(exact_cell, int(low[i]))
        return kept

    def _cells(self, look: NDArray[np.uint16], source: Source) -> tuple[NDArray[np.int64], NDArray[np.bool_], Words]:
        """The cells of uniform numbers that begin with `look`, where 64 bits decide; and those 64 bits."""
        words = _lengthened(look, source)
        cell, decided = _invert(self.lower_words, self.upper_words, words, words)
        return cell, decided, words

    def _acceptance(
        self, cells: NDArray[np.int64], low: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """2**32 · exp(-γ), bounded from below and from above, for cells inside the table.

        With γ in [g, g + 16] units of 2**-32:  1 - γ + γ²/2 - γ³/6  <=  exp(-γ)  <=  1 - γ + γ²/2.
        """
        shift = self.law.shift
        part = low << (31 - shift) if shift <= 31 else low >> (shift - 31)  # low / 2**shift, in units of 2**-31
        twice = ((cells >> 1) << 21) + (part >> 11)  # 2·block + low/2**shift, in units of 2**-20
        if shift <= 21:
            twice += (cells & 1) << (21 - shift)
        product = (twice * part >> 31).astype(np.uint64)
        gamma = (product * np.uint64(self.square_fixed) >> np.uint64(32)).astype(np.int64)
        gamma += part * self.linear_fixed >> 31
        most = gamma + _SLACK
        square = most * most >> 32
        surely = _FIXED - most + (square >> 1) - ((square + 1) * most >> 32) // 6 - 2
        possibly = _FIXED - gamma + (gamma * gamma >> 33) + 1
        return surely, possibly

    def _cell(self, word: int, source: Source) -> int:
        """The cell of the uniform number that begins with the 64 bits `word`: exact, at any length."""
        cell = bisect_right(self.upper, word) - 1
        if cell < 2 * self.blocks and word < self.lower[cell + 1]:
            return cell
        bits = 64
        while True:
            word, bits = word << 64 | source.bits(64), bits + 64
            blocks = self.blocks * bits >> 5  # the tables leave less than 2**-66; these less than 2**-bits
            lower, upper = self.law.bounds(blocks=blocks, bits=bits)
            cell = bisect_right(upper, word) - 1
            if cell < 2 * blocks and word < lower[cell + 1]:
                return cell


def _invert(lower: Words, upper: Words, first: Words, last: Words) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The cell whose probability interval surely holds [first, last + 1), and whether there is one.

    Where there is none, the cell returned is one past the table.
    """
    beyond = len(lower) - 1
    cell = np.searchsorted(upper, first, side="right") - 1
    decided = (cell < beyond) & (last < lower[np.minimum(cell + 1, beyond)])
    return np.where(decided, cell, beyond), decided


def _lengthened(look: NDArray[np.uint16], source: Source) -> Words:
    """64-bit uniform numbers that begin with the 16 bits given."""
    return look.astype(np.uint64) << np.uint64(48) | source.words(len(look)) >> np.uint64(16)


def _split(source: Source, count: int, shift: int) -> tuple[NDArray[np.uint16], NDArray[np.uint16], NDArray[np.int64]]:
    """For each proposal 16 bits for the cell, 16 for the acceptance and `shift` for the value, all independent."""
    if shift <= 16:
        short = source.words((3 * count + 3) >> 2).view(np.uint16)
        low = (short[2 * count : 3 * count] >> np.uint16(16 - shift)).astype(np.int64)
        return short[:count], short[count : 2 * count], low
    short = source.words((count + 1) >> 1).view(np.uint16)
    if shift <= 32:
        long = source.words((count + 1) >> 1).view(np.uint32)[:count]
        return short[:count], short[count : 2 * count], (long >> np.uint32(32 - shift)).astype(np.int64)
    low = (source.words(count) >> np.uint64(64 - shift)).astype(np.int64)
    return short[:count], short[count : 2 * count], low
