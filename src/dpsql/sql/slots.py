"""A slot: one integer per group that is added up in the engine, made noisy, and released.

What a person adds to a slot is a whole number of grains between `low` and `high`, whatever their rows hold. Over all
groups together they move it by its distance, or stay inside the ball of scale mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import Final

from dpsql.privacy.unit import Neighbours
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


COUNT_GRAIN: Final = Fraction(1, 2**10)
"""Scaled counts are fractions: they are kept in units of a 1024th."""
_LARGEST_NORM: Final = 2**126
_LARGEST_COORDINATE: Final = 2**53
_MOST_GROUPS: Final = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Ball:
    """The L2 ball of scale mode in integers: a contribution times its weight is at most `unit`."""

    unit: int
    weights: tuple[int, ...]
    radius_squared: int


def ball(slots: Sequence[Slot], *, groups: int) -> Ball:
    """Weights that give every slot the same unit, up to 2^-20 of it.

    Theorem   docs/theorems/bounding.md: weight · contribution <= unit, and the squared norm is one integer sum.
    Requires  at least one slot; groups >= 1.
    Rounds    weights down, so units up.
    """
    units = [_unit(slot) for slot in slots]
    whole = max(units) * (1 if len(set(units)) == 1 else 2**20)
    return Ball(
        unit=whole,
        weights=tuple(whole // unit for unit in units),
        radius_squared=whole * whole * groups * len(units),
    )


def fits(slots: Sequence[Slot]) -> bool:
    """The squared norm is one integer of 127 bits, and every coordinate a double without rounding."""
    if any(slot.kind is SlotKind.DISTINCT for slot in slots):
        return False
    largest = max(map(_unit, slots), default=1)
    room = not slots or ball(slots, groups=_MOST_GROUPS).radius_squared < _LARGEST_NORM
    return largest < _LARGEST_COORDINATE and room


def _unit(slot: Slot) -> int:
    """The largest contribution of a person to one group, in the grains of scale mode."""
    return slot.reach * (COUNT_GRAIN.denominator if slot.counts else 1)


def slot_l1(slot: Slot, *, groups: int, neighbours: Neighbours, grouped: bool) -> int:
    """The L1 distance.

    Theorem   docs/theorems/bounding.md: a person adds at most `reach` to each of G groups. Under change_one they leave
              G groups and enter G others; without groups both stand in the same number, which moves by its range.
    Requires  groups >= 1, and 1 without GROUP BY.
    Rounds    nothing.
    """
    if neighbours is Neighbours.ADD_REMOVE:
        return groups * slot.reach
    return 2 * groups * slot.reach if grouped else slot.high - slot.low


def slot_l2_squared(slot: Slot, *, groups: int, neighbours: Neighbours, grouped: bool) -> int:
    """The squared L2 distance.

    Theorem   as `slot_l1`. Under change_one a group that is left and entered moves by the range, two different groups
              by `reach` each; the worse of the two in all G.
    Requires  groups >= 1, and 1 without GROUP BY.
    Rounds    nothing.
    """
    if neighbours is Neighbours.ADD_REMOVE:
        return groups * slot.reach**2
    width = slot.high - slot.low
    return groups * max(width**2, 2 * slot.reach**2) if grouped else width**2
