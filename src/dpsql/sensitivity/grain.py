"""The grain: every value becomes a whole number of grains before it is added up, so that no float meets the noise.

The grain is a function of the declared type and bounds alone: 1 for integers and booleans, else the largest power
of two that is at most (upper - lower) / 2**20. Queries measure decimal numbers in their last digit where the bounds
allow it: then `Grain` is given that size. The map from values to grains is total: it never raises, whatever
the rows hold, because an error that depends on a row is an answer about it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Final

import numpy as np

from dpsql.errors import BadParameter
from dpsql.privacy.digits import require_in_reach
from dpsql.privacy.rounding import exact
from dpsql.privacy.unit import Neighbours, require_neighbours
from dpsql.require import Number, require_bounds, require_positive

RESOLUTION: Final = 20
"""The range of a column is cut into at least 2**RESOLUTION grains."""

INNER_RESOLUTION: Final = 84
"""What is added up inside one person meets no noise, and has more room."""

_BEYOND: Final = 200  # a Decimal of 10**200 is beyond all bounds, one of 10**-200 below half of every grain


def column_grain(*, lower: Number, upper: Number, whole: bool) -> Grain:
    """The grain of a column with these bounds; `whole` for integers and booleans.

    Theorem   docs/theorems/grain.md. Whole numbers: 1, and the bounds move inward to whole numbers.
    Requires  finite bounds, lower < upper.
    Rounds    down to a power of two: at least 2**20 grains to the range.
    """
    require_bounds(lower=lower, upper=upper)
    require_in_reach(lower=lower, upper=upper)
    least, most = exact(lower), exact(upper)
    if not whole:
        return Grain(lower=least, upper=most, size=power_of_two_below((most - least) / 2**RESOLUTION))
    if math.ceil(least) >= math.floor(most):
        raise BadParameter(
            f"fewer than two whole numbers lie between lower={lower!r} and upper={upper!r}",
            why="a column of whole numbers with these bounds has nothing to tell",
            fix="widen the bounds, or declare the column as one of real numbers",
        )
    return Grain(lower=Fraction(math.ceil(least)), upper=Fraction(math.floor(most)), size=Fraction(1))


def inner_grain(*, lower: Number, upper: Number) -> Grain:
    """The grain of what is added up inside one person and meets no noise: only the order of addition must not tell.

    Theorem   docs/theorems/grain.md. Every value is below 2^85 grains, so that 2^40 of them add up in 128 bits.
    Requires  finite bounds, lower < upper.
    Rounds    a double of 53 bits not at all, unless it is less than 2^-32 of the larger bound.
    """
    require_bounds(lower=lower, upper=upper)
    require_in_reach(lower=lower, upper=upper)
    least, most = exact(lower), exact(upper)
    return Grain(lower=least, upper=most, size=power_of_two_below(max(abs(least), abs(most)) / 2**INNER_RESOLUTION))


def power_of_two_below(size: Number) -> Fraction:
    """The largest power of two that is at most `size`.

    Theorem   a number of bit length n lies in [2^(n-1), 2^n), so a quotient of lengths n and d lies in
              (2^(n-d-1), 2^(n-d+1)): two candidates.
    Requires  size > 0.
    Rounds    down.
    """
    require_positive(size=size)
    require_in_reach(size=size)
    limit = exact(size)
    power = Fraction(2) ** (limit.numerator.bit_length() - limit.denominator.bit_length())
    return power if power <= limit else power / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Grain:
    """Bounds and the size of a grain, and what the bounds are in whole grains: `low` and `high`."""

    lower: Fraction
    upper: Fraction
    size: Fraction
    low: int = field(init=False)
    high: int = field(init=False)

    def __post_init__(self) -> None:
        require_bounds(lower=self.lower, upper=self.upper)
        require_positive(size=self.size)
        require_in_reach(lower=self.lower, upper=self.upper, size=self.size)
        size = exact(self.size)
        low, high = _nearest(exact(self.lower), size), _nearest(exact(self.upper), size)
        if low >= high:
            raise BadParameter(
                f"a grain of {size} is too coarse for bounds {self.lower} and {self.upper}",
                why="every value would become the same number of grains",
                fix="choose a smaller grain or wider bounds",
            )
        for name, value in (("low", low), ("high", high), ("size", size)):
            object.__setattr__(self, name, value)

    def to_grains(self, value: object) -> int | None:
        """The value as a whole number of grains between `low` and `high`; None where there is no value.

        Theorem   docs/theorems/grain.md. No value: None, NaN, ±infinity, and whatever is not a real number. Else the
                  value is divided by the grain, rounded to nearest (halves away from 0, as SQL's ROUND does) and
                  clamped. Rounding never swaps two numbers, so this equals clamping first.
        Requires  nothing: the function is total.
        Rounds    to nearest: a value inside the bounds moves by at most half a grain.
        """
        ratio = _real(value)
        return None if ratio is None else min(max(_nearest(ratio, self.size), self.low), self.high)

    def from_grains(self, grains: int) -> Fraction:
        """A whole number of grains in the units of the column, exactly. Post-processing, after the noise."""
        return grains * self.size

    def sum_sensitivity(self, *, neighbours: Neighbours, every_unit_contributes: bool) -> int:
        """How far one unit with one value moves the sum, in grains.

        Theorem   docs/theorems/grain.md: add_remove  max(|low|, |high|);  change_one  high - low where every unit
                  contributes a value between them, else the same for the range widened to include 0.
        Requires  every_unit_contributes only where a missing value still counts as something between the bounds.
        Rounds    nothing.
        """
        require_neighbours(neighbours)
        if neighbours is Neighbours.ADD_REMOVE:
            return max(abs(self.low), abs(self.high))
        return self.high - self.low if every_unit_contributes else max(self.high, 0) - min(self.low, 0)


def _nearest(ratio: Fraction | tuple[int, int], size: Fraction) -> int:
    """The nearest whole number of grains, halves away from 0. Integers only: this runs once per row."""
    numerator, denominator = ratio.as_integer_ratio() if isinstance(ratio, Fraction) else ratio
    above, below = numerator * size.denominator, denominator * size.numerator
    grains = (2 * abs(above) + below) // (2 * below)
    return grains if above >= 0 else -grains


def _real(value: object) -> tuple[int, int] | None:
    """A finite real number as numerator and denominator, None for everything else."""
    if isinstance(value, np.generic):
        # A date is no number although numpy would turn it into one; a long double has no Python form but a Fraction.
        dated = isinstance(value, (np.datetime64, np.timedelta64))
        value = None if dated else _long_double(value) if isinstance(value, np.longdouble) else value.item()
    if isinstance(value, float):
        return value.as_integer_ratio() if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return _decimal_ratio(value) if value.is_finite() else None
    return (int(value.numerator), int(value.denominator)) if isinstance(value, Rational) else None


def _long_double(value: np.longdouble) -> Fraction | None:
    return Fraction(*value.as_integer_ratio()) if np.isfinite(value) else None


def _decimal_ratio(value: Decimal) -> tuple[int, int]:
    """Exact where it matters; 10**(10**9) and its inverse would take for ever to write out."""
    if value.is_zero() or value.adjusted() < -_BEYOND:
        return 0, 1
    if value.adjusted() > _BEYOND:
        return (-(10**_BEYOND) if value.is_signed() else 10**_BEYOND), 1
    return value.as_integer_ratio()
