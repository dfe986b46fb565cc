"""The picture of an answer: which of its columns are drawn, and how. It asks nothing: what was told is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from math import isfinite
from numbers import Real
from os import PathLike
from typing import Final

from dpsql.charts.figure import Axis, Bars, Chart, Lines, Mark, Point, Series
from dpsql.charts.picture import Picture as Picture
from dpsql.charts.picture import picture_path as picture_path
from dpsql.errors import BadName, BadParameter
from dpsql.require import require_count
from dpsql.session.digits import shown_number, shown_percent, shown_value
from dpsql.session.formats import Told
from dpsql.session.noisy import Estimate, Noisy
from dpsql.session.render import MEANING, is_doubtful, plain_cell
from dpsql.session.tables import COLUMN, INVENTED, unique_names
from dpsql.sql.finish import SEEN_AT_ONCE

_MOST_POINTS: Final = 400
_TICKS: Final = 6
_MIDNIGHT: Final = " 00:00:00"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawn:
    """The columns that are drawn."""

    x: str
    """The names of the groups; empty where there is one row without any."""
    y: str
    keys: tuple[tuple[object, ...], ...]
    cells: tuple[object, ...]
    notes: tuple[str, ...]
    invented: bool
    """Of rows that were made from the policy: what nobody may overlook is in the title."""

    def titled(self, title: str | None) -> str:
        own = title or (f"{self.y} by {self.x}" if self.x else self.y)
        return f"{INVENTED.partition(':')[0]}: {own}" if self.invented else own


def plot(
    answer: Told,
    *,
    kind: str | None = None,
    y: str | None = None,
    most: int | None = None,
    title: str | None = None,
    file: str | PathLike[str] | None = None,
) -> Picture:
    """The picture of an answer: its groups against its first noisy column, or the one named `y`.

    `kind` is "bar", "dot" or "line"; unless said, a line where the groups are dates and else bars. Of more groups than
    `most`, the first ones of the answer are drawn, and the picture says so. With `file`, it is saved too.
    """
    if file is not None:
        picture_path(file)
    drawn = _columns(answer, y)
    chosen = kind or ("line" if _is_timed(drawn) else "bar")
    if chosen not in _KINDS:
        raise BadParameter(
            f"kind={kind!r} is no kind of picture", why="three are known", fix=f"use one of {', '.join(_KINDS)}"
        )
    limit = (_MOST_POINTS if chosen == "line" else SEEN_AT_ONCE) if most is None else most
    require_count(most=limit)
    picture = Picture(chart=_KINDS[chosen](_first(drawn, limit), title))
    if file is not None:
        picture.save(file)
    return picture


def _columns(answer: Told, y: str | None) -> _Drawn:
    names = unique_names(answer.columns)
    columns = dict(zip(names, zip(*answer.rows, strict=True), strict=True)) if answer.rows else {}
    noisy = [name for name, cells in columns.items() if any(isinstance(cell, Noisy | Estimate) for cell in cells)]
    numbers = [name for name, cells in columns.items() if name not in noisy and _are_numbers(cells)]
    chosen = y if y is not None else next(iter(noisy or reversed(numbers)), None)
    if y is not None and y not in (noisy + numbers if columns else names):
        raise _no_such_column(y, noisy + numbers)
    if chosen is None or not columns:
        raise BadParameter(
            "there is nothing to draw",
            why="a picture shows numbers, and this answer has none" if answer.rows else "the answer has no rows",
            fix="ask for a number, such as COUNT(*), perhaps for each group: GROUP BY",
        )
    invented = INVENTED in answer.notes
    beside = {chosen, *noisy, *[COLUMN] * invented}
    keys = [name for name in names if name not in beside]
    notes = _notes(columns[chosen], answer)
    rows = tuple(zip(*(columns[name] for name in keys), strict=True)) if keys else ((),) * len(answer.rows)
    return _Drawn(x=", ".join(keys), y=chosen, keys=rows, cells=columns[chosen], notes=notes, invented=invented)


def _no_such_column(y: str, drawable: Sequence[str]) -> BadName:
    return BadName(
        f"y={y!r} is no column of numbers in this answer",
        why="a column has the name of its alias, or of the expression as it was written",
        fix=f"choose one of: {', '.join(drawable)}" if drawable else "ask for a number, such as COUNT(*)",
    )


def _are_numbers(cells: Sequence[object]) -> bool:
    """At least one number, and nothing else but NULL."""
    there = [cell for cell in cells if cell is not None]
    return bool(there) and all(isinstance(cell, Real) and not isinstance(cell, bool) for cell in there)


def _notes(cells: Sequence[object], answer: Told) -> tuple[str, ...]:
    """What ± and ⚠ mean where they are seen, and what was noted at the answer."""
    marks = [_mark("", cell) for cell in cells]
    percent = shown_percent(answer.confidence)
    notes = [f"± is {percent} %: how far off the noise may make a number"] if any(_noisy(cells)) else []
    notes += [MEANING] if any(mark.doubtful for mark in marks) else []
    return (*notes, *(f"note: {note}" for note in answer.notes))


def _noisy(cells: Sequence[object]) -> list[bool]:
    return [isinstance(cell, Noisy | Estimate) for cell in cells]


def _mark(label: str, cell: object) -> Mark:
    match cell:
        case None:
            return Mark(label=label, value=None, low=None, high=None, text="NULL")
        case Noisy() | Estimate():
            low, high = (None, None) if cell.low is None or cell.high is None else (float(cell.low), float(cell.high))
            text = " ± ".join(shown_number(cell.value, cell.margin))
            doubtful = is_doubtful(cell)
            return Mark(label=label, value=float(cell.value), low=low, high=high, text=text, doubtful=doubtful)
        case _:
            exact = float(cell)  # type: ignore[arg-type]  # a column of numbers
            text = shown_value(cell if isinstance(cell, int) else exact)
            if not isfinite(exact):
                return Mark(label=label, value=None, low=None, high=None, text=text)
            return Mark(label=label, value=exact, low=exact, high=exact, text=text)


def _first(drawn: _Drawn, most: int) -> _Drawn:
    """At most so many groups, in the order of the answer. Choosing them by their noisy numbers would need wider margins
    than the answer has: ORDER BY … LIMIT computes those."""
    if len(drawn.cells) <= most:
        return drawn
    note = f"the first {most} of {len(drawn.cells)} groups; most=… draws more, ORDER BY … LIMIT chooses the largest"
    return replace(drawn, keys=drawn.keys[:most], cells=drawn.cells[:most], notes=(note, *drawn.notes))


def _marks(drawn: _Drawn) -> tuple[Mark, ...]:
    days = all(map(_is_day, drawn.keys))
    labels = (" · ".join(map(plain_cell, key)).removesuffix(_MIDNIGHT * days) or drawn.y for key in drawn.keys)
    return tuple(_mark(label, cell) for label, cell in zip(labels, drawn.cells, strict=True))


def _is_day(key: tuple[object, ...]) -> bool:
    """A moment at midnight, as DATE_TRUNC makes them."""
    match key:
        case (datetime() as moment,):
            return moment.time() == time()
        case _:
            return key == (None,)


def _bars(drawn: _Drawn, title: str | None) -> Chart:
    return Bars(title=drawn.titled(title), along=drawn.y, marks=_marks(drawn), notes=drawn.notes)


def _dots(drawn: _Drawn, title: str | None) -> Chart:
    marks = _marks(drawn)
    return Bars(title=drawn.titled(title), along=drawn.y, marks=marks, notes=drawn.notes, dots=True)


def _is_timed(drawn: _Drawn) -> bool:
    """Every group is a date or a moment, and there are some."""
    return len(drawn.keys) > 1 and all(len(key) == 1 and isinstance(key[0], date | None) for key in drawn.keys)


def _line(drawn: _Drawn, title: str | None) -> Chart:
    """In the order of the groups; a group without a place is left out, and said to be."""
    placed = [(_place(key, drawn), mark) for key, mark in zip(drawn.keys, _marks(drawn), strict=True)]
    points = sorted(((at, mark) for at, mark in placed if at is not None), key=lambda point: point[0])
    left_out = len(placed) - len(points)
    notes = (f"{left_out} left out: NULL has no place on a line", *drawn.notes) if left_out else drawn.notes
    return Lines(
        title=drawn.titled(title),
        across=Axis(name=drawn.x, ticks=_ticks(points)),
        along=Axis(name=drawn.y),
        series=(Series(name=drawn.y, points=tuple(Point(at=at, mark=mark) for at, mark in points)),),
        notes=notes,
    )


def _place(key: tuple[object, ...], drawn: _Drawn) -> float | None:
    match key:
        case (None,):
            return None
        case (datetime() as moment,):
            return (moment.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds()
        case (date() as day,):
            return float(day.toordinal())
        case (bool(),):
            pass
        case (Real() as number,):
            return float(number)
    raise BadParameter(
        f"a line over {drawn.x or 'nothing'} cannot be drawn",
        why="its points need an order: one column of dates or numbers",
        fix='draw it with kind="bar", or GROUP BY one date or number',
    )


def _ticks(points: Sequence[tuple[float, Mark]]) -> tuple[tuple[float, str], ...]:
    """A few of the points, by their own names."""
    step = max(1, -(-len(points) // _TICKS))
    return tuple((at, mark.label) for at, mark in points[::step])


_KINDS: Final[Mapping[str, Callable[[_Drawn, str | None], Chart]]] = {"bar": _bars, "dot": _dots, "line": _line}
