"""DP_LOW(n), DP_HIGH(n), DP_MARGIN(n): the interval of another column of the answer, as columns of their own.

They are read off the margin that the number has anyway: nothing is drawn for them, and they cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dpsql.errors import BadType, NotSupported
from dpsql.sql.finish import Part
from dpsql.sql.syntax import At, Call, Expression, Item, Name

PARTS: Final[Mapping[str, Part]] = {
    "dp_low": Part.LOW,
    "dp_high": Part.HIGH,
    "dp_margin": Part.MARGIN,
    "dp_interval_low": Part.LOW,
    "dp_interval_high": Part.HIGH,
}
"""The functions, under Snowflake's names too."""


def shown_part(expression: Expression, items: tuple[Item, ...]) -> tuple[Part | None, Expression]:
    """Which part of which expression a column of the SELECT list shows; None: the number itself."""
    if not isinstance(expression, Call) or expression.function not in PARTS:
        return None, expression
    if len(expression.arguments) != 1 or expression.distinct or expression.filter or expression.over:
        name = expression.function.upper()
        raise BadType(
            f"{name} is of one column of the answer",
            why="it is an end of the interval of a released number",
            fix=f"name the column: SELECT COUNT(*) AS n, {name}(n)",
            at=expression.at,
        )
    (of,) = expression.arguments
    if isinstance(of, Name) and len(of.parts) == 1:
        named = (item.expression for item in items if item.alias and item.alias.name == of.parts[0].name)
        of = next(named, of)
    return PARTS[expression.function], of


def unsorted(at: At) -> NotSupported:
    """ORDER BY the end of an interval."""
    return NotSupported(
        "rows sorted by the end of an interval",
        why="no rule names it: intervals are computed after the rows are sorted",
        fix="sort by the number itself, or sort the answer",
        at=at,
    )


def inside_expression(at: At) -> NotSupported:
    """HAVING DP_LOW(n) > 3, or DP_LOW(n) / 2 as a column."""
    return NotSupported(
        "the end of an interval inside HAVING or an expression",
        why="no rule names it: intervals are computed after the rows are chosen, and stand in columns of their own",
        fix="compare and compute with the number itself, or do it with the answer",
        at=at,
    )
