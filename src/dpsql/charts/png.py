"""A chart as PNG, by matplotlib: the drawing of the SVG, on white. No window, and nothing of pyplot is touched."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, Final
from warnings import catch_warnings, simplefilter

from dpsql.charts.drawing import Area, Dot, Paint, Stroke, Words
from dpsql.charts.figure import Chart
from dpsql.charts.layout import laid_out
from dpsql.errors import MissingExtra

_DPI: Final = 160
_PIXELS: Final = 100
"""Of a drawing in one inch."""
_POINTS: Final = 72 / _PIXELS
_COLOURS: Final[Mapping[Paint, str]] = {
    Paint.INK: "#1b1f24",
    Paint.FAINT: "#8a929c",
    Paint.FIRST: "#3a7fc1",
    Paint.SECOND: "#c2691c",
}
_SIDES: Final = {"start": "left", "middle": "center", "end": "right"}


def require_png() -> None:
    """Raises where no PNG can be drawn. Nothing is loaded for it."""
    if find_spec("matplotlib") is None:
        raise _missing()


def _missing() -> MissingExtra:
    return MissingExtra(
        "matplotlib is not installed",
        why="PNG pictures are drawn by it; SVG, HTML and text need nothing",
        fix="pip install matplotlib, or save the picture as .svg or .html",
    )


def in_png(chart: Chart) -> bytes:
    """The bytes of the file; its words are in it too, for who does not see it."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise _missing() from None
    drawing = laid_out(chart)
    figure = Figure(figsize=(drawing.width / _PIXELS, drawing.height / _PIXELS), dpi=_DPI, facecolor="white")
    page = figure.add_axes((0, 0, 1, 1))
    page.set_axis_off()
    page.set_xlim(0, drawing.width)
    page.set_ylim(drawing.height, 0)
    for depth, part in enumerate(drawing.parts):
        _DRAWN[type(part)](page, part, depth)
    out = io.BytesIO()
    with catch_warnings():
        simplefilter("ignore")  # a letter that the font does not have is drawn as a box; the words name it
        FigureCanvasAgg(figure).print_png(out, metadata={"Title": chart.title, "Description": chart.alt})
    return out.getvalue()


def _area(page: Any, part: Area, depth: int) -> None:
    from matplotlib.patches import Polygon

    colour = _COLOURS[part.paint]
    seen = 0.35 if part.pale else 1.0
    fill = "none" if part.hatched else colour
    hatch = "////" if part.hatched else None
    edge = colour if part.hatched else "none"
    page.add_patch(
        Polygon(part.outline, closed=True, facecolor=fill, edgecolor=edge, hatch=hatch, alpha=seen, zorder=depth)
    )


def _stroke(page: Any, part: Stroke, depth: int) -> None:
    xs, ys = zip(*part.through, strict=True)
    style = (0, (4, 3)) if part.dashed else "-"
    page.plot(
        xs, ys, color=_COLOURS[part.paint], linewidth=part.size * _POINTS, linestyle=style, marker="", zorder=depth
    )


def _dot(page: Any, part: Dot, depth: int) -> None:
    from matplotlib.patches import Circle

    colour = _COLOURS[part.paint]
    page.add_patch(
        Circle(
            part.at,
            part.radius,
            facecolor="none" if part.hollow else colour,
            edgecolor=colour,
            linewidth=1,
            zorder=depth,
        )
    )


def _words(page: Any, part: Words, depth: int) -> None:
    page.text(
        *part.at,
        part.text,
        fontsize=part.size * _POINTS,
        fontweight="bold" if part.bold else "normal",
        fontfamily="monospace" if part.fixed else "sans-serif",
        horizontalalignment=_SIDES[part.align.value],
        verticalalignment="baseline",
        color=_COLOURS[Paint.INK],
        parse_math=False,  # a key with $ is a key
        usetex=False,
        zorder=depth,
    )


_DRAWN: Final[Mapping[type, Callable[[Any, Any, int], None]]] = {
    Area: _area,
    Stroke: _stroke,
    Dot: _dot,
    Words: _words,
}
