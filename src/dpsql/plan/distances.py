"""How far one person can move a slot over all groups, in its own grains."""

from __future__ import annotations

from dpsql.privacy.unit import Neighbours
from dpsql.sql.slots import Slot


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
