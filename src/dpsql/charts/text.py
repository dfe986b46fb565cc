"""Charts for a terminal: rows with bars and error bars, or a grid of letters; in plain letters where asked."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, Final

from dpsql.charts.figure import (
    DOUBTFUL,
    PEOPLE,
    Axis,
    Bars,
    Chart,
    Icons,
    Lines,
    Mark,
    Scale,
    Series,
    Shape,
    is_exact,
    scale_of,
    tick_text,
)
from dpsql.charts.letters import cut, in_ascii, padded, width
from dpsql.require import require_count
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
    return [*body, " " * (left + 2) + _ends(chart.across, across, room), *_grid_legend(chart, letters)]


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


def _grid_legend(chart: Lines, letters: tuple[str, ...]) -> list[str]:
    names = [f"{letter} {printable(series.name)}" for letter, series in zip(letters[1:], chart.series, strict=False)]
    both = [f"{letters[3]} both"] if len(chart.series) > 1 else []
    return ["  ".join([*names, *both]), f"{printable(chart.along.name)} over {printable(chart.across.name)}"]


NARROWEST: Final = 20
WIDEST: Final = 1000
_LEAST_LABEL: Final = 4
_LEAST_PLOT: Final = 6
_SHORT: Final = str.maketrans({"\u2009": " ", "…": "~", "±": "+/-", DOUBTFUL: "(!)", "·": "|"})
"""Signs that stand where there is no room for a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Letters:
    """What bars are made of."""

    bar: str
    doubtful: str
    left: str
    line: str
    value: str
    right: str
    zero: str
    full: str
    more: str
    empty: str


_UNICODE: Final = _Letters(
    bar="█", doubtful="░", left="├", line="─", value="•", right="┤", zero="│", full="●", more="◍", empty="○"
)
_ASCII: Final = _Letters(
    bar="=", doubtful=":", left="|", line="-", value="o", right="|", zero="|", full="X", more="+", empty="."
)


def in_text(chart: Chart, *, columns: int = 80, plain: bool = False) -> str:
    """The chart in lines of at most so many columns; plain: in ASCII."""
    require_count(columns=columns, at_least=NARROWEST, at_most=WIDEST)
    body = _BODIES[type(chart)](chart, columns, plain)
    title, *notes = (wrap(_lettered(printable(text), plain=plain), columns) for text in (chart.title, *chart.notes))
    lines = [*title, "", *(_lettered(line, plain=plain) for line in body), *(line for note in notes for line in note)]
    return "\n".join(cut(line, columns, end="~" if plain else "…").rstrip() for line in lines)


def _lettered(text: str, *, plain: bool) -> str:
    """Plain: words for signs, and numbers for letters that ASCII lacks."""
    return in_ascii(text.translate(_SHORT)) if plain else text


def _bars(chart: Bars, columns: int, plain: bool) -> list[str]:
    return _rows(chart.marks, chart.along, columns, plain=plain, bars=not chart.dots)


def _lines(chart: Lines, columns: int, plain: bool) -> list[str]:
    """One line is told row by row, with its intervals; what overlaps or falls in steps is a picture."""
    (first, *others) = chart.series
    if others or first.shape is not Shape.LINE:
        return grid_lines(chart, columns, plain=plain)
    marks = [point.mark for point in first.points]
    return _rows(marks, chart.along.name, columns, plain=plain, bars=all(map(is_exact, marks)))


def _rows(marks: Sequence[Mark], along: str, columns: int, *, plain: bool, bars: bool) -> list[str]:
    letters = _ASCII if plain else _UNICODE
    texts = [_lettered(printable(mark.shown), plain=plain) for mark in marks]
    right = max(map(width, texts), default=0)
    labels = [_lettered(printable(mark.label), plain=plain) for mark in marks]
    if columns < _LEAST_LABEL + _LEAST_PLOT + right + 3:
        return [*_numbers(labels, texts, columns, plain=plain), *wrap(printable(along), columns)]
    left = min(max(map(width, labels), default=0), max(_LEAST_LABEL, columns // 3), columns - right - _LEAST_PLOT - 3)
    room = columns - left - right - 3
    scale = scale_of((number for mark in marks for number in mark.numbers), with_zero=bars)
    named = [padded(cut(label, left, end="~" if plain else "…"), left) for label in labels]
    body = [
        f"{label} {_row(mark, scale, room, letters, bars=bars)}  {padded(text, right, right=True)}"
        for label, mark, text in zip(named, marks, texts, strict=True)
    ]
    axis = axis_line(scale.ticks(max(1, room // 12)), scale, room)
    return [*body, " " * (left + 1) + axis, *wrap(_legend(marks, printable(along), letters), columns)]


def _numbers(labels: Sequence[str], texts: Sequence[str], columns: int, *, plain: bool) -> list[str]:
    """Where no bar fits: each number with its margin behind its label, or below it."""
    lines: list[str] = []
    for label, text in zip(labels, texts, strict=True):
        beside = columns - width(text) - 1
        if beside >= _LEAST_LABEL:
            lines.append(f"{padded(cut(label, beside, end='~' if plain else '…'), beside)} {text}")
        else:
            lines += [label, *wrap(text, columns)]
    return lines


def _legend(marks: Sequence[Mark], along: str, letters: _Letters) -> str:
    if all(map(is_exact, marks)):
        return f"{letters.value} {along}"
    interval = f"{letters.left}{letters.line}{letters.right} its margin, narrower than a letter where none is seen"
    return f"{letters.value} {along}  {interval}"


def _row(mark: Mark, scale: Scale, room: int, letters: _Letters, *, bars: bool) -> str:
    """A bar from 0 to the value, and over it the interval. Without an interval there is no bar."""
    cells = [" "] * room

    def place(number: float) -> int:
        return round(scale.share(number) * (room - 1))

    if scale.low <= 0 <= scale.high:
        cells[place(0)] = letters.zero
    if mark.value is None:
        return "".join(cells)
    value = place(mark.value)
    if mark.low is not None and mark.high is not None:
        low, high = place(mark.low), place(mark.high)
        if bars:
            begin, end = sorted((place(0), value))
            cells[begin : end + 1] = (letters.doubtful if mark.doubtful else letters.bar) * (end + 1 - begin)
        cells[low : high + 1] = letters.line * (high + 1 - low)
        cells[low], cells[high] = letters.left, letters.right
    cells[value] = letters.value
    return "".join(cells)


def _icons(chart: Icons, columns: int, plain: bool) -> list[str]:
    letters = _ASCII if plain else _UNICODE
    sides = [
        ("before", [letters.full] * chart.before),
        ("after, at most", [letters.full] * chart.before + [letters.more] * (chart.after - chart.before)),
    ]
    blocks = [_block(name, people, letters.empty) for name, people in sides]
    beside = columns >= 46
    body = [f"{one:<24}{other}" for one, other in zip(*blocks, strict=True)] if beside else [*blocks[0], "", *blocks[1]]
    return [*body, *wrap(f"{letters.full} thought so before  {letters.more} so many more after, at most", columns)]


def _block(name: str, people: list[str], empty: str) -> list[str]:
    everybody = people + [empty] * (PEOPLE - len(people))
    rows = [" ".join(everybody[start : start + 10]) for start in range(0, PEOPLE, 10)]
    return [f"{name}: {len(people)} of {PEOPLE}", *rows]


_BODIES: Final[Mapping[type, Callable[[Any, int, bool], list[str]]]] = {Bars: _bars, Lines: _lines, Icons: _icons}
