"""Calibration by search: the smallest number that is enough, verified at the number itself."""

from __future__ import annotations

import math
from collections.abc import Callable

from dpsql.require import unmet


def smallest_float(enough: Callable[[float], bool], *, start: float = 1.0) -> float:
    """The smallest float x >= 0 with enough(x): 0 if that is enough, else found by doubling and halving.

    Theorem   halving keeps enough(high) and not enough(low), until no float lies between.
    Requires  enough is false up to some x and true from there on. Where it is not monotone the float returned is
              still one with enough(x), and the float below it one without.
    Rounds    up to a float; out of reach where no float is large enough.
    """
    if enough(0.0):
        return 0.0
    high = start
    while not enough(high):
        high *= 2
        if math.isinf(high):
            raise unmet("no floating-point number is large enough for these parameters")
    low = high / 2
    while low > 0 and enough(low):
        low, high = low / 2, low
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def smallest_integer(enough: Callable[[int], bool], *, guess: int) -> int:
    """The smallest integer m >= 0 with enough(m), found by steps of 1, 2, 4, … away from a guess, then by halving.

    Theorem   halving keeps enough(high) and not enough(low), until they are neighbours.
    Requires  enough is false below some m and true from there on; guess >= 0.
    Rounds    nothing.
    """
    step, low, high = 1, guess, guess  # in the end enough(high), and not enough(low) unless low is -1
    if enough(guess):
        low = guess - step
        while low >= 0 and enough(low):
            step, high, low = 2 * step, low, low - 2 * step
        low = max(low, -1)
    else:
        high = guess + step
        while not enough(high):
            step, low, high = 2 * step, high, high + 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
