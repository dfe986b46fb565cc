"""Optimal composition of k equal releases: the exact price of k-fold randomized response, the worst of its kind."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsql.accounting.basic import survival
from dpsql.accounting.calibrate import smallest_within
from dpsql.accounting.limits import counted, priced_epsilon, slack
from dpsql.privacy.rounding import exact, round_down, round_up
from dpsql.require import Number, require_delta, require_that

LARGEST_K: Final = 1_000_000
"""Beyond, use zCDP: its price is within a percent or two of optimal there."""

_UNIT: Final = 2.0**-52
_NORMAL: Final = 1e-300
_TINY: Final = 1e-290  # more than LARGEST_K weights that are not normal floats


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimalPoint:
    """One (ε, δ) that k releases of (ε₀, δ₀) satisfy together, and that some k of them do not improve."""

    epsilon: float
    delta_i: float
    """The δ of the pure part: of k releases of (ε₀, 0)."""
    delta: float
    """The whole: 1 − (1 − δ₀)^k (1 − δ_i)."""
    i: int


def compose_optimal(*, k: int, epsilon: Number, delta: Number, i: int) -> OptimalPoint:
    """The i-th point of the optimal trade-off of k releases, each (ε, δ)-DP.

    Theorem   Kairouz, Oh, Viswanath (2015), Thm. 3.3: ε_i = (k − 2i) ε and
              δ_i = Σ_{l<i} C(k, l) (e^{(k−l)ε} − e^{(k−2i+l)ε}) / (1 + e^ε)^k.
    Requires  1 <= k <= 10**6, 0 <= i <= k/2, ε > 0; parameters fixed before the first release. Not a filter.
    Rounds    ε and δ up.
    """
    k = counted(k=k, at_most=LARGEST_K)
    i = counted(i=i, at_least=0, at_most=k // 2)
    size = priced_epsilon(epsilon=epsilon)
    require_delta(delta=delta)
    pure = _Response(k, size).delta(Fraction(i))
    return OptimalPoint(epsilon=round_up((k - 2 * i) * size), delta_i=pure, delta=_whole(k, exact(delta), pure), i=i)


def optimal_epsilon(*, k: int, epsilon: Number, delta: Number, target_delta: Number) -> float:
    """The smallest ε for which k releases of (ε₀, δ₀) are together (ε, target_delta)-DP: the exact curve, inverted.

    Theorem   Kairouz, Oh, Viswanath (2015); Murtagh, Vadhan (2016), Thm. 1.5: the curve between the points of
              `compose_optimal`, which never rises with ε.
    Requires  as `compose_optimal`, and a target that covers 1 − (1 − δ)^k.
    Rounds    up.
    """
    k = counted(k=k, at_most=LARGEST_K)
    size, room = priced_epsilon(epsilon=epsilon), _room(k, delta, target_delta)
    response = _Response(k, size)
    return smallest_within(
        lambda x: response.delta(_theta(k, size, exact(x))), limit=room, low=0.0, high=round_up(k * size)
    )


def _theta(k: int, epsilon: Fraction, total: Fraction) -> Fraction:
    """The number of lies l at which the loss (k − 2l) ε falls to `total`."""
    return max(Fraction(0), (k * epsilon - total) / (2 * epsilon))


def _room(k: int, delta: Number, target_delta: Number) -> float:
    """What the target leaves for the pure part, rounded down."""
    require_delta(delta=delta)
    target = slack(target_delta=target_delta) if target_delta else Fraction(0)
    alive = survival([(exact(delta), k)])
    room = 1 - (1 - target) / alive if alive else Fraction(-1)
    require_that(room >= 0, "enough to cover the δ of all releases", target_delta=target, releases=k)
    return round_down(room)


def _whole(k: int, delta: Fraction, pure: float) -> float:
    return round_up(1 - survival([(delta, k)]) * (1 - min(Fraction(1), exact(pure))))


class _Response:
    """k-fold randomized response: the weights of l lies under the true bits, from the likeliest l outwards."""

    __slots__ = ("_epsilon", "_error", "_first", "_weights")

    def __init__(self, k: int, epsilon: Fraction) -> None:
        self._epsilon = float(epsilon)
        shrink = math.exp(-self._epsilon)
        mode = min(k, int((k + 1) * (shrink / (1 + shrink))))
        up = np.arange(mode, k, dtype=np.float64)
        down = np.arange(mode, 0, -1, dtype=np.float64)
        growth = 1 / shrink if mode else 0.0  # a mode above 0 means e^ε <= k
        above = np.cumprod((k - up) / (up + 1) * shrink)
        below = np.cumprod(down / (k - down + 1) * growth)
        # Weights that left the normal floats are dropped; _TINY stands for all of them.
        above, below = above[above > _NORMAL], below[below > _NORMAL][::-1]
        weights: NDArray[np.float64] = np.concatenate((below, np.ones(1), above))
        total = float(weights.sum())
        self._first = mode - len(below)
        self._weights = weights / total
        # Each step away from the mode multiplies by a factor with a relative error of a few units.
        error = (6.0 * np.abs(np.arange(len(weights)) - len(below)) + 32.0) * _UNIT
        self._error = error + float((weights * error).sum()) / total + 32 * _UNIT

    def delta(self, theta: Fraction) -> float:
        """Σ_{l < θ} w_l (1 − e^{−2ε(θ − l)}), rounded up: the hockey-stick divergence at the loss of θ lies."""
        if theta <= 0:
            return 0.0
        whole = math.floor(theta)
        count = min(len(self._weights), whole + (theta > whole) - self._first)
        if count <= 0:
            return _TINY
        gaps = (whole - self._first - np.arange(count)) + float(theta - whole)  # whole numbers plus a part below 1
        terms = self._weights[:count] * -np.expm1(-2 * self._epsilon * gaps)
        value = float(terms.sum() + (terms * self._error[:count]).sum())  # pairwise sums: 20 levels at most
        return min(1.0, value * (1 + 32 * _UNIT) + _TINY)
