"""The picture people hold: shown in a terminal as text, in a notebook as SVG, saved as a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Final

from dpsql.charts.figure import Chart
from dpsql.charts.image import has_matplotlib, in_png, in_svg, require_matplotlib
from dpsql.charts.text import NARROWEST, WIDEST, in_text
from dpsql.errors import BadParameter

_WRITTEN: Final[Mapping[str, Callable[[Chart], bytes]]] = {
    ".png": in_png,
    ".svg": lambda chart: in_svg(chart).encode(),
    ".txt": lambda chart: f"{in_text(chart)}\n".encode(),
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Picture:
    """A chart of numbers that were told. Drawing it asks nothing and costs nothing."""

    chart: Chart

    @property
    def alt(self) -> str:
        """The picture in words, for who does not see it."""
        return self.chart.alt

    def text(self, *, columns: int = 80, plain: bool = False) -> str:
        """For a terminal of so many columns; plain: in letters every terminal has. A terminal of very few or very many
        gets what is drawn for the nearest width that charts have: what was paid for is shown."""
        if type(columns) is int and columns > 0:
            columns = min(max(columns, NARROWEST), WIDEST)
        return in_text(self.chart, columns=columns, plain=plain)

    def svg(self) -> str:
        return in_svg(self.chart)

    def save(self, file: str | PathLike[str]) -> Path:
        """Write it as the ending of the name says: .png, .svg or .txt. Returns where it is."""
        path = picture_path(file)
        content = _WRITTEN[path.suffix.lower()](self.chart)
        try:
            path.write_bytes(content)
        except OSError as error:
            raise BadParameter(
                f"the picture cannot be written to {path}: {error.strerror or error}",
                why="the answer is told all the same, and stays paid for",
                fix="name a file in a folder that exists and that you may write to, then ask again: it costs nothing",
            ) from None
        return path

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_svg_(self) -> str | None:
        """None where nothing draws it: a notebook then shows the text."""
        return in_svg(self.chart) if has_matplotlib() else None


def picture_path(file: object) -> Path:
    """The file to write; BadParameter where its name says no kind of picture, MissingExtra where nothing here draws
    that kind. Ask before anything is paid for."""
    if isinstance(file, str | PathLike):
        path = Path(file)
        if path.suffix.lower() in _WRITTEN and "\0" not in str(path):
            if path.suffix.lower() != ".txt":
                require_matplotlib()
            return path
    raise BadParameter(
        f"{file!r} names no file of a picture",
        why="the ending of the name says what is drawn",
        fix=f"end it in one of {', '.join(_WRITTEN)}",
    )
