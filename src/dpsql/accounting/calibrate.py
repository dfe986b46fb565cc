"""Turning a price around: the largest budget per question whose total stays within a target."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction

from dpsql.accounting.limits import LARGEST_EPSILON, SMALLEST_EPSILON, priced_epsilon
from dpsql.errors import BadParameter
from dpsql.privacy.events import Event
from dpsql.privacy.rounding import exact, round_down
from dpsql.require import Number, require_finite, require_that, unmet


def largest_within(price: Callable[[float], float], *, limit: float, low: float, high: float) -> float:
    """The largest float x in [low, high] with price(x) <= limit.

    Theorem   bisection over the floats between low and high, in at most 64 steps.
    Requires  price is non-decreasing; 0 <= low <= high; price(low) <= limit.
    Rounds    down: the price of the value returned was computed and is within the limit.
    """
    require_finite(limit=limit, low=low, high=high)
    require_that(0 <= low <= high, "in order, from 0 on", low=low, high=high)
    require_that(price(low) <= limit, "a value that costs no more than the limit", low=low, limit=limit)
    if price(high) <= limit:
        return high
    good, bad = _ordinal(low), _ordinal(high)
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if price(_float(middle)) <= limit else (good, middle)
    return _float(good)


def smallest_within(price: Callable[[float], float], *, limit: float, low: float, high: float) -> float:
    """The smallest float x in [low, high] with price(x) <= limit.

    Theorem   as `largest_within`, for a price that never rises.
    Requires  price is non-increasing; 0 <= low <= high; price(high) <= limit.
    Rounds    up: the price of the value returned was computed and is within the limit.
    """
    require_finite(limit=limit, low=low, high=high)
    if price(low) <= limit:
        return low
    if not 0 <= low <= high or not price(high) <= limit:
        raise unmet(f"no value from {low!r} to {high!r} costs at most {limit!r}")
    bad, good = _ordinal(low), _ordinal(high)
    while good - bad > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if price(_float(middle)) <= limit else (good, middle)
    return _float(good)


def largest_budget(
    event_at: Callable[[Fraction], Event],
    *,
    price: Callable[..., float],
    target_epsilon: Number,
    delta: Number,
) -> float:
    """The largest x for which the history `event_at(x)` costs at most the target by the accountant `price`.

    Theorem   `largest_within`, with the accountant's own rounding: the answer is sound wherever the accountant is.
    Requires  event_at(x) costs more for larger x, such as Composed of k events of ε = x.
    Rounds    down.
    """
    target = priced_epsilon(target_epsilon=target_epsilon)

    low, high = round_down(SMALLEST_EPSILON), round_down(LARGEST_EPSILON)
    price(event_at(exact(low)), delta=delta)  # a refusal here concerns the history or δ, not its size: let it out

    def cost(x: float) -> float:
        try:
            return price(event_at(exact(x)), delta=delta)
        except BadParameter:  # beyond the range in which the theorem is computed
            return math.inf

    return largest_within(cost, limit=round_down(target), low=low, high=high)


def _ordinal(value: float) -> int:
    """The place of a non-negative float among all non-negative floats."""
    return int(struct.unpack("<q", struct.pack("<d", abs(value)))[0])


def _float(ordinal: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", ordinal))[0])
