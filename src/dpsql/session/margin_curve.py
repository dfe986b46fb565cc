"""What a margin costs: the ± of one number at several prices, from plans alone. Nothing is read, nothing is spent."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final

from dpsql.charts.figure import Axis, Lines, Mark, Point, Series
from dpsql.charts.picture import Picture
from dpsql.errors import BadName, BadParameter
from dpsql.plan.expected import Expectation
from dpsql.session.digits import shown_amount, shown_number

_PRICES: Final = tuple(Fraction(digit * 10**power, 1000) for power in range(1, 5) for digit in (1, 2, 5))
"""0.01, 0.02, 0.05, 0.1, … 50: as far as the grant allows."""

Expected = Mapping[str, Expectation]


def margin_curve(
    expected_at: Callable[[Fraction], Expected], *, usual: Fraction, most: Fraction, y: str | None
) -> Picture:
    """The curve of a column, at round prices up to `most` and at the usual one."""
    name = _column(expected_at(usual), y)
    prices = sorted({price for price in _PRICES if price <= most} | {usual})
    points, sized = [], None
    for price in prices:
        margin, sized = _margin(expected_at(price)[name])
        text = f"± {shown_number(0, float(margin))[1]}"
        size = float(margin)
        mark = Mark(label=shown_amount(price), value=size, low=size, high=size, text=text)
        points.append(Point(at=math.log(price), mark=mark))
    of = name if sized is None else f"{name} in a group of {sized}"
    return Picture(
        chart=Lines(
            title=f"What a margin costs: {of}",
            across=Axis(name="privacy cost (ε)", ticks=tuple((point.at, point.mark.label) for point in points)),
            along=Axis(name=f"± of {of}"),
            series=(Series(name=f"± of {of}", points=tuple(points)),),
            notes=(
                f"asked as it is, it costs {shown_amount(usual)}; no price above {shown_amount(max(prices))} is shown",
                "nothing was read and nothing was spent",
            ),
        )
    )


def _column(found: Expected, y: str | None) -> str:
    """The first column with a margin that is known before it is answered, or the one that was named."""
    if y is not None and y not in found:
        raise BadName(
            f"y={y!r} is no noisy column of this question",
            why="a column has the name of its alias, or of the expression as it was written",
            fix=f"choose one of: {', '.join(found)}" if found else "ask for a number about people, such as COUNT(*)",
        )
    name = y or next((name for name, each in found.items() if _margin_or_none(each)), next(iter(found), None))
    if name is None:
        raise BadParameter(
            "this question has no margin",
            why="it reads nothing private: its answer is exact, and costs nothing",
            fix="ask it",
        )
    return name


def _margin_or_none(column: Expectation) -> tuple[Fraction, int | None] | None:
    """The ±, and for a group of which size it is where that matters."""
    if column.margin is not None:
        return column.margin, None
    if column.examples:
        size, margin = column.examples[0]
        return margin, size
    return None


def _margin(column: Expectation) -> tuple[Fraction, int | None]:
    found = _margin_or_none(column)
    if found is None:
        raise BadParameter(
            f"the margin of {column.name} is not known before it is answered",
            why="it depends on the numbers that are told",
            fix="draw the curve of a count or a sum: y=…; of an average, the owner can say how many rows there are "
            "about: rows",
        )
    return found
