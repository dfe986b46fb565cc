"""Aggregates as GoogleSQL means them: of what each person has in a group, which its bounds are about.

COUNT: the rows of a person are counted up to a number, which is the cap itself. SUM: the rows of a person are added up
and the sum is moved into the bounds. AVG: the rows of a person are averaged, the average is moved into the bounds, and
each person counts once. Where a person has one row, that is the row.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpsql.errors import NotSupported
from dpsql.sql import functions
from dpsql.sql.expressions import constant
from dpsql.sql.intervals import EVERYTHING, Interval
from dpsql.sql.outputs import Aggregate
from dpsql.sql.resolve import Resolved


def settled(query: Resolved, *, one_row: bool) -> Resolved:
    """The query whose aggregates are bounded where they are measured; `one_row` where no person has two."""
    return replace(query, aggregates=tuple(_settled(each, query, one_row=one_row) for each in query.aggregates))


def _settled(aggregate: Aggregate, query: Resolved, *, one_row: bool) -> Aggregate:
    bounds = aggregate.per_group
    if aggregate.function == "count" or (bounds is None and not aggregate.per_person):
        return aggregate
    if not one_row:
        _require_rule(aggregate, query)
        return aggregate
    if bounds is None:
        return replace(aggregate, per_person=False)
    (argument,) = aggregate.arguments
    limits = (argument, constant(bounds.low), constant(bounds.high))
    clamped = functions.apply("clamp", limits, proved=query.findings.proved, at=bounds.at)
    return replace(aggregate, arguments=(clamped,), per_group=None, per_person=False)


def _require_rule(aggregate: Aggregate, query: Resolved) -> None:
    """What has no meaning, or another one in GoogleSQL, is refused."""
    bounds, name = aggregate.per_group, aggregate.function.upper()
    if query.options.rows_in_all is not None:
        raise NotSupported(
            f"{name} of each person with max_rows_contributed is not available",
            why="one is about all rows of a person, the other about some of them",
            fix="leave max_rows_contributed out; the owner's policy caps what one person adds",
            at=aggregate.at,
        )
    within = bounds_of(aggregate)
    if bounds is not None and within is not None and aggregate.function == "sum" and not within.contains(0):
        low, high = (float(end or 0) for end in (within.low, within.high))
        raise NotSupported(
            f"SUM within {low:g} and {high:g} of each person is not available here",
            why="0 is not between them, and who has no value adds 0",
            fix="say bounds with 0 between them, or bound each row: contribution_bounds_per_row",
            at=bounds.at,
        )


def bounds_of(aggregate: Aggregate) -> Interval | None:
    """What one person's sum or average in a group is moved into; None where rows are bounded one by one."""
    bounds = aggregate.per_group
    if aggregate.function == "count" or (bounds is None and not aggregate.per_person):
        return None
    if bounds is None:
        return EVERYTHING
    low, high = (each.value for each in (bounds.low, bounds.high))
    return Interval(Fraction(low), Fraction(high))  # type: ignore[arg-type]


def capped_in_group(aggregate: Aggregate, cap: int) -> int:
    """How many rows of one person count in this aggregate."""
    bounds = aggregate.per_group
    if aggregate.function == "count" and bounds is not None and isinstance(bounds.high.value, int):
        return min(cap, bounds.high.value)
    return 1 if aggregate.per_person else cap
