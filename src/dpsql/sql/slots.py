"""A slot: one integer per group that is added up in the engine, made noisy, and released.

What a person adds to a slot is a whole number of grains between `low` and `high`, whatever their rows hold.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction

from dpsql.sensitivity.grain import Grain
from dpsql.sql.scalars import Scalar


class SlotKind(Enum):
    ROWS = "rows"
    """The rows of a person, at most `cap`."""
    VALUES = "values"
    """Their rows in which the argument is not NULL, at most `cap`."""
    SUM = "sum"
    """The sum of their values, each inside the bounds, the sum inside `cap` times the bounds."""
    CENTRED = "centred"
    """The sum of distances from the middle of the bounds; of more than `cap` values, their mean times `cap`."""
    MEAN = "mean"
    """The mean of their values as a distance from the middle of its bounds, inside them; `cap` is 1."""
    SQUARES = "squares"
    """The same for squared distances."""
    PRODUCTS = "products"
    """The same for the product of two distances, of the argument and of the partner's."""
    DISTINCT = "distinct"
    """At most `cap` different values of each person; the engine counts their union."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Two slots are one if and only if they are equal."""

    kind: SlotKind
    argument: Scalar | None
    """NULL where a row does not count; a FILTER is folded in. None: every row counts."""
    cap: int
    low: int
    high: int
    size: Fraction = field(hash=False)
    """What one unit of the released integer stands for."""
    grain: Grain | None = field(default=None, hash=False)
    middle: int = 0
    partner: Slot | None = None
    """Of products: the centred slot of the other value."""

    @property
    def counts(self) -> bool:
        """It is a number of rows or of values, each of them one."""
        return self.kind in (SlotKind.ROWS, SlotKind.VALUES)

    @property
    def of_each(self) -> bool:
        """Its bounds are about what a person has together, and not about each row."""
        if self.kind is not SlotKind.SUM or self.grain is None:
            return self.kind is SlotKind.MEAN
        return (self.low, self.high) != (self.cap * min(self.grain.low, 0), self.cap * max(self.grain.high, 0))

    @property
    def reach(self) -> int:
        """The largest amount, up or down, that one person adds to one group."""
        return max(abs(self.low), abs(self.high))
