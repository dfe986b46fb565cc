"""Where the parts of a chart stand on a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from textwrap import wrap
from typing import Any, Final

from dpsql.charts.drawing import Drawing, Part, Words
from dpsql.charts.figure import Bars, Chart, Icons, Lines
from dpsql.charts.layout_icons import icon_parts
from dpsql.charts.layout_lines import line_parts
from dpsql.charts.layout_rows import row_parts
from dpsql.charts.letters import printable

WIDTH: Final = 720.0
_TOP: Final = 44.0
_NOTE: Final = 17.0
_LETTERS: Final = 105
"""Of a note, in one line."""

_BODIES: Final[Mapping[type, Callable[[Any, float], tuple[list[Part], float]]]] = {
    Bars: row_parts,
    Lines: line_parts,
    Icons: icon_parts,
}
"""The parts below a height, and how far down they reach."""


def laid_out(chart: Chart) -> Drawing:
    """The chart on a page as wide as every other, and as high as it needs."""
    body, bottom = _BODIES[type(chart)](chart, _TOP)
    notes = list(_notes(chart, bottom + 22))
    title = Words(at=(12, 26), text=printable(chart.title), size=16, bold=True)
    height = bottom + 16 + _NOTE * len(notes) + 8
    return Drawing(width=WIDTH, height=height, parts=(title, *body, *notes))


def _notes(chart: Chart, top: float) -> Iterator[Words]:
    lines = [line for note in chart.notes for line in wrap(printable(note), _LETTERS)]
    for number, line in enumerate(lines):
        yield Words(at=(12, top + number * _NOTE), text=line, size=12)
