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
_OF_ROWS: Final = frozenset({"var_pop", "var_samp", "stddev_pop", "stddev_samp"})
"""Aggregates that are bounded row by row in every spelling."""
_OF_GROUPS: Final = frozenset({"count", "sum", "avg"})


def bounded_call(call: Expression, bounds: ContributionBounds) -> Call:
    """The call with its bounds."""
    if not isinstance(call, Call) or call.function not in _OF_ROWS | _OF_GROUPS or call.distinct:
        raise _no_rule(bounds, "bounds belong to COUNT, SUM, AVG, VAR_POP and STDDEV_POP, without DISTINCT")
    if call.function == "count":
        if not bounds.per_group or bounds.low.value != 0 or type(bounds.high.value) is not int:
            raise _no_rule(bounds, "rows of one person are counted from 0 up to a whole number")
        return replace(call, per_group=bounds)
    if len(call.arguments) != 1:
        raise _no_rule(bounds, "bounds are about one expression")
    clamp = Call(function="clamp", arguments=(call.arguments[0], bounds.low, bounds.high), at=call.arguments[0].at)
    per_group = bounds if bounds.per_group and call.function not in _OF_ROWS else None
    return replace(call, arguments=(clamp,), per_group=per_group)


def _no_rule(bounds: ContributionBounds, why: str) -> NotSupported:
    return NotSupported(
        "These bounds are not available", why=f"{why}; {NO_RULE}", fix="use CLAMP(x, 0, 100) and LIMIT n PER PERSON",
        at=bounds.at,
    )  # fmt: skip
