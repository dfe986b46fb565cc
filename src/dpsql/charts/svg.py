"""A chart as SVG: the same bytes for the same chart, no scripts, nothing fetched, readable on dark pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any, Final
from zlib import crc32

from dpsql.charts.drawing import Area, Dot, Drawing, Paint, Place, Stroke, Words
from dpsql.charts.figure import Chart
from dpsql.charts.layout import laid_out
from dpsql.charts.letters import printable, width

_CLASS: Final = "dpsql-chart"
_COLOURS: Final[Mapping[Paint, str]] = {
    Paint.INK: "currentColor",
    Paint.FAINT: "#8a929c",
    Paint.FIRST: "#3a7fc1",
    Paint.SECOND: "#c2691c",
}
"""Those that are not of the text stand out from white and from near black by 3 to 1 and more."""

_STYLE: Final = f".{_CLASS}-alone{{color:#1b1f24}}@media(prefers-color-scheme:dark){{.{_CLASS}-alone{{color:#e6edf3}}}}"


def in_svg(chart: Chart, *, alone: bool = True) -> str:
    """The chart as one element. `alone`: as a file of its own, with a colour for its words; else in the colour of the
    text of the page that it is put into."""
    return drawn_svg(laid_out(chart), title=chart.title, words=chart.alt, alone=alone)


def drawn_svg(drawing: Drawing, *, title: str, words: str, alone: bool) -> str:
    """A drawing as one element, with its title and the words that stand for it."""
    mark = f"{crc32(repr((drawing, title, words)).encode()):08x}"
    hatches = "".join(_hatch(mark, paint) for paint in (Paint.FIRST, Paint.SECOND))
    parts = "\n".join(_DRAWN[type(part)](part, mark) for part in drawing.parts)
    size = f'viewBox="0 0 {_number(drawing.width)} {_number(drawing.height)}" width="{_number(drawing.width)}"'
    named = f'role="img" aria-labelledby="{_CLASS}-t{mark} {_CLASS}-d{mark}"'
    kind = f'class="{_CLASS} {_CLASS}-alone"' if alone else f'class="{_CLASS}"'
    style = f"<style>{_STYLE}</style>\n" if alone else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {kind} {named} style="max-width:100%;height:auto"'
        ' font-family="system-ui, sans-serif" font-size="13" fill="currentColor">\n'
        f'<title id="{_CLASS}-t{mark}">{_xml(title)}</title>\n<desc id="{_CLASS}-d{mark}">{_xml(words)}</desc>\n'
        f"{style}<defs>{hatches}</defs>\n{parts}\n</svg>\n"
    )


def _xml(text: str) -> str:
    """Text that is no markup, and of characters that XML has."""
    return escape(printable(text).translate({0xFFFE: "�", 0xFFFF: "�"}), quote=True)


def _number(number: float) -> str:
    return f"{round(number, 1) + 0.0:g}"


def _hatch(mark: str, paint: Paint) -> str:
    return (
        f'<pattern id="{_CLASS}-{paint.value}{mark}" width="7" height="7" patternUnits="userSpaceOnUse"'
        f' patternTransform="rotate(45)"><path d="M0 0V7" stroke="{_COLOURS[paint]}" stroke-width="5"/></pattern>'
    )


def _path(places: tuple[Place, ...]) -> str:
    return "M" + "L".join(f"{_number(x)} {_number(y)}" for x, y in places)


def _area(part: Area, mark: str) -> str:
    fill = f"url(#{_CLASS}-{part.paint.value}{mark})" if part.hatched else _COLOURS[part.paint]
    outline = f' stroke="{_COLOURS[part.paint]}"' if part.hatched and not part.pale else ""
    pale = ' fill-opacity="0.35"' if part.pale else ""
    return f'<path d="{_path(part.outline)}Z" fill="{fill}"{pale}{outline}/>'


def _stroke(part: Stroke, mark: str) -> str:
    dashes = ' stroke-dasharray="6 4"' if part.dashed else ""
    colour, size = _COLOURS[part.paint], _number(part.size)
    return f'<path d="{_path(part.through)}" fill="none" stroke="{colour}" stroke-width="{size}"{dashes}/>'


def _dot(part: Dot, mark: str) -> str:
    x, y = map(_number, part.at)
    colour = _COLOURS[part.paint]
    fill = f'fill="none" stroke="{colour}" stroke-width="1.5"' if part.hollow else f'fill="{colour}"'
    return f'<circle cx="{x}" cy="{y}" r="{_number(part.radius)}" {fill}/>'


def _words(part: Words, mark: str) -> str:
    x, y = map(_number, part.at)
    align = "" if part.align.value == "start" else f' text-anchor="{part.align.value}"'
    size = "" if part.size == 13 else f' font-size="{_number(part.size)}"'
    weight = ' font-weight="600"' if part.bold else ""
    fixed = ""
    if part.fixed:  # as wide as its letters are many, whatever font there is
        wide = _number(width(part.text) * part.size * 0.6)
        letters = 'font-family="ui-monospace, monospace" xml:space="preserve"'
        fixed = f' {letters} textLength="{wide}" lengthAdjust="spacingAndGlyphs"'
    return f'<text x="{x}" y="{y}"{align}{size}{weight}{fixed}>{_xml(part.text)}</text>'


_DRAWN: Final[Mapping[type, Callable[[Any, str], str]]] = {Area: _area, Stroke: _stroke, Dot: _dot, Words: _words}
