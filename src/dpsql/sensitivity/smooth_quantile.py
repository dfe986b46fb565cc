"""Smooth sensitivity of quantiles, under both neighbour relations.

The q-quantile of n values is the one of rank max(1, ceil(q·n)); the median is q = 1/2, the lower of two middle values
for even n. Under add/remove the empty table, which has no quantile, is nobody's neighbour.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Final

import numpy as np

from dpsql.privacy.rounding import exact
from dpsql.privacy.unit import Neighbours, require_neighbours
from dpsql.require import Number, require_count, require_open_unit, require_that, unmet
from dpsql.sensitivity import aggregates
from dpsql.sensitivity.smooth import SmoothBound, require_beta
from dpsql.sensitivity.smooth_search import (
    MOST_ROWS,
    PRODUCT_ERROR,
    Doubles,
    best_around,
    best_window,
    padded,
    weights,
)
from dpsql.sensitivity.smooth_values import MOST_VALUES, Places, SortedColumn, Values, sorted_column

MOST_LISTED: Final = 2000
"""A^(k) for all k takes n² steps; the smooth sensitivity itself does not need the list."""

MOST_WINDOWS: Final = 4 * 10**8
_FIRST_REACH: Final = 64


def quantile_rank(*, quantile: Number, size: int) -> int:
    """The rank, counted from 1, of the q-quantile of `size` values: max(1, ceil(q·n)).

    Theorem   `dpsql.sensitivity.aggregates.rank`.
    Requires  0 < q < 1, 1 <= size <= 2**26.
    Rounds    nothing.
    """
    require_open_unit(quantile=quantile)
    require_count(size=size, at_most=MOST_VALUES)
    return aggregates.rank(q=quantile, rows=size)


def quantile_sensitivities(
    values: Values, *, quantile: Number, lower: Number, upper: Number, neighbours: Neighbours
) -> tuple[Fraction, ...]:
    """A^(0), A^(1), … of the q-quantile: for k = 0 … n under change-one, k = 0 … n+1 under add/remove.

    Theorem   docs/theorems/smooth_median.md: Theorem 1 (Nissim, Raskhodnikova, Smith 2007, Proposition 3.4, for any
              rank) and Theorem 4. The last entry is upper - lower, so none beyond is larger.
    Requires  1 to 2000 values inside [lower, upper], 0 < q < 1.
    Rounds    nothing.
    """
    require_neighbours(neighbours)
    ordered = sorted_column(values, lower=lower, upper=upper)
    size = ordered.size
    require_that(size <= MOST_LISTED, f"a list of sensitivities is made for at most {MOST_LISTED} values")
    rank = quantile_rank(quantile=quantile, size=size)
    x, unit = ordered.whole()
    if neighbours is Neighbours.CHANGE_ONE:
        return tuple(_widest_around(x, rank, distance) * unit for distance in range(size + 1))
    costs = RemovalCosts.between(exact(quantile), size, range(size + 1), range(size + 1))
    largest = [0] * (size + 2)
    for below in range(size + 1):
        for above, distance in enumerate(costs.row(below).tolist()):
            if distance <= size + 1:
                largest[distance] = max(largest[distance], x[size + 1 - above] - x[below])
    return tuple(gap * unit for gap in accumulate(largest, max))


def _widest_around(x: list[int], rank: int, distance: int) -> int:
    """max over t = 0 … k+1 of x_{m+t} - x_{m+t-k-1}, where x_i is lower below 1 and upper above n."""
    last = len(x) - 1
    return max(x[min(rank + t, last)] - x[max(rank + t - distance - 1, 0)] for t in range(distance + 2))


def quantile_smooth_sensitivity(
    values: Values, *, quantile: Number, lower: Number, upper: Number, beta: Number, neighbours: Neighbours
) -> SmoothBound:
    """The smooth sensitivity of the q-quantile.

    Theorem   docs/theorems/smooth_median.md: change-one Theorem 3, O(n log n); add/remove Theorem 5 for the median,
              O(n), and Theorem 4 for other quantiles, over the windows whose weight exp(-βk) can still matter.
    Requires  1 to 2**26 values inside [lower, upper]; 0 < q < 1; 0 <= β <= 64. Under add/remove and q other than
              1/2, at most 4·10**8 windows that matter (about 20 000 values, or any number with β above 0.01).
    Rounds    up: to the next double or, where many windows tie, by a relative 2**-42 at most; never below the
              constant (upper - lower)·2**-800.
    """
    require_neighbours(neighbours)
    require_beta(beta=beta)
    require_open_unit(quantile=quantile)
    q, rate = exact(quantile), exact(beta)
    ordered = sorted_column(values, lower=lower, upper=upper)
    if neighbours is Neighbours.CHANGE_ONE:
        return best_around(ordered, rank=quantile_rank(quantile=q, size=ordered.size), beta=rate)
    if q == Fraction(1, 2):
        low, high, distance = median_windows(ordered.size)
        return best_window(ordered, low=low, high=high, distance=distance, beta=rate)
    return _best_by_removal(ordered, quantile=q, beta=rate)


def median_windows(size: int) -> tuple[Places, Places, Places]:
    """Under add/remove: the ends (low, high) of the gap of the lower median that is widest at each distance.

    Theorem   docs/theorems/smooth_median.md, Theorem 5.
    Requires  1 <= size <= 2**26.
    Rounds    nothing.
    """
    require_count(size=size, at_most=MOST_VALUES)
    distance = np.arange(size)
    low = (size - distance) // 2  # ceil((n - k - 1) / 2) values stay below the gap
    high = size + 1 - (size - distance + 1) // 2  # ceil((n - k) / 2) stay above it
    return (  # the last two: all values above the gap gone and one put at the upper end, or all values gone
        np.append(low, [1, 0]),
        np.append(high, [size + 1, size + 1]),
        np.append(distance, [size, size + 1]),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RemovalCosts:
    """At which distance the gap above the i lowest and below the h highest values decides a quantile (add/remove).

    Theorem 4 of docs/theorems/smooth_median.md: n - 2(i + h) + s, where s is the smallest size of a table whose
    quantile crosses a gap with at least i values below it and at least h above. A table of size s crosses two gaps:
    one when a row arrives and one when a row goes; each gives its own s.
    """

    size: int
    first_below: int
    first_above: int
    below: tuple[Places, Places]
    above: tuple[Places, Places]

    @classmethod
    def between(cls, quantile: Fraction, size: int, below: range, above: range) -> RemovalCosts:
        """For i in `below` and h in `above`. Sizes over 2n + 2 cost more than the whole table and are cut there."""
        q, rest, most = quantile, 1 - quantile, 4 * size + 4
        return cls(
            size=size,
            first_below=below.start,
            first_above=above.start,
            below=(
                _table(min(most, max(1, i // q)) for i in below),
                _table(min(most, max(2, (i - 1) // q + 2 if i > 1 else 2)) for i in below),
            ),
            above=(
                _table(min(most, max(1, h, -(-h // rest) - 1)) for h in above),
                _table(min(most, max(2, h + 1, -(-(h - 1) // rest) + 1)) for h in above),
            ),
        )

    def row(self, below: int) -> Places:
        """The distances for this i and every h with i + h <= n, in the order of h."""
        count = min(len(self.above[0]), self.size - below - self.first_above + 1)
        place = below - self.first_below
        arrives, goes = (np.maximum(low[place], high[:count]) for low, high in zip(self.below, self.above, strict=True))
        heights = np.arange(self.first_above, self.first_above + count)
        found: Places = self.size - 2 * (below + heights) + np.minimum(arrives, goes)
        return found


def _best_by_removal(ordered: SortedColumn, *, quantile: Fraction, beta: Fraction) -> SmoothBound:
    """Windows within a reach K that doubles until exp(-βK)·(upper - lower) is below a value found."""
    size, reach = ordered.size, min(_FIRST_REACH, ordered.size + 1)
    rank = quantile_rank(quantile=quantile, size=size)
    while True:
        # Within distance K the rank moves by at most K + 1, and the values below the gap differ by at most K more.
        below = range(max(0, rank - 2 * reach - 1), min(size, rank + reach + 1) + 1)
        above = range(max(0, size - rank - 2 * reach - 1), min(size, size - rank + reach + 1) + 1)
        if len(below) * len(above) > MOST_WINDOWS:
            raise unmet(f"this quantile has more than {MOST_WINDOWS} windows to compare under add/remove")
        scale = weights(np.arange(reach + 1), beta=beta)
        costs = RemovalCosts.between(quantile, size, below, above)
        tops = np.array([_window_values(ordered, costs, row, scale)[0].max(initial=0.0) for row in below])
        best = float(tops.max())
        if reach > size or 2 * float(scale[-1]) <= best * (1 - PRODUCT_ERROR):
            break
        reach = min(2 * reach, size + 1)
    near = np.flatnonzero(tops >= best * (1 - PRODUCT_ERROR))
    crowded = len(near) > MOST_ROWS
    rows = [below[int(np.argmax(tops))]] if crowded else [below[place] for place in near.tolist()]
    parts = []
    for row in rows:
        found, high, distance = _window_values(ordered, costs, row, scale)
        keep = found >= best * (1 - PRODUCT_ERROR)
        parts.append((np.full(int(keep.sum()), row), high[keep], distance[keep]))
    low, high, distance = (np.concatenate(column_of) for column_of in zip(*parts, strict=True))
    decided = best_window(ordered, low=low, high=high, distance=distance, beta=beta)
    return padded(decided, by=2 * PRODUCT_ERROR) if crowded else decided


def _window_values(
    ordered: SortedColumn, costs: RemovalCosts, row: int, scale: Doubles
) -> tuple[Doubles, Places, Places]:
    """Weighted gaps, upper ends and distances of the windows above the `row` lowest values, within reach."""
    distance = costs.row(row)
    high = ordered.size + 1 - np.arange(costs.first_above, costs.first_above + len(distance))
    within = distance < len(scale)
    high, distance = high[within], distance[within]
    with np.errstate(under="ignore"):
        found: Doubles = ordered.gaps(np.full(len(high), row), high) * scale[distance]
    return found, high, distance


def _table(sizes: object) -> Places:
    return np.fromiter(sizes, dtype=np.int64)  # type: ignore[call-overload,no-any-return]


HALF: Final = Fraction(1, 2)


def median_sensitivities(
    values: Values, *, lower: Number, upper: Number, neighbours: Neighbours
) -> tuple[Fraction, ...]:
    """A^(0), A^(1), …: the largest local sensitivity of the lower median within distance k, until it is upper - lower.

    Theorem   change-one: Nissim, Raskhodnikova, Smith (2007), Proposition 3.4, max over t = 0 … k+1 of
              x_{m+t} - x_{m+t-k-1} with x_i = lower for i < 1 and upper for i > n. Add/remove:
              docs/theorems/smooth_median.md, Theorem 5. Takes n² steps.
    Requires  1 to 2000 values inside [lower, upper].
    Rounds    nothing.
    """
    return quantile_sensitivities(values, quantile=HALF, lower=lower, upper=upper, neighbours=neighbours)


def median_smooth_sensitivity(
    values: Values, *, lower: Number, upper: Number, beta: Number, neighbours: Neighbours
) -> SmoothBound:
    """The smooth sensitivity of the lower median, in O(n log n).

    Theorem   docs/theorems/smooth_median.md: change-one Theorem 3 (Nissim, Raskhodnikova, Smith 2007, section 3.1),
              add/remove Theorem 5, which leaves one window per distance.
    Requires  1 to 2**26 values inside [lower, upper]; 0 <= β <= 64.
    Rounds    up: to the next double or, where many windows tie, by a relative 2**-42 at most; never below the
              constant (upper - lower)·2**-800.
    """
    return quantile_smooth_sensitivity(
        values, quantile=HALF, lower=lower, upper=upper, beta=beta, neighbours=neighbours
    )
