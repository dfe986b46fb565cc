"""Value ranges of expressions, exact: numbers as they are, booleans 0 and 1, dates as days, timestamps as microseconds.

A range speaks of values that are there: NULL is outside of every interval, so "NULL or inside" is all a range ever
says. Overflow, NaN and infinities are NULL (rule 6), so they never widen a range.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpsql.catalog.types import SqlType


@dataclass(frozen=True, slots=True)
class Interval:
    """All values from `low` to `high`; None is without end. NULL is outside of every interval."""

    low: Fraction | None
    high: Fraction | None

    @property
    def bounded(self) -> bool:
        return self.low is not None and self.high is not None

    def contains(self, value: Fraction | int) -> bool:
        return (self.low is None or self.low <= value) and (self.high is None or value <= self.high)

    def within(self, other: Interval) -> bool:
        """Every value of this one is in the other."""
        return (other.low is None or (self.low is not None and other.low <= self.low)) and (
            other.high is None or (self.high is not None and self.high <= other.high)
        )

    def union(self, other: Interval) -> Interval:
        """The smallest interval around both."""
        low = None if self.low is None or other.low is None else min(self.low, other.low)
        high = None if self.high is None or other.high is None else max(self.high, other.high)
        return Interval(low, high)

    def intersect(self, other: Interval) -> Interval:
        """What both allow. Two that exclude each other leave the point of this one nearest to the other.

        No value satisfies both, so any interval is true; a point keeps low <= high for whoever computes with it.
        """
        low = self.low if other.low is None else other.low if self.low is None else max(self.low, other.low)
        high = self.high if other.high is None else other.high if self.high is None else min(self.high, other.high)
        if low is not None and high is not None and low > high:
            return Interval(high, high) if high == self.high else Interval(low, low)
        return Interval(low, high)

    def mapped(self, function: Callable[[Fraction], Fraction | None]) -> Interval:
        """The image under a function that never falls as its argument grows; None is beyond the ends."""
        low = None if self.low is None else function(self.low)
        high = None if self.high is None else function(self.high)
        return Interval(low, high)

    def negated(self) -> Interval:
        return Interval(
            None if self.high is None else -self.high,
            None if self.low is None else -self.low,
        )

    def absolute(self) -> Interval:
        if self.low is not None and self.low >= 0:
            return self
        if self.high is not None and self.high <= 0:
            return self.negated()
        high = None if self.low is None or self.high is None else max(-self.low, self.high)
        return Interval(Fraction(0), high)

    def add(self, other: Interval) -> Interval:
        low = None if self.low is None or other.low is None else self.low + other.low
        high = None if self.high is None or other.high is None else self.high + other.high
        return Interval(low, high)

    def sub(self, other: Interval) -> Interval:
        return self.add(other.negated())

    def mul(self, other: Interval) -> Interval:
        ends = other._ends()
        return _hull([_times(a, b) for a in self._ends() for b in ends])

    def div(self, other: Interval) -> Interval:
        """Quotients; without ends where the divisor may be 0 or as near to it as it likes."""
        if other.contains(0):
            return EVERYTHING
        return self.mul(Interval(_inverse(other.high), _inverse(other.low)))

    def _ends(self) -> tuple[Fraction | float, Fraction | float]:
        return (-math.inf if self.low is None else self.low), (math.inf if self.high is None else self.high)


def _times(a: Fraction | float, b: Fraction | float) -> Fraction | float:
    """The product of two ends. Values are finite, so 0 times an open end is 0."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a * b
    if a == 0 or b == 0:
        return Fraction(0)
    return math.inf if (a > 0) == (b > 0) else -math.inf


def _hull(ends: list[Fraction | float]) -> Interval:
    low, high = min(ends), max(ends)
    return Interval(low if isinstance(low, Fraction) else None, high if isinstance(high, Fraction) else None)


def _inverse(end: Fraction | None) -> Fraction:
    """1/end; towards an open end the inverse goes to 0."""
    return Fraction(0) if end is None else 1 / end


EVERYTHING: Final = Interval(None, None)
ZERO: Final = Interval(Fraction(0), Fraction(0))
TRUTH: Final = Interval(Fraction(0), Fraction(1))
_LOWEST: Final = Fraction(-(2**63))
_HIGHEST: Final = Fraction(2**63 - 1)
INT64: Final = Interval(_LOWEST, _HIGHEST)
LARGEST_DOUBLE: Final = Fraction(int(1.7976931348623157e308))
DOUBLES: Final = Interval(-LARGEST_DOUBLE, LARGEST_DOUBLE)
DAYS: Final = Interval(Fraction(-719_162), Fraction(2_932_896))
"""0001-01-01 to 9999-12-31, counted from 1970-01-01."""
MICROSECONDS_PER_DAY: Final = 86_400_000_000
MICROSECONDS: Final = Interval(
    Fraction(-719_162 * MICROSECONDS_PER_DAY), Fraction(2_932_897 * MICROSECONDS_PER_DAY - 1)
)

_TYPE_RANGES: Final = {
    SqlType.BOOLEAN: TRUTH,
    SqlType.INTEGER: INT64,
    SqlType.DOUBLE: DOUBLES,
    SqlType.TEXT: EVERYTHING,
    SqlType.DATE: DAYS,
    SqlType.TIMESTAMP: MICROSECONDS,
}


def type_range(type_: SqlType) -> Interval:
    """Every value the type can hold. Not a bound anybody would pay for: ranges leave the ends open instead."""
    return _TYPE_RANGES[type_]


def typed(interval: Interval, type_: SqlType) -> Interval:
    """The interval with open ends closed by the type."""
    return type_range(type_).intersect(interval)


def nearest_double(value: Fraction) -> Fraction | None:
    """The double nearest to `value`, ties to even, as IEEE arithmetic rounds; None: beyond the largest."""
    try:
        return Fraction(float(value))
    except OverflowError:
        return None


def rounded(exact: Interval) -> Interval:
    """Where the result of one correctly rounded operation lies whose exact result lies in `exact`.

    Rounding to nearest never reverses an order, so the rounded ends enclose every rounded value: no slack is needed.
    """
    return exact.mapped(nearest_double)


_SLACK: Final = Fraction(1, 2**45)
_SMALLEST: Final = Fraction(1, 2**1074)


def widened(exact: Interval) -> Interval:
    """As `rounded`, for the functions of the mathematics library, which err by a few units in the last place.

    2**-45 of the value are 256 such units; the smallest double covers results that are nearly 0. An end at 0 stays:
    no library gives a result the wrong sign.
    """
    return rounded(Interval(_moved(exact.low, -1), _moved(exact.high, 1)))


def _moved(end: Fraction | None, direction: int) -> Fraction | None:
    return end if not end else end + direction * (abs(end) * _SLACK + _SMALLEST)


def integers(interval: Interval) -> Interval:
    """Of a whole number that became NULL beyond 64 bits: finite ends are cut there, open ends stay open."""
    low = None if interval.low is None else _cut(interval.low)
    high = None if interval.high is None else _cut(interval.high)
    return Interval(low, high)


def _cut(end: Fraction) -> Fraction:
    return min(max(end, _LOWEST), _HIGHEST)
