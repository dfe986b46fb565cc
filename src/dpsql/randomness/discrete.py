"""Exact draws of discrete Laplace noise, Pr[x] ∝ exp(-|x| / scale), and Gaussian noise, Pr[x] ∝ exp(-x² / (2σ²)).

Tables of laws that are drawn from often are kept; larger scales are served by the samplers as their authors wrote them,
one draw at a time: short enough to check by eye, they are the yardstick the fast ones are tested against.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from fractions import Fraction
from math import isqrt
from threading import Lock
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsql.randomness.bernoulli import exp_coin
from dpsql.randomness.blocks import BlockSampler, Exponent
from dpsql.randomness.source import Source, uniform_below
from dpsql.require import require_count, require_positive

Integers: TypeAlias = NDArray[np.int64] | NDArray[np.object_]

WIDEST: Final = 2**44
"""Scales below this have tables, and their draws fit 64 bits up to a probability of exp(-2**19)."""

LARGEST_SIZE: Final = 2**32
"""More draws at once than memory holds are a mistake, not a request."""

_WORTHWHILE: Final = 128  # draws from one law after which building its tables has paid for itself
_ROOM: Final = 32  # laws remembered; tables take about 200 kB each


def discrete_laplace_draw(*, scale: Fraction, source: Source) -> int:
    """One draw with Pr[x] proportional to exp(-|x| / scale).

    Theorem   Canonne, Kamath, Steinke (2020), Algorithm 2, with scale = t / s.
    Requires  scale > 0, rational.
    Rounds    nothing: the draw is exact.
    """
    require_positive(scale=scale)
    t, s = scale.numerator, scale.denominator
    while True:
        low = uniform_below(t, source=source)
        if not exp_coin(low, t, source):
            continue
        high = 0
        while exp_coin(1, 1, source):
            high += 1
        magnitude = (low + t * high) // s
        negative = source.bits(1)
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


def discrete_gaussian_draw(*, sigma_squared: Fraction, source: Source) -> int:
    """One draw with Pr[x] proportional to exp(-x² / (2 sigma_squared)).

    Theorem   Canonne, Kamath, Steinke (2020), Algorithm 3: a discrete Laplace draw of scale t = floor(σ) + 1,
              accepted with probability exp(-(|y| - σ²/t)² / (2σ²)).
    Requires  sigma_squared > 0, rational.
    Rounds    nothing: the draw is exact.
    """
    require_positive(sigma_squared=sigma_squared)
    n, d = sigma_squared.numerator, sigma_squared.denominator
    t = isqrt(n // d) + 1
    while True:
        y = discrete_laplace_draw(scale=Fraction(t), source=source)
        if exp_coin((abs(y) * t * d - n) ** 2, 2 * n * d * t * t, source):
            return y


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
