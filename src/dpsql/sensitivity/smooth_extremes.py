"""Smooth sensitivity of the minimum, the maximum and the range, under both neighbour relations.

At each distance at most four windows can be the widest, so all three cost O(n) after sorting. Under add/remove the
empty table is nobody's neighbour; the range of one value is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate
from typing import TypeAlias

import numpy as np

from dpsql.privacy.rounding import exact
from dpsql.privacy.unit import Neighbours, require_neighbours
from dpsql.require import Number, unmet
from dpsql.sensitivity.smooth import SmoothBound, require_beta
from dpsql.sensitivity.smooth_search import best_window
from dpsql.sensitivity.smooth_values import Places, SortedColumn, Values, sorted_column

Windows: TypeAlias = tuple[Places, Places, Places]  # low, high, distance


def minimum_windows(*, size: int, neighbours: Neighbours) -> Windows:
    """The gaps (x_low, x_high) that can be the local sensitivity of the minimum, and the distance of each.

    Theorem   docs/theorems/smooth_median.md, Theorems 1 and 6. Change-one: x_{k+1} - lower and x_{k+2} - x_1.
              Add/remove: the same up to x_n, then upper - x_1 at n and upper - lower at n + 1.
    Requires  size >= 1.
    Rounds    nothing.
    """
    require_neighbours(neighbours)
    if neighbours is Neighbours.CHANGE_ONE:
        from_lower, from_first = np.arange(1, size + 2), np.arange(2, size + 2)
        late: list[tuple[int, int, int]] = []
    else:
        from_lower, from_first = np.arange(1, size + 1), np.arange(2, size + 1)
        late = [(1, size + 1, size), (0, size + 1, size + 1)]
    ends = np.array(late, dtype=np.int64).reshape(-1, 3).T
    return (
        np.concatenate([np.zeros_like(from_lower), np.ones_like(from_first), ends[0]]),
        np.concatenate([from_lower, from_first, ends[1]]),
        np.concatenate([from_lower - 1, from_first - 2, ends[2]]),
    )


def maximum_windows(*, size: int, neighbours: Neighbours) -> Windows:
    """The same for the maximum: the mirror image.

    Theorem   the maximum of the values is minus the minimum of their negatives.
    Requires  size >= 1.
    Rounds    nothing.
    """
    low, high, distance = minimum_windows(size=size, neighbours=neighbours)
    return size + 1 - high, size + 1 - low, distance


def range_windows(*, size: int, neighbours: Neighbours) -> Windows:
    """The same for maximum - minimum: the windows of both.

    Theorem   docs/theorems/smooth_median.md, Theorem 6: one row moves the range at one end at a time, so its A^(k)
              is the larger of the two.
    Requires  at least 2 values under change-one, where the range of one value is always 0.
    Rounds    nothing.
    """
    if size < 2 and neighbours is Neighbours.CHANGE_ONE:
        raise unmet("the range of one value has no sensitivity under change-one")
    both = zip(
        minimum_windows(size=size, neighbours=neighbours),
        maximum_windows(size=size, neighbours=neighbours),
        strict=True,
    )
    low, high, distance = (np.concatenate(pair) for pair in both)
    return low, high, distance


def minimum_sensitivities(
    values: Values, *, lower: Number, upper: Number, neighbours: Neighbours
) -> tuple[Fraction, ...]:
    """A^(0), A^(1), … of the minimum: for k = 0 … n under change-one, k = 0 … n+1 under add/remove.

    Theorem   as `minimum_windows`. The last entry is upper - lower.
    Requires  at least one value inside [lower, upper].
    Rounds    nothing.
    """
    return _sensitivities(minimum_windows, sorted_column(values, lower=lower, upper=upper), neighbours)


def maximum_sensitivities(
    values: Values, *, lower: Number, upper: Number, neighbours: Neighbours
) -> tuple[Fraction, ...]:
    """A^(0), A^(1), … of the maximum. See `minimum_sensitivities`.

    Theorem   as `maximum_windows`.
    Requires  at least one value inside [lower, upper].
    Rounds    nothing.
    """
    return _sensitivities(maximum_windows, sorted_column(values, lower=lower, upper=upper), neighbours)


def range_sensitivities(
    values: Values, *, lower: Number, upper: Number, neighbours: Neighbours
) -> tuple[Fraction, ...]:
    """A^(0), A^(1), … of maximum - minimum. See `minimum_sensitivities`.

    Theorem   as `range_windows`.
    Requires  at least one value inside [lower, upper], two under change-one.
    Rounds    nothing.
    """
    return _sensitivities(range_windows, sorted_column(values, lower=lower, upper=upper), neighbours)


def minimum_smooth_sensitivity(
    values: Values, *, lower: Number, upper: Number, beta: Number, neighbours: Neighbours
) -> SmoothBound:
    """The smooth sensitivity of the minimum.

    Theorem   as `minimum_windows`.
    Requires  1 to 2**26 values inside [lower, upper]; 0 <= β <= 64.
    Rounds    up: to the next double or, where many windows tie, by a relative 2**-42 at most; never below the
              constant (upper - lower)·2**-800.
    """
    return _smooth(minimum_windows, sorted_column(values, lower=lower, upper=upper), neighbours, beta)


def maximum_smooth_sensitivity(
    values: Values, *, lower: Number, upper: Number, beta: Number, neighbours: Neighbours
) -> SmoothBound:
    """The smooth sensitivity of the maximum.

    Theorem   as `maximum_windows`.
    Requires  1 to 2**26 values inside [lower, upper]; 0 <= β <= 64.
    Rounds    as `minimum_smooth_sensitivity`.
    """
    return _smooth(maximum_windows, sorted_column(values, lower=lower, upper=upper), neighbours, beta)


def range_smooth_sensitivity(
    values: Values, *, lower: Number, upper: Number, beta: Number, neighbours: Neighbours
) -> SmoothBound:
    """The smooth sensitivity of maximum - minimum.

    Theorem   as `range_windows`.
    Requires  1 to 2**26 values inside [lower, upper], at least 2 under change-one; 0 <= β <= 64.
    Rounds    as `minimum_smooth_sensitivity`.
    """
    return _smooth(range_windows, sorted_column(values, lower=lower, upper=upper), neighbours, beta)


def _sensitivities(
    windows: Callable[..., Windows], ordered: SortedColumn, neighbours: Neighbours
) -> tuple[Fraction, ...]:
    low, high, distance = windows(size=ordered.size, neighbours=neighbours)
    largest = [Fraction(0)] * (int(distance.max()) + 1)
    for i, j, k in zip(low.tolist(), high.tolist(), distance.tolist(), strict=True):
        largest[k] = max(largest[k], ordered.gap(i, j))
    return tuple(accumulate(largest, max))


def _smooth(
    windows: Callable[..., Windows], ordered: SortedColumn, neighbours: Neighbours, beta: Number
) -> SmoothBound:
    require_beta(beta=beta)
    low, high, distance = windows(size=ordered.size, neighbours=neighbours)
    return best_window(ordered, low=low, high=high, distance=distance, beta=exact(beta))
