"""A hundred people, before and after."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dpsql.charts.drawing import Area, Dot, Paint, Part, Place, Words
from dpsql.charts.figure import PEOPLE, Icons

_STEP: Final = 26.0
_ROWS: Final = 10


def icon_parts(chart: Icons, top: float) -> tuple[list[Part], float]:
    """Two arrays side by side: who was thought of before, and how many more may be after."""
    sides = [(12.0, "before", chart.before), (372.0, "after, at most", chart.after)]
    parts: list[Part] = []
    for left, name, marked in sides:
        parts.append(Words(at=(left, top + 12), text=f"{name}: {marked} of {PEOPLE}", bold=True))
        for number in range(PEOPLE):
            x = left + 12 + _STEP * (number % 10)
            y = top + 34 + (_STEP + 4) * (number // 10)
            parts += _person((x, y), filled=number < chart.before, added=chart.before <= number < marked)
    return parts, top + 34 + (_STEP + 4) * _ROWS


def _person(at: Place, *, filled: bool, added: bool) -> Iterator[Part]:
    """A head over shoulders: full where thought of before, hatched where only after, faint else."""
    x, y = at
    paint = Paint.FIRST if filled else Paint.SECOND if added else Paint.FAINT
    yield Dot(at=(x, y), paint=paint, radius=4.5, hollow=not (filled or added))
    shoulders = ((x - 7, y + 18), (x - 6, y + 9), (x - 3, y + 6.5), (x + 3, y + 6.5), (x + 6, y + 9), (x + 7, y + 18))
    yield Area(outline=shoulders, paint=paint, hatched=added, pale=not (filled or added))
