"""What GoogleSQL's bounds of a call mean here: a CLAMP of each row, or a limit of what one person adds in a group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from dpsql.errors import NotSupported
from dpsql.sql.parsing.refusals import NO_RULE
from dpsql.sql.syntax import Call, ContributionBounds, Expression

ANONYMOUS: Final[Mapping[str, str]] = {
    "anon_count": "count",
    "anon_sum": "sum",
    "anon_avg": "avg",
    "anon_var_pop": "var_pop",
    "anon_stddev_pop": "stddev_pop",
}
"""The older names of the same aggregates."""
_OF_ROWS: Final = frozenset({"sum", "var_pop", "var_samp", "stddev_pop", "stddev_samp"})
"""Aggregates whose rows may be bounded one by one."""
_OF_GROUPS: Final = frozenset({"count", "sum", "avg"})
"""Aggregates that have a number for each person and group, which may be bounded."""


def bounded_call(call: Expression, bounds: ContributionBounds) -> Call:
    """The call with its bounds."""
    if not isinstance(call, Call) or call.function not in _OF_ROWS | _OF_GROUPS or call.distinct:
        raise _no_rule(bounds, "bounds belong to COUNT, SUM, AVG, VAR_POP and STDDEV_POP, without DISTINCT")
    per_group = call.function in _OF_GROUPS if bounds.per_group is None else bounds.per_group
    if call.function == "count":
        if not per_group or bounds.low.value != 0 or type(bounds.high.value) is not int:
            raise _no_rule(bounds, "rows of one person are counted from 0 up to a whole number")
        return replace(call, per_group=bounds)
    if len(call.arguments) != 1:
        raise _no_rule(bounds, "bounds are about one expression")
    if call.function not in (_OF_GROUPS if per_group else _OF_ROWS):
        raise _misplaced(call, bounds)
    if per_group:
        return replace(call, per_group=bounds, per_person=call.function == "avg")
    clamp = Call(function="clamp", arguments=(call.arguments[0], bounds.low, bounds.high), at=call.arguments[0].at)
    return replace(call, arguments=(clamp,))


def of_each_person(call: Expression) -> Expression:
    """The call as GoogleSQL means it under its clause: AVG is the average of the averages of each person."""
    return replace(call, per_person=True) if isinstance(call, Call) and call.function == "avg" else call


def _misplaced(call: Call, bounds: ContributionBounds) -> NotSupported:
    """GoogleSQL bounds the rows of a variance, and what each person has of an average; the other has no meaning."""
    name, low, high = call.function.upper(), bounds.low.value, bounds.high.value
    average = call.function == "avg"
    return NotSupported(
        f"{name} has no contribution_bounds_per_{'row' if average else 'group'}",
        why="in GoogleSQL it is the average of each person's average, and that is what its bounds are about"
        if average
        else "it is about rows, so that its bounds are those of each row",
        fix=f"write contribution_bounds_per_{'group' if average else 'row'} => ({low}, {high})"
        + (f"; AVG(CLAMP(x, {low}, {high})) without GoogleSQL's words is the average of rows" if average else ""),
        at=bounds.at,
    )


def _no_rule(bounds: ContributionBounds, why: str) -> NotSupported:
    return NotSupported(
        "These bounds are not available", why=f"{why}; {NO_RULE}", fix="use CLAMP(x, 0, 100) and LIMIT n PER PERSON",
        at=bounds.at,
    )  # fmt: skip
