"""Bars or dots on a page: a row for each group, with its interval over the bar and its number beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dpsql.charts.drawing import Align, Area, Dot, Paint, Part, Stroke, Words, box
from dpsql.charts.figure import Bars, Mark, is_exact
from dpsql.charts.letters import cut, printable
from dpsql.charts.scale import Scale, scale_of

_ROW: Final = 28.0
_LEFT: Final = 170.0
_RIGHT: Final = 545.0
_NUMBERS: Final = 700.0
_LETTERS: Final = 22
"""Of a label; the table has it in full."""


def row_parts(chart: Bars, top: float) -> tuple[list[Part], float]:
    """The rows below `top`, an axis below them, and how far down they reach."""
    numbers = (number for mark in chart.marks for number in mark.numbers)
    scale = scale_of(numbers, with_zero=not chart.dots)
    bottom = top + _ROW * len(chart.marks)
    parts: list[Part] = list(_axis(scale, top, bottom))
    for number, mark in enumerate(chart.marks):
        parts += _row(mark, scale, top + _ROW * (number + 0.5), bars=not chart.dots)
    name = Words(at=((_LEFT + _RIGHT) / 2, bottom + 36), text=printable(chart.along), align=Align.MIDDLE)
    return [*parts, name], bottom + 38


def _place(scale: Scale, number: float) -> float:
    return _LEFT + scale.share(number) * (_RIGHT - _LEFT)


def _axis(scale: Scale, top: float, bottom: float) -> Iterator[Part]:
    for number, text in scale.ticks(5):
        x = _place(scale, number)
        yield Stroke(through=((x, top), (x, bottom + 4)), paint=Paint.FAINT, size=1)
        yield Words(at=(x, bottom + 18), text=text, align=Align.MIDDLE, size=12)
    if scale.low <= 0 <= scale.high:
        yield Stroke(through=((_place(scale, 0), top), (_place(scale, 0), bottom + 4)), size=1)


def _row(mark: Mark, scale: Scale, middle: float, *, bars: bool) -> Iterator[Part]:
    yield Words(at=(_LEFT - 10, middle + 4.5), text=cut(printable(mark.label), _LETTERS), align=Align.END)
    yield Words(at=(_NUMBERS, middle + 4.5), text=printable(mark.shown), align=Align.END)
    if mark.value is None:
        return
    value = _place(scale, mark.value)
    if mark.low is not None and mark.high is not None:
        if bars:
            zero = _place(scale, 0)
            outline = box(min(zero, value), middle - 9, abs(value - zero), 18)
            yield Area(outline=outline, paint=Paint.FIRST, hatched=mark.doubtful)
        if not is_exact(mark):
            yield from interval((_place(scale, mark.low), middle), (_place(scale, mark.high), middle))
    yield Dot(at=(value, middle), hollow=mark.doubtful)


def interval(begin: tuple[float, float], end: tuple[float, float]) -> Iterator[Part]:
    """A line with a cap at each end, along one of the sides of the page."""
    across = (0.0, 6.0) if begin[1] == end[1] else (6.0, 0.0)
    yield Stroke(through=(begin, end))
    for x, y in (begin, end):
        yield Stroke(through=((x - across[0], y - across[1]), (x + across[0], y + across[1])))
