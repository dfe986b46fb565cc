"""Discrete Laplace draws: Pr[x] ∝ exp(-|x| / scale), exactly."""

from __future__ import annotations

from fractions import Fraction

from dpsql.randomness.blocks import Exponent
from dpsql.randomness.reference import discrete_laplace_draw
from dpsql.randomness.shelf import LARGEST_SIZE, SHELF, WIDEST, Integers, one_by_one
from dpsql.randomness.source import Source
from dpsql.require import require_count, require_positive


def discrete_laplace(*, scale: Fraction, size: int, source: Source) -> Integers:
    """`size` independent draws with Pr[x] proportional to exp(-|x| / scale).

    Theorem   docs/theorems/exact_samplers.md: every draw has exactly this law, given uniform bits.
    Requires  scale > 0, rational; size >= 0.
    Rounds    nothing. The array holds 64-bit integers, or Python integers where the scale is 2**44 or more.
    """
    require_positive(scale=scale)
    require_count(at_least=0, at_most=LARGEST_SIZE, size=size)
    scale = Fraction(scale)
    if scale < WIDEST:
        shift = max(int(scale / 16).bit_length() - 1, 0)  # blocks of at most a sixteenth of the scale
        law = Exponent(square=Fraction(0), linear=1 / scale, shift=shift)
        blocks = int(46 * scale / 2**shift) + 2  # exp(-46) < 2**-66 is left for the draws beyond the tables
        tables = SHELF.tables(law, blocks=blocks, draws=size)
        if tables is not None:
            return tables.draws(size=size, source=source)
    return one_by_one(lambda: discrete_laplace_draw(scale=scale, source=source), size=size, wide=scale >= WIDEST)
