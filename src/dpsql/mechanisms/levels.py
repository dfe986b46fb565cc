"""One measurement at several levels of discrete Laplace noise: the finest is drawn first, the coarser ones follow.

Whoever is told a coarse level, and later a finer one, has been told no more than the finer one alone.
Proof: docs/theorems/top_up.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from dpsql.enclosure import exp_negative_fixed
from dpsql.errors import InternalError
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw, laplace_noise
from dpsql.mechanisms.table import NoisyTable, measured
from dpsql.privacy.exact import Exact
from dpsql.randomness import Source
from dpsql.randomness.uniform import LazyUniform


def measured_levels(
    rows: Exact[list[Any]], /, *, keys: int, levels: Sequence[Sequence[DiscreteLaplaceLaw]], source: Source
) -> tuple[NoisyTable, ...]:
    """The same numbers at every level, the coarsest first: each is x plus noise of its level.

    Theorem   docs/theorems/top_up.md: the coarser levels are functions of the finest and of noise that is independent
              of the data.
    Requires  levels of one law per number, each finer than the one before.
    Rounds    nothing.
    """
    finest = measured(rows, keys=keys, laws=levels[-1], source=source)
    found = [finest]
    for fine, coarse in zip(levels[:0:-1], levels[-2::-1], strict=True):
        found.append(_coarser(found[-1], fine, coarse, source))
    return tuple(reversed(found))


def _coarser(
    table: NoisyTable, fine: Sequence[DiscreteLaplaceLaw], coarse: Sequence[DiscreteLaplaceLaw], source: Source
) -> NoisyTable:
    size = len(table.values)
    added = [coarsening(fine=a, coarse=b, size=size, source=source) for a, b in zip(fine, coarse, strict=True)]
    values = tuple(
        tuple(number + more[place] for number, more in zip(row, added, strict=True))
        for place, row in enumerate(table.values)
    )
    return NoisyTable(keys=table.keys, values=values)


def coarsening(*, fine: DiscreteLaplaceLaw, coarse: DiscreteLaplaceLaw, size: int, source: Source) -> list[int]:
    """`size` independent draws of W: noise of the fine law plus W is noise of the coarse one.

    Theorem   docs/theorems/top_up.md: W is 0 by a coin of probability q(1-p)²/(p(1-q)²), else of the coarse law
              itself; p and q are the ratios of the coarse and of the fine law.
    Requires  a fine law of a smaller scale.
    Rounds    nothing: coin and noise are exact.
    """
    if fine.scale >= coarse.scale:
        raise InternalError(
            "a level of noise that is not finer than the one before",
            why="no noise could be added to it that makes it the coarser one",
            fix="report this with the SQL text; nothing was told",
        )
    bounds = coin_bounds(fine=fine.scale, coarse=coarse.scale)
    noises = laplace_noise(l1=1, epsilon=1 / coarse.scale, size=size, source=source)
    return [noise * (not LazyUniform(source).is_below(bounds)) for noise in noises]


def coin_bounds(*, fine: Fraction, coarse: Fraction) -> Callable[[int], tuple[int, int]]:
    """Integers around 2**bits · α for as many bits as asked for; α is the probability that nothing is added."""
    return partial(_coin_bounds, 1 / coarse, 1 / fine)


@lru_cache(maxsize=256)
def _coin_bounds(a: Fraction, b: Fraction, bits: int) -> tuple[int, int]:
    """α = exp(-(b - a)) · ((1 - exp(-a)) / (1 - exp(-b)))², enclosed."""
    work = bits + 32 + 2 * max(0, (1 / a).__ceil__().bit_length())  # 1 - exp(-a) is about a where a is small
    one = 1 << work
    (p_low, p_high), (q_low, q_high), (e_low, e_high) = (
        exp_negative_fixed(power, bits=work) for power in (a, b, b - a)
    )
    least = (e_low * (one - p_high) ** 2 << bits) // ((one - q_low) ** 2 << work)
    most = -((-(e_high * (one - p_low) ** 2) << bits) // ((one - q_high) ** 2 << work))
    return max(least, 0), min(most, 1 << bits)
