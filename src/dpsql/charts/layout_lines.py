"""Lines with their bands, overlapping areas and steps on a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from dpsql.charts.drawing import Align, Area, Dot, Paint, Part, Place, Stroke, Words
from dpsql.charts.figure import Lines, Point, Series, Shape, is_exact
from dpsql.charts.layout_rows import interval
from dpsql.charts.letters import cut, printable
from dpsql.charts.scale import Scale, scale_of

_LEFT: Final = 84.0
_RIGHT: Final = 690.0
_HEIGHT: Final = 250.0
_PAINTS: Final = (Paint.FIRST, Paint.SECOND)
_MOST_CAPS: Final = 40
"""With more points the band alone tells the margins: caps would run together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    across: Scale
    along: Scale
    top: float

    @property
    def bottom(self) -> float:
        return self.top + _HEIGHT

    def at(self, x: float, y: float) -> Place:
        return (
            _LEFT + self.across.share(x) * (_RIGHT - _LEFT),
            self.bottom - self.along.share(y) * _HEIGHT,
        )


def line_parts(chart: Lines, top: float) -> tuple[list[Part], float]:
    """The chart below `top`, and how far down it reaches."""
    points = [point for series in chart.series for point in series.points]
    from_zero = any(series.shape is not Shape.LINE for series in chart.series) or all(
        is_exact(point.mark) for point in points
    )
    numbers = [number for point in points for number in point.mark.numbers]
    frame = _Frame(
        across=scale_of((point.at for point in points), with_zero=False),
        along=scale_of([*numbers, *(at for at, _ in chart.along.ticks)], with_zero=from_zero),
        top=top + 34,
    )
    parts: list[Part] = [*_legend(chart, top), *_axes(chart, frame)]
    for number, series in enumerate(chart.series):
        parts += _DRAWN[series.shape](series, frame, number)
    return parts, frame.bottom + 40


def _axes(chart: Lines, frame: _Frame) -> Iterator[Part]:
    for number, text in chart.along.ticks or frame.along.ticks(5):
        x, y = frame.at(frame.across.low, number)
        yield Stroke(through=((x, y), (_RIGHT, y)), paint=Paint.FAINT, size=1)
        yield Words(at=(x - 8, y + 4), text=printable(text), align=Align.END, size=12)
    for number, text in chart.across.ticks or frame.across.ticks(6):
        x, y = frame.at(number, frame.along.low)
        yield Stroke(through=((x, frame.bottom), (x, frame.bottom + 5)), size=1)
        yield Words(at=(x, frame.bottom + 19), text=printable(text), align=Align.MIDDLE, size=12)
    if frame.along.low < 0 < frame.along.high:
        yield Stroke(through=(frame.at(frame.across.low, 0), frame.at(frame.across.high, 0)), size=1)
    yield Words(at=((_LEFT + _RIGHT) / 2, frame.bottom + 38), text=printable(chart.across.name), align=Align.MIDDLE)


def _legend(chart: Lines, top: float) -> Iterator[Part]:
    x = 12.0
    yield Words(at=(x, top + 8), text=printable(chart.along.name))
    if len(chart.series) == 1:
        return
    x = 250.0
    for number, series in enumerate(chart.series):
        yield Stroke(through=((x, top + 4), (x + 30, top + 4)), paint=_PAINTS[number], size=3, dashed=number == 1)
        name = cut(printable(series.name), 28)
        yield Words(at=(x + 38, top + 8), text=name)
        x += 56 + 7.5 * len(name)


def _places(series: Series, frame: _Frame) -> list[tuple[Point, Place]]:
    marked = ((point, point.mark.value) for point in series.points)
    return [(point, frame.at(point.at, value)) for point, value in marked if value is not None]


def _line(series: Series, frame: _Frame, number: int) -> Iterator[Part]:
    """The band of the intervals, the line, and a dot for each number."""
    drawn = _places(series, frame)
    known = [(p.at, p.mark.low, p.mark.high) for p, _ in drawn if p.mark.low is not None and p.mark.high is not None]
    exact = all(is_exact(point.mark) for point, _ in drawn)
    if len(known) > 1 and not exact:
        over = [frame.at(at, high) for at, _, high in known]
        under = [frame.at(at, low) for at, low, _ in reversed(known)]
        yield Area(outline=(*over, *under), paint=_PAINTS[number], pale=True)
    yield Stroke(through=tuple(place for _, place in drawn), paint=_PAINTS[number])
    if not exact and len(known) <= _MOST_CAPS:
        for at, low, high in known:
            yield from interval(frame.at(at, low), frame.at(at, high))
    yield from (Dot(at=place, hollow=point.mark.doubtful) for point, place in drawn)
    if exact:
        for point, (x, y) in drawn:
            aside, align = (7, Align.START) if x < _RIGHT - 60 else (0, Align.END)
            yield Words(at=(x + aside, y - 8), text=printable(point.mark.text), size=12, align=align)


def _area(series: Series, frame: _Frame, number: int) -> Iterator[Part]:
    yield from _filled([place for _, place in _places(series, frame)], frame, number)


def _steps(series: Series, frame: _Frame, number: int) -> Iterator[Part]:
    places: list[Place] = []
    for _, (x, y) in _places(series, frame):
        if places:
            places.append((x, places[-1][1]))
        places.append((x, y))
    yield from _filled(places, frame, number)


def _filled(places: list[Place], frame: _Frame, number: int) -> Iterator[Part]:
    zero = frame.at(frame.across.low, 0)[1]
    around = ((places[0][0], zero), *places, (places[-1][0], zero))
    yield Area(outline=around, paint=_PAINTS[number], pale=True, hatched=number == 1)
    yield Stroke(through=tuple(places), paint=_PAINTS[number], dashed=number == 1)


_DRAWN: Final = {Shape.LINE: _line, Shape.AREA: _area, Shape.STEPS: _steps}
