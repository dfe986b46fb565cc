"""A chart as SVG or PNG, drawn by matplotlib: a figure of its own, no window, nothing of pyplot.

Numbers stand at their share of the axis (`figure.scale_of`), as in a terminal, so none is too large to draw. Text
is text: no formulas, no letters that XML lacks, and nothing longer than its place.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final
from warnings import catch_warnings, simplefilter

from dpsql.charts.figure import PEOPLE, Bars, Chart, Icons, Lines, Mark, Scale, Series, Shape, is_exact, scale_of
from dpsql.charts.letters import cut
from dpsql.errors import MissingExtra
from dpsql.safe_text import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_INK: Final = "#1b1f24"
_FAINT: Final = "#8a929c"
COLOURS: Final = ("#3a7fc1", "#c2691c")
"""Of the first series and the second. Hatching, dashes and words tell them apart too."""
_WIDTH: Final = 720.0
_PIXELS: Final = 100
"""Of a figure in one inch."""
_TOP, _ROW, _NOTE, _AXIS = 48.0, 28.0, 17.0, 46.0
_LABEL: Final = 20
_LINE: Final = 100
"""Columns of a label, and of a title or a line of a note."""
_MOST_CAPS: Final = 40
"""With more points the band alone shows the margins: caps would run together."""
_LARGEST_PNG: Final = 60_000
"""Pixels of a side; matplotlib refuses somewhat more."""
_SETTINGS: Final = {
    "text.parse_math": False,  # a key with $ is a key
    "text.usetex": False,
    "svg.hashsalt": "dpsql",
    "svg.fonttype": "none",  # letters of every script stay letters
}


def require_matplotlib() -> None:
    """Raises where no picture can be drawn. Nothing is loaded for it."""
    if not has_matplotlib():
        raise MissingExtra(
            "matplotlib is not installed",
            why="SVG and PNG pictures are drawn by it; text needs nothing",
            fix="in a clone of dpsql, pip install '.[plots]'; or save the picture as .txt",
        )


def has_matplotlib() -> bool:
    return find_spec("matplotlib") is not None


def in_svg(chart: Chart) -> str:
    """The same for the same chart."""
    with settings():
        return svg_of(figure_of(chart), title=chart.title, alt=chart.alt)


def svg_of(figure: Figure, *, title: str, alt: str) -> str:
    out = io.BytesIO()
    words = {"Title": _text(title), "Description": _text(alt), "Creator": "dpsql", "Date": None}
    figure.savefig(out, format="svg", metadata=words)
    return out.getvalue().decode()


def in_png(chart: Chart) -> bytes:
    """Its words are in it too, for who does not see it."""
    out = io.BytesIO()
    words = {"Title": _text(chart.title), "Description": _text(chart.alt), "Software": "dpsql"}
    with settings():
        figure = figure_of(chart)
        dpi = min(160.0, _LARGEST_PNG / figure.get_figheight())
        figure.savefig(out, format="png", dpi=dpi, metadata=words)
    return out.getvalue()


@contextmanager
def settings() -> Iterator[None]:
    """Those of matplotlib under which figures are made and written."""
    require_matplotlib()
    from matplotlib import rc_context

    with rc_context(_SETTINGS), catch_warnings():
        simplefilter("ignore")  # a letter that the font does not have is drawn as a box; the words name it
        yield


def figure_of(chart: Chart) -> Figure:
    """The figure: its title, its axes and its notes. Each mark has its name and number as `gid`."""
    from matplotlib.figure import Figure

    notes = [line for note in chart.notes for line in wrap(_text(note), _LINE, max_lines=4, placeholder="…")]
    body = _HEIGHTS[type(chart)](chart)
    high = _TOP + body + _AXIS + _NOTE * len(notes) + 8
    figure = Figure(figsize=(_WIDTH / _PIXELS, high / _PIXELS), facecolor="white")
    figure.text(12 / _WIDTH, 1 - 26 / high, _text(chart.title, _LINE), size=11, weight="bold", color=_INK)
    for number, line in enumerate(notes):
        figure.text(12 / _WIDTH, (8 + _NOTE * (len(notes) - number - 0.8)) / high, line, size=8.5, color=_INK)
    left, right = _SIDES[type(chart)]
    place = (left / _WIDTH, 1 - (_TOP + body) / high, (right - left) / _WIDTH, body / high)
    _DRAWN[type(chart)](figure.add_axes(place), chart)
    return figure


def _text(text: str, columns: int | None = None) -> str:
    """Text that steers nothing, of characters that XML has, at most so many columns wide and not much longer."""
    shown = printable(text).translate({0xFFFE: "\ufffd", 0xFFFF: "\ufffd"})
    return shown if columns is None else cut(shown[: 2 * columns], columns)


def _bars(axes: Any, chart: Bars) -> None:
    """A row for each group: a bar where its interval is known, the interval over it, and its number beside it."""
    scale = scale_of((number for mark in chart.marks for number in mark.numbers), with_zero=not chart.dots)
    axes.set(xlim=(0, 1), ylim=(len(chart.marks) - 0.5, -0.5))
    _ticked(axes.xaxis, scale, scale.ticks(5))
    axes.set_xlabel(_text(chart.along, _LINE))
    axes.set_yticks(range(len(chart.marks)), [_text(mark.label, _LABEL) for mark in chart.marks])
    axes.tick_params(axis="y", length=0, labelsize=9)
    if scale.low <= 0 <= scale.high:
        axes.axvline(scale.share(0), color=_INK, linewidth=0.7)
    for row, mark in enumerate(chart.marks):
        axes.text(1.4, row, _text(mark.shown), transform=axes.get_yaxis_transform(), ha="right", va="center", size=9)
        _row(axes, mark, row, scale, bar=not chart.dots)


def _row(axes: Any, mark: Mark, row: int, scale: Scale, *, bar: bool) -> None:
    if mark.value is None:
        return
    value, zero = scale.share(mark.value), scale.share(0)
    if mark.low is not None and mark.high is not None:
        if bar:
            look = {"hatch": "////", "fill": False} if mark.doubtful else {"color": COLOURS[0]}
            drawn = axes.barh(row, value - zero, left=zero, height=0.64, edgecolor=COLOURS[0], **look)
            drawn[0].set_gid(f"bar-{row}")
        if not is_exact(mark):
            _interval(axes, [scale.share(mark.low), scale.share(mark.high)], [row, row], "|", row)
    _dot(axes, value, row, mark, row)


def _interval(axes: Any, xs: Sequence[float], ys: Sequence[float], cap: str, number: int) -> None:
    """A line with a cap at each end."""
    look = {"marker": cap, "markersize": 9, "markeredgewidth": 1.4, "linewidth": 1.4, "clip_on": False}
    axes.plot(xs, ys, color=_INK, gid=f"interval-{number}", **look)


def _dot(axes: Any, x: float, y: float, mark: Mark, number: int) -> None:
    fill = "none" if mark.doubtful else _INK
    axes.plot(x, y, "o", color=_INK, markerfacecolor=fill, markersize=5.5, clip_on=False, gid=f"value-{number}")


def _lines(axes: Any, chart: Lines) -> None:
    points = [point for series in chart.series for point in series.points]
    from_zero = any(series.shape is not Shape.LINE for series in chart.series) or all(
        is_exact(point.mark) for point in points
    )
    numbers = [number for point in points for number in point.mark.numbers]
    across = scale_of((point.at for point in points), with_zero=False)
    along = scale_of([*numbers, *(at for at, _ in chart.along.ticks)], with_zero=from_zero)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    _ticked(axes.xaxis, across, chart.across.ticks or across.ticks(6))
    _ticked(axes.yaxis, along, chart.along.ticks or along.ticks(5))
    axes.set_xlabel(_text(chart.across.name, _LINE))
    axes.set_ylabel(_text(chart.along.name, 2 * _LABEL))
    if along.low < 0 < along.high:
        axes.axhline(along.share(0), color=_INK, linewidth=0.7)
    drawn = [_series(axes, series, number, across, along) for number, series in enumerate(chart.series)]
    if len(drawn) > 1:  # a name that begins with _ would be left out without the space
        axes.legend(drawn, [f" {_text(series.name, 28)}" for series in chart.series], fontsize=9)


def _series(axes: Any, series: Series, number: int, across: Scale, along: Scale) -> Any:
    """The line, with what hangs from it."""
    drawn = [(across.share(p.at), along.share(p.mark.value), p.mark) for p in series.points if p.mark.value is not None]
    xs, ys, marks = [x for x, _, _ in drawn], [y for _, y, _ in drawn], [mark for _, _, mark in drawn]
    colour, steps = COLOURS[number], series.shape is Shape.STEPS
    look = {"linestyle": (0, (4, 3)) if number else "-", "drawstyle": "steps-post" if steps else "default"}
    (line,) = axes.plot(xs, ys, color=colour, linewidth=1.6, gid=f"series-{number}", clip_on=False, **look)
    if series.shape is not Shape.LINE:
        hatch = "////" if number else None
        step = "post" if steps else None
        axes.fill_between(
            xs, ys, along.share(0), color=colour, alpha=0.35, hatch=hatch, step=step, gid=f"area-{number}"
        )
        return line
    known = [
        (x, along.share(mark.low), along.share(mark.high))
        for x, _, mark in drawn
        if mark.low is not None and mark.high is not None
    ]
    exact = all(map(is_exact, marks))
    if len(known) > 1 and not exact:
        axes.fill_between(*zip(*known, strict=True), color=colour, alpha=0.35, linewidth=0, gid=f"band-{number}")
    if not exact and len(known) <= _MOST_CAPS:
        for place, (x, low, high) in enumerate(known):
            _interval(axes, [x, x], [low, high], "_", place)
    for place, (x, y, mark) in enumerate(drawn):
        _dot(axes, x, y, mark, place)
        if exact:
            axes.annotate(_text(mark.text), (x, y), (5, 5), textcoords="offset points", size=8.5)
    return line


def _ticked(axis: Any, scale: Scale, ticks: Sequence[tuple[float, str]]) -> None:
    axis.set_ticks([scale.share(at) for at, _ in ticks], labels=[_text(text, _LABEL) for _, text in ticks])
    axis.set_tick_params(labelsize=9)
    axis.axes.set_axisbelow(True)
    axis.axes.spines[:].set_visible(False)
    axis.grid(color=_FAINT, linewidth=0.5)


def _icons(axes: Any, chart: Icons) -> None:
    """Two arrays side by side: full who was thought of before, hatched who is only after, hollow the others."""
    axes.set(xlim=(-0.5, 23.5), ylim=(9.5, -1.5))
    axes.set_axis_off()
    for left, name, marked in ((0, "before", chart.before), (13, "after, at most", chart.after)):
        axes.text(left - 0.4, -1, f"{name}: {marked} of {PEOPLE}", weight="bold", size=9)
        looks: tuple[tuple[str, range, dict[str, object]], ...] = (
            ("before", range(chart.before), {"color": COLOURS[0]}),
            ("added", range(chart.before, marked), {"facecolor": "none", "edgecolor": COLOURS[1], "hatch": "//////"}),
            ("others", range(max(chart.before, marked), PEOPLE), {"facecolor": "none", "edgecolor": _FAINT}),
        )
        for kind, people, look in looks:
            places = [left + each % 10 for each in people], [each // 10 for each in people]
            axes.scatter(*places, s=120, gid=f"{kind}-{left}", **look)


_DRAWN: Final[Mapping[type, Callable[[Any, Any], None]]] = {Bars: _bars, Lines: _lines, Icons: _icons}
_HEIGHTS: Final[Mapping[type, Callable[[Any], float]]] = {
    Bars: lambda chart: _ROW * max(1, len(chart.marks)),
    Lines: lambda chart: 280.0,
    Icons: lambda chart: 320.0,
}
_SIDES: Final = {Bars: (170.0, 545.0), Lines: (84.0, 670.0), Icons: (12.0, 708.0)}
"""Where the axes begin and end, in pixels of the width."""
