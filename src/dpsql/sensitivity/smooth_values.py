"""A column as the theorems on order statistics see it: sorted, inside its bounds, exact, and fast to subtract."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsql.errors import BadParameter
from dpsql.privacy.rounding import exact
from dpsql.require import Number, require_bounds, require_finite, require_that, unmet
from dpsql.sensitivity.smooth import require_representable

Values: TypeAlias = Sequence[Number] | NDArray[Any]
Places: TypeAlias = NDArray[np.int64]

MOST_VALUES: Final = 2**26
"""Distances up to here times a 26-bit β are exact in doubles."""

_LARGEST_WHOLE: Final = 2**61  # differences of such numbers still fit 64 bits
_MOST_MIXED: Final = 10**6


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SortedColumn:
    """x_0 = lower, x_1 <= … <= x_n, x_{n+1} = upper, all multiples of `unit`. It has no printed form."""

    x: NDArray[Any]
    unit: Fraction

    def __repr__(self) -> str:
        return "SortedColumn(hidden)"

    @property
    def size(self) -> int:
        return len(self.x) - 2

    @property
    def width(self) -> Fraction:
        """upper - lower."""
        return self.gap(0, self.size + 1)

    def gap(self, low: int, high: int) -> Fraction:
        """x_high - x_low, exactly."""
        return (Fraction(self.x[high].item()) - Fraction(self.x[low].item())) * self.unit

    def gaps(self, low: Places, high: Places) -> NDArray[np.float64]:
        """x_high - x_low over upper - lower, up to a power of two and a relative 2**-52; at most 2."""
        return self.scaled(self.x[high] - self.x[low])

    def scaled(self, differences: NDArray[Any]) -> NDArray[np.float64]:
        """Differences of x brought to the range [0, 2], so that products with small weights do not underflow."""
        _, exponent = math.frexp(float(self.x[-1] - self.x[0]))
        scaled: NDArray[np.float64] = np.ldexp(np.asarray(differences, dtype=np.float64), 1 - exponent)
        return scaled

    def whole(self) -> tuple[list[int], Fraction]:
        """The same numbers as Python integers, and the unit they count."""
        if self.x.dtype.kind == "i":
            return self.x.tolist(), self.unit
        ratios = [value.as_integer_ratio() for value in self.x.tolist()]
        common = max(below for _, below in ratios)  # denominators of doubles are powers of two
        return [above * (common // below) for above, below in ratios], Fraction(1, common)


def sorted_column(values: Values, *, lower: Number, upper: Number) -> SortedColumn:
    """The values sorted between their bounds, as 64-bit integers or doubles without any rounding.

    Requires  at least one value, all finite and inside [lower, upper]; lower < upper.
    Rounds    nothing: what fits neither representation is refused.
    """
    require_bounds(lower=lower, upper=upper)
    require_representable(exact(upper) - exact(lower))
    require_that(1 <= len(values) <= MOST_VALUES, f"there must be from 1 to {MOST_VALUES} values")
    inside, unit = _represented(values, exact(lower), exact(upper))
    data = inside[1:-1]
    data.sort()  # in place: `inside` is our own copy; NaN goes to the end
    require_that(inside[0] <= data[0] and data[-1] <= inside[-1], "a value is outside its bounds, or not a number")
    return SortedColumn(inside, unit)


def _represented(values: Values, lower: Fraction, upper: Fraction) -> tuple[NDArray[Any], Fraction]:
    """lower, the values as they come, upper: in one array, with the unit they count."""
    array = _as_array(values)
    ends = (lower, upper)
    if array is None:
        return _on_a_grid(values, lower, upper)
    largest = math.inf if array.dtype.kind == "f" else max(abs(int(array.min())), abs(int(array.max())))
    if largest <= _LARGEST_WHOLE and all((end.denominator == 1 and abs(end) <= _LARGEST_WHOLE) for end in ends):
        return np.concatenate([[int(lower)], array, [int(upper)]], dtype=np.int64), Fraction(1)
    if (array.dtype.kind == "f" or largest <= 2**53) and all(_double(end) for end in ends):
        return np.concatenate([[float(lower)], array, [float(upper)]], dtype=np.float64), Fraction(1)
    return _on_a_grid(values, lower, upper)


def _as_array(values: Values) -> NDArray[Any] | None:
    """A vector of 64-bit integers or doubles that holds the values exactly, or None."""
    if isinstance(values, np.ndarray):
        if values.ndim != 1 or values.dtype.kind not in "iuf" or values.dtype.itemsize > 8:
            raise _no_column(f"an array of {values.ndim} dimensions and type {values.dtype}")
        if values.dtype.kind == "u" and int(values.max()) > _LARGEST_WHOLE:
            return None
        return values.astype(np.float64 if values.dtype.kind == "f" else np.int64, copy=False)
    kinds = set(map(type, values))
    if kinds == {float}:
        return np.array(values, dtype=np.float64)
    if kinds == {int} and min(values) >= -_LARGEST_WHOLE and max(values) <= _LARGEST_WHOLE:
        return np.array(values, dtype=np.int64)
    return None


def _on_a_grid(values: Values, lower: Fraction, upper: Fraction) -> tuple[NDArray[Any], Fraction]:
    """Mixed numbers (Decimal, Fraction, large integers): doubles if all are, else multiples of one unit."""
    if len(values) > _MOST_MIXED:
        raise _no_column(f"more than {_MOST_MIXED} numbers of mixed types")
    numbers = [lower, *(private_number(value) for value in values), upper]
    if all(_double(number) for number in numbers):
        return np.array([float(number) for number in numbers]), Fraction(1)
    common = 1
    for number in numbers:
        common = math.lcm(common, number.denominator)
        if common > _LARGEST_WHOLE:
            raise _no_column("values without a common unit")
    counts = [number.numerator * (common // number.denominator) for number in numbers]
    if max(map(abs, counts)) > _LARGEST_WHOLE:
        raise _no_column("values with too many digits")
    return np.array(counts, dtype=np.int64), Fraction(1, common)


def private_number(value: Any) -> Fraction:
    """The value as an exact rational, or a refusal that does not quote it."""
    if isinstance(value, np.generic):
        value = value.item()
    try:
        require_finite(value=value)
    except BadParameter:
        raise _no_column("something that is not a finite number") from None  # the value itself is private
    return exact(value)


def _double(number: Fraction) -> bool:
    try:
        return Fraction(float(number)) == number
    except OverflowError:
        return False


def _no_column(what: str) -> BadParameter:
    return unmet(f"values hold {what}")
