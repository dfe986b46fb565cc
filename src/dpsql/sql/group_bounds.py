"""Bounds of what one person adds in one group, where they mean the same as a cap and a clamp of each row.

COUNT: the rows of a person are counted up to a number, which is the cap itself. SUM and AVG: GoogleSQL adds up, or
averages, the rows of a person first and clamps the result; here each row is clamped. With one row per person that is
the same, and only then.
"""

from __future__ import annotations

from dpsql.errors import NotSupported
from dpsql.sql.outputs import Aggregate


def capped_in_group(aggregate: Aggregate, cap: int, *, one_row: bool) -> int:
    """How many rows of one person count in this aggregate; `one_row` where no person has two."""
    bounds = aggregate.per_group
    if bounds is None:
        return cap
    if aggregate.function == "count" and isinstance(bounds.high.value, int):
        return min(cap, bounds.high.value)
    if not one_row:
        low, high = bounds.low.value, bounds.high.value
        raise NotSupported(
            f"bounds of what one person adds to {aggregate.function.upper()} in a group are not available here",
            why="a person may have several rows, and each of them is bounded, not their sum or average",
            fix=f"bound each row: CLAMP(x, {low}, {high}), or contribution_bounds_per_row => ({low}, {high}), with "
            "LIMIT n PER PERSON; or group by the person in a subquery first",
            at=bounds.at,
        )
    return cap
