"""The largest gap weighted by exp(-β · distance) among many windows of a sorted column, exactly and quickly.

Doubles find the few windows that can win, within a stated relative error; certified arithmetic decides among them.
Where more windows tie than can be decided, S is padded up by that error instead. See docs/theorems/smooth_median.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsql.privacy.rounding import round_up
from dpsql.sensitivity.smooth import SMALLEST_BOUND, SmoothBound, largest_weighted
from dpsql.sensitivity.smooth_values import MOST_VALUES, Places, SortedColumn

PRODUCT_ERROR: Final = 2.0**-47
"""Relative error of comparing two weighted gaps in doubles: each is off by at most 15 · 2**-53."""

SEARCH_ERROR: Final = 2.0**-44
"""The same after 26 levels of comparisons (Theorem 3): 26 · 16 · 2**-53 and the final products."""

FLOOR: Final = 2.0**-800
"""S is never below (upper - lower) · 2**-800: a constant, so smoothness stays, and no weight leaves the doubles."""

MOST_DECIDED: Final = 512
"""So many windows are compared exactly."""

MOST_ROWS: Final = 32
_RATE_BITS: Final = 26
_BLOCK: Final = 2**16  # products computed at once: few enough to stay in the processor's cache

Doubles = NDArray[np.float64]


def weights(distances: Places, *, beta: Fraction) -> Doubles:
    """exp(-β · distance) within 6 units of 2**-53, for distances below 2**26.

    The leading 26 bits of β times a distance are exact, so the argument of the large exponential has no error.
    """
    mantissa, exponent = math.frexp(float(beta))
    leading = math.ldexp(math.floor(math.ldexp(mantissa, _RATE_BITS)), exponent - _RATE_BITS)
    rest = float(beta - Fraction(leading))
    with np.errstate(under="ignore"):
        large: Doubles = np.exp(distances * -leading)
        large *= np.exp(distances * -rest)
    return large


def best_window(column: SortedColumn, *, low: Places, high: Places, distance: Places, beta: Fraction) -> SmoothBound:
    """The largest exp(-β·distance)·(x_high - x_low) of the windows listed.

    Theorem   a window below the best by more than the error of both cannot be the best.
    Requires  low < high and distance >= 0, elementwise.
    Rounds    up, to the next double, or by a relative 2**-46 if more than 512 windows tie; at least the floor.
    """
    longest = int(distance.max())
    if longest > _farthest(beta):
        within = distance <= _farthest(beta)
        low, high, distance = low[within], high[within], distance[within]
    found = np.empty(len(low))
    for start in range(0, len(low), _BLOCK):
        block = slice(start, start + _BLOCK)
        with np.errstate(under="ignore"):
            found[block] = column.gaps(low[block], high[block]) * weights(distance[block], beta=beta)
    best = float(found.max(initial=0.0))
    if best < FLOOR / 4:
        return _floor(column, distance=longest)
    near = np.flatnonzero(found >= best * (1 - PRODUCT_ERROR))
    crowded = len(near) > MOST_DECIDED
    keep = [int(np.argmax(found))] if crowded else near.tolist()
    decided = largest_weighted(
        [(int(distance[place]), column.gap(int(low[place]), int(high[place]))) for place in keep], beta=beta
    )
    return _at_least_floor(column, padded(decided, by=2 * PRODUCT_ERROR) if crowded else decided)


def best_around(column: SortedColumn, *, rank: int, beta: Fraction) -> SmoothBound:
    """The largest exp(-β(j-i-1))·(x_j - x_i) over all 0 <= i <= rank <= j <= n+1, i < j.

    Theorem   docs/theorems/smooth_median.md, Theorem 3: the best j does not fall as i rises, so that halving the
              rows and splitting the columns finds all row maxima in O(n log n).
    Requires  1 <= rank <= n.
    Rounds    as `best_window`, and by a relative 2**-43 if more than 32 rows tie.
    """
    start, limit = _first_guess(column, rank=rank, beta=beta)
    if start < FLOOR / 4:  # the best is at most twice the guess
        return _floor(column, distance=column.size)
    x, first, last = column.x, max(0, rank - limit), min(column.size + 1, rank + limit)
    # Of equal values only the one nearest to the rank can win.
    low = np.append(first + np.flatnonzero(x[first:rank] < x[first + 1 : rank + 1]), rank)
    high = np.append(rank, rank + 1 + np.flatnonzero(x[rank + 1 : last + 1] > x[rank:last]))
    outward = weights(high - rank, beta=beta)
    tops = _row_maxima(column, x[low], x[high], outward)
    tops *= weights(rank - low, beta=beta)
    rows = low[tops >= float(tops.max()) * (1 - SEARCH_ERROR)]
    crowded = len(rows) > MOST_ROWS
    if crowded:
        rows = low[[int(np.argmax(tops))]]
    windows = [_near_best(column, row, high, outward) for row in rows.tolist()]
    lows = np.repeat(rows, [len(found) for found in windows])
    highs = np.concatenate(windows)
    decided = best_window(column, low=lows, high=highs, distance=highs - lows - 1, beta=beta)
    return _at_least_floor(column, padded(decided, by=2 * SEARCH_ERROR)) if crowded else decided


def _first_guess(column: SortedColumn, *, rank: int, beta: Fraction) -> tuple[float, int]:
    """A value that is attained, scaled as `SortedColumn.gaps`, and how far from the rank a better window can end.

    The guess is at least half the best: x_j - x_i splits at the rank into two gaps with larger weights. A window of
    distance k is worth at most exp(-βk)·(upper - lower), so the far ones are left out unseen.
    """
    x, n = column.x, column.size
    far = min(n + 1, _farthest(beta))
    scale = weights(np.arange(far + 1), beta=beta)
    below = column.scaled(x[rank] - x[max(0, rank - far) : rank][::-1])  # windows that end at the rank,
    above = column.scaled(x[rank + 1 : rank + far + 1] - x[rank])  # that begin at it,
    both = min(len(below), len(above), (far + 1) // 2)  # and that reach as far to both sides
    start = max(
        float((below * scale[: len(below)]).max()),
        float((above * scale[: len(above)]).max()),
        float(((below[:both] + above[:both]) * scale[1 : 2 * both : 2]).max(initial=0.0)) * (1 - PRODUCT_ERROR),
    )
    if beta == 0 or start < FLOOR / 4:
        return start, n + 1
    decay = (math.log(2.0) - math.log(start)) * (1 + 1e-9) + 1e-9  # gaps are at most 2
    return start, min(n + 1, math.ceil(Fraction(decay) / beta) + 2)


def _farthest(beta: Fraction) -> int:
    """Beyond this distance any gap weighs less than the floor: 2·exp(-563) < FLOOR / 4."""
    return MOST_VALUES + 1 if beta * (MOST_VALUES + 1) <= 563 else math.ceil(563 / beta)


def _row_maxima(column: SortedColumn, low: NDArray[Any], high: NDArray[Any], outward: Doubles) -> Doubles:
    """max over j of (high_j - low_i) · outward_j for every i, level by level: rows halfway between known rows."""
    count, last = len(low), len(high) - 1
    size = 1 << count.bit_length()
    best_at = np.full(size + 1, last, dtype=np.int64)  # by row, counted from 1; rows outside are sentinels
    best_at[0] = 0
    tops = np.zeros(count)
    step = size // 2
    while step:
        every = np.arange(step, count + 1, 2 * step)
        first, final = best_at[every - step], best_at[np.minimum(every + step, count + 1)]
        ends = np.cumsum(final - first + 1)
        blocks = np.unique(np.searchsorted(ends, np.arange(_BLOCK, int(ends[-1]) + _BLOCK, _BLOCK)))
        for rows, begin, end in zip(
            np.split(every, blocks), np.split(first, blocks), np.split(final, blocks), strict=True
        ):
            if len(rows):
                top, best_at[rows] = _segment_maxima(column, low[rows - 1], high, outward, begin, end)
                tops[rows - 1] = top
        step //= 2
    return tops


def _segment_maxima(
    column: SortedColumn, low: NDArray[Any], high: NDArray[Any], outward: Doubles, first: Places, final: Places
) -> tuple[Doubles, Places]:
    """For each row its maximum over the columns first … final, and the first column that attains it."""
    lengths = final - first + 1
    offsets = np.cumsum(lengths) - lengths
    places = np.arange(int(lengths.sum())) + np.repeat(first - offsets, lengths)
    with np.errstate(under="ignore"):
        found = column.scaled(high[places] - np.repeat(low, lengths))
        found *= outward[places]
    tops: Doubles = np.maximum.reduceat(found, offsets)
    attained = np.flatnonzero(found == np.repeat(tops, lengths))
    return tops, places[attained[np.searchsorted(attained, offsets)]]


def _near_best(column: SortedColumn, row: int, high: Places, outward: Doubles) -> Places:
    """The ends j of the windows of one row that may be its best."""
    with np.errstate(under="ignore"):
        found = column.gaps(np.full(len(high), row), high) * outward
    near: Places = high[(found >= float(found.max()) * (1 - PRODUCT_ERROR)) & (high > row)]
    return near


def padded(decided: SmoothBound, *, by: float) -> SmoothBound:
    """The bound moved up by a share of itself, at the same distance."""
    bound = round_up(Fraction(decided.bound) * (1 + Fraction(by)))
    return SmoothBound(bound=bound, distance=decided.distance)


def _floor(column: SortedColumn, *, distance: int) -> SmoothBound:
    bound = round_up(max(column.width * Fraction(FLOOR), SMALLEST_BOUND))
    return SmoothBound(bound=bound, distance=distance)


def _at_least_floor(column: SortedColumn, decided: SmoothBound) -> SmoothBound:
    floor = _floor(column, distance=decided.distance)
    return floor if floor.bound > decided.bound else decided
