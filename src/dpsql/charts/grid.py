"""Areas and steps as a grid of letters: what one series covers, the other, and both."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

from dpsql.charts.figure import Axis, Lines, Series, Shape
from dpsql.charts.letters import padded, width
from dpsql.charts.scale import Scale, scale_of, tick_text
from dpsql.safe_text import printable

_HEIGHT: Final = 10
_LETTERS: Final = {False: (" ", "░", "▒", "█"), True: (" ", "/", "\\", "X")}
"""Nothing, the first, the second, both; in plain letters under True."""


def grid_lines(chart: Lines, columns: int, *, plain: bool) -> list[str]:
    """At most two series; below each the area is filled."""
    letters = _LETTERS[plain]
    across = scale_of((point.at for series in chart.series for point in series.points), with_zero=False)
    along = scale_of((n for series in chart.series for p in series.points for n in p.mark.numbers), with_zero=True)
    labels = {0: tick_text(float(f"{along.high:.3g}")), _HEIGHT - 1: tick_text(float(f"{along.low:.3g}"))}
    left = max(map(width, labels.values()))
    room = max(8, columns - left - 2)
    heights = [[_height(series, across, along, at, room) for at in range(room)] for series in chart.series[:2]]
    edge = "|" if plain else "│"
    body = []
    for row in range(_HEIGHT):
        level = (_HEIGHT - row - 0.5) / _HEIGHT
        cells = [sum((tall[at] >= level) << number for number, tall in enumerate(heights)) for at in range(room)]
        body.append(
            f"{padded(labels.get(row, ''), left, right=True)} {edge}" + "".join(letters[cell] for cell in cells)
        )
    return [*body, " " * (left + 2) + _ends(chart.across, across, room), *_legend(chart, letters)]


def _height(series: Series, across: Scale, along: Scale, column: int, room: int) -> float:
    """How high the series stands over a column: 0 to 1."""
    at = across.low + (across.high - across.low) * column / (room - 1)
    places = [point.at for point in series.points]
    after = bisect_right(places, at + 1e-9 * (across.high - across.low))
    before = series.points[max(0, after - 1)]
    value = before.mark.value or 0.0
    if series.shape is not Shape.STEPS and 0 < after < len(places):
        nxt = series.points[after]
        share = (at - before.at) / (nxt.at - before.at)
        value += share * ((nxt.mark.value or 0.0) - value)
    return along.share(value)


def axis_line(ticks: Iterable[tuple[float, str]], scale: Scale, room: int) -> str:
    """The labels below the places where they stand, as many as fit."""
    line = ""
    for number, text in ticks:
        begin = max(0, min(round(scale.share(number) * (room - 1)) - width(text) // 2, room - width(text)))
        if begin > width(line) or not line:
            line = padded(line, begin) + printable(text)
    return line


def _ends(axis: Axis, scale: Scale, room: int) -> str:
    ticks = axis.ticks or scale.ticks(max(1, room // 12))
    return axis_line((tick for tick in ticks if scale.low <= tick[0] <= scale.high), scale, room)


def _legend(chart: Lines, letters: tuple[str, ...]) -> list[str]:
    names = [f"{letter} {printable(series.name)}" for letter, series in zip(letters[1:], chart.series, strict=False)]
    both = [f"{letters[3]} both"] if len(chart.series) > 1 else []
    return ["  ".join([*names, *both]), f"{printable(chart.along.name)} over {printable(chart.across.name)}"]
