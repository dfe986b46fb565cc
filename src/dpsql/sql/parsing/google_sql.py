"""GoogleSQL for differential privacy, as far as it means the same here.

    SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1, max_groups_contributed = 2) …
    SUM(x, contribution_bounds_per_group => (0, 110))

What it says of one person becomes a bound of that call, and AVG is that of each person's average; what has another
meaning here is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from dpsql.errors import DpsqlError, NotSupported
from dpsql.sql.parsing import literals
from dpsql.sql.parsing.cursor import Cursor
from dpsql.sql.parsing.option_values import price, rows, share, unknown_option, with_option
from dpsql.sql.parsing.refusals import NO_RULE, misread
from dpsql.sql.parsing.text import END, QUOTED
from dpsql.sql.syntax import NO_OPTIONS, At, Call, ContributionBounds, Options

WORD: Final = "DIFFERENTIAL_PRIVACY"
BOUNDS: Final = {"CONTRIBUTION_BOUNDS_PER_GROUP": True, "CONTRIBUTION_BOUNDS_PER_ROW": False}
"""Arguments by name that calls may have, and whether each is about all rows of a group."""


def _column(name: str, written: str, at: At) -> str:
    try:
        return literals.identifier(written, (0, len(written))).name
    except DpsqlError:
        raise misread("", at, what=f"{name} is the name of a column") from None


_OPTIONS: Final[Mapping[str, tuple[str, Callable[[str, str, At], object]]]] = {
    "epsilon": ("epsilon", price),
    "delta": ("delta", share),
    "max_groups_contributed": ("groups_per_person", rows),
    "max_rows_contributed": ("rows_in_all", rows),
    "privacy_unit_column": ("privacy_unit", _column),
}
_OTHER_RULES: Final = {
    "group_selection_strategy": "groups that are not public are found by a rule of their own, with the same guarantee",
    "min_privacy_units_per_group": "how many people a group needs to be shown follows from its price and delta",
    "report_format": "an answer has its margins beside its numbers",
}
"""Options that mean something there and have another rule here."""
_OF_ROWS: Final = frozenset({"sum", "var_pop", "var_samp", "stddev_pop", "stddev_samp"})
"""Aggregates whose rows may be bounded one by one."""
_OF_GROUPS: Final = frozenset({"count", "sum", "avg"})
"""Aggregates that have a number for each person and group, which may be bounded."""


def options(cursor: Cursor) -> Options:
    """( name = value, … ) after OPTIONS."""
    found = NO_OPTIONS
    _expect(cursor, "(")
    while True:
        at, name = cursor.here(), "" if cursor.next() == QUOTED else cursor.next().lower()
        if name in _OTHER_RULES:
            raise NotSupported(f"{name} is not available", why=_OTHER_RULES[name], fix="leave it out", at=at)
        if name not in _OPTIONS:
            raise unknown_option(cursor.lexed.text[slice(*at)], _OPTIONS, at)
        cursor.position += 1
        _expect(cursor, "=")
        first = cursor.position
        while cursor.next() not in (",", ")", END):
            cursor.position += 1
        if cursor.position == first:
            raise misread(cursor.lexed.text, at, what=f"{name} needs a value")
        where = cursor.at(first)
        option, read = _OPTIONS[name]
        found = with_option(found, option, read(name, cursor.lexed.text[slice(*where)], where), where)
        if cursor.expect(",", ")") == ")":
            return found


def _expect(cursor: Cursor, sign: str) -> None:
    if not cursor.take(sign):
        raise misread(cursor.lexed.text, cursor.here(), what=f"{sign} is missing here")


def bounded_call(call: Call, bounds: ContributionBounds) -> Call:
    """The call with its bounds."""
    if call.function not in _OF_ROWS | _OF_GROUPS or call.distinct:
        raise _no_rule(bounds, "bounds belong to COUNT, SUM, AVG, VAR_POP and STDDEV_POP, without DISTINCT")
    per_group = bounds.per_group
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
