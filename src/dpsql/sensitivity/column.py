"""The declared range of a column: without one, a single row could move an answer by any amount."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import InitVar, dataclass, field
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from math import isfinite
from numbers import Real
from typing import Any, TypeAlias

from dpsql.errors import Unbounded
from dpsql.privacy.rounding import exact
from dpsql.require import Number, require_bounds, require_that, require_type, unmet

Bounds: TypeAlias = tuple[Number | None, Number | None]
"""(lower, upper). None and infinities say that a side has no limit, and are refused where a limit is needed."""


class Outside(Enum):
    """What becomes of a value outside the declared range. Chosen by the owner, before any value is seen."""

    CLAMP = "clamp"
    """It counts as the nearest bound: the answer is about the clamped column."""

    REJECT = "reject"
    """It is refused. For loading data on the owner's side: an error that depends on a row must not reach an analyst."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of numbers with a declared range, given as bounds=(lower, upper) and kept as exact rationals.

    Requires  finite bounds with lower < upper. No limit on a side is refused with `Unbounded`.
    """

    bounds: InitVar[Bounds]
    outside: Outside
    lower: Fraction = field(init=False)
    upper: Fraction = field(init=False)

    def __post_init__(self, bounds: Bounds) -> None:
        if not isinstance(bounds, tuple | list) or len(bounds) != 2:
            raise unmet("bounds must be a pair (lower, upper)")
        require_type(Outside, outside=self.outside)
        lower, upper = _limited(bounds[0]), _limited(bounds[1])
        require_bounds(lower=lower, upper=upper)
        object.__setattr__(self, "lower", exact(lower))
        object.__setattr__(self, "upper", exact(upper))

    @property
    def width(self) -> Fraction:
        """upper - lower."""
        return self.upper - self.lower

    def admit(self, value: Number) -> Fraction:
        """`value` as it enters every computation: itself if inside, else the nearest bound or a refusal.

        Theorem   the clamp is row by row, so it keeps neighbours neighbours, and its results lie in [lower, upper]:
                  a sensitivity stated for data inside the range holds for any data that passed here.
        Requires  a finite number. Messages do not repeat the value: it is a private row.
        Rounds    nothing.
        """
        require_that(_is_number(value), "a value of the column is not a finite number")
        number = exact(value)
        if self.outside is Outside.REJECT and not self.lower <= number <= self.upper:
            raise unmet(f"a value of the column lies outside [{self.lower}, {self.upper}]")
        return min(max(number, self.lower), self.upper)

    def admit_all(self, values: Iterable[Number]) -> tuple[Fraction, ...]:
        """Every value as `admit` lets it in, in the given order."""
        return tuple(self.admit(value) for value in values)


def _limited(bound: Number | None) -> Number:
    infinite = isinstance(bound, Decimal) and bound.is_infinite()
    if bound is None or infinite or (isinstance(bound, float) and bound in (float("inf"), float("-inf"))):
        raise Unbounded(
            "the column has no limit on one side",
            why="one row could move a sum, a mean or an extreme by any amount, and no noise hides that",
            fix="declare the smallest and the largest value, for example bounds=(0, 100000); the rest is clamped",
        )
    return bound


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, Decimal):
        return value.is_finite()
    return isinstance(value, int | Fraction) or (isinstance(value, Real) and isfinite(value))
