"""Discrete Gaussian draws: Pr[x] ∝ exp(-x² / (2σ²)), exactly."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from dpsql.randomness.blocks import Exponent
from dpsql.randomness.reference import discrete_gaussian_draw
from dpsql.randomness.shelf import LARGEST_SIZE, SHELF, WIDEST, Integers, one_by_one
from dpsql.randomness.source import Source
from dpsql.require import require_count, require_positive


def discrete_gaussian(*, sigma_squared: Fraction, size: int, source: Source) -> Integers:
    """`size` independent draws with Pr[x] proportional to exp(-x² / (2 sigma_squared)).

    Theorem   docs/theorems/exact_samplers.md: every draw has exactly this law, given uniform bits.
    Requires  sigma_squared > 0, rational; size >= 0.
    Rounds    nothing. The array holds 64-bit integers, or Python integers where σ is 2**44 or more.
    """
    require_positive(sigma_squared=sigma_squared)
    require_count(at_least=0, at_most=LARGEST_SIZE, size=size)
    sigma_squared = Fraction(sigma_squared)
    sigma = isqrt(int(sigma_squared)) + 1  # at most 1 too large
    if sigma < WIDEST:
        shift = max((isqrt(int(sigma_squared)) // 32).bit_length() - 1, 0)  # blocks of at most σ / 32
        law = Exponent(square=1 / (2 * sigma_squared), linear=Fraction(0), shift=shift)
        blocks = (77 * sigma >> shift + 3) + 2  # exp(-(77/8)² / 2) < 2**-66 is left for the draws beyond the tables
        tables = SHELF.tables(law, blocks=blocks, draws=size)
        if tables is not None:
            return tables.draws(size=size, source=source)
    return one_by_one(
        lambda: discrete_gaussian_draw(sigma_squared=sigma_squared, source=source), size=size, wide=sigma >= WIDEST
    )
