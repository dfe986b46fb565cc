"""Turning a price around: the largest or the smallest float whose price stays within a limit."""

from __future__ import annotations

import struct
from collections.abc import Callable

from dpsql.require import require_finite, require_that, unmet


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


def _ordinal(value: float) -> int:
    """The place of a non-negative float among all non-negative floats."""
    return int(struct.unpack("<q", struct.pack("<d", abs(value)))[0])


def _float(ordinal: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", ordinal))[0])
