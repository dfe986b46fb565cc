"""The ball of scale mode: how far all groups of one person reach together, in whole numbers.

Proof: docs/theorems/bounding.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpsql.sql.slots import Slot, SlotKind

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
