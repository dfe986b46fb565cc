"""What a chart says, whatever it is drawn with: marks with their intervals, words, and places on an axis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

DOUBTFUL: Final = "⚠"
PEOPLE: Final = 100
"""Of an array of icons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One number with its interval."""

    label: str
    value: float | None
    """None: there is no number, and nothing to draw."""
    low: float | None
    high: float | None
    """None: no interval can be given. Then no bar is drawn either."""
    text: str
    """As people read it: `2 611 ± 15`."""
    doubtful: bool = False
    """The noise may be all there is."""

    @property
    def numbers(self) -> tuple[float, ...]:
        return tuple(number for number in (self.value, self.low, self.high) if number is not None)

    @property
    def shown(self) -> str:
        return f"{self.text} {DOUBTFUL}" if self.doubtful else self.text


def is_exact(mark: Mark) -> bool:
    """It carries no noise: its interval is itself."""
    return mark.value is not None and mark.low == mark.value == mark.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """A number for each group: bars from 0, or dots alone."""

    title: str
    along: str
    """What the numbers are."""
    marks: tuple[Mark, ...]
    notes: tuple[str, ...] = ()
    dots: bool = False

    @property
    def alt(self) -> str:
        return _said(f"{self.title}: {self.along} for each of {len(self.marks)} groups.", self.marks)


class Shape(Enum):
    """How the points of a series hang together."""

    LINE = "line"
    AREA = "area"
    STEPS = "steps"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A mark at a place."""

    at: float
    mark: Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Points in the order of their places."""

    name: str
    points: tuple[Point, ...]
    shape: Shape = Shape.LINE


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """What is measured along a side, and where it is labelled; no ticks: at round numbers."""

    name: str
    ticks: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Numbers over an ordered quantity: a line with its band, two overlapping areas, or steps."""

    title: str
    across: Axis
    along: Axis
    series: tuple[Series, ...]
    notes: tuple[str, ...] = ()

    @property
    def alt(self) -> str:
        names = " and ".join(series.name for series in self.series)
        marks = [point.mark for point in self.series[0].points] if len(self.series) == 1 else []
        return _said(f"{self.title}: {names}, {self.along.name} over {self.across.name}.", marks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Icons:
    """What somebody may come to believe about one person: so many of a hundred before, at most so many after."""

    title: str
    before: int
    after: int
    notes: tuple[str, ...] = ()

    @property
    def alt(self) -> str:
        return f"{self.title}: before, {self.before} of {PEOPLE} people; after, at most {self.after} of {PEOPLE}."


Chart: TypeAlias = Bars | Lines | Icons


def _said(first: str, marks: Sequence[Mark]) -> str:
    """The chart in words: a few of its numbers, read as a screen reader says them."""
    few = 12
    read = [f"{mark.label}: {_spoken(mark)}" for mark in marks[:few]]
    more = [f"and {len(marks) - few} more"] if len(marks) > few else []
    return " ".join([first, "; ".join([*read, *more]) + "."]) if read else first


def _spoken(mark: Mark) -> str:
    words = mark.text.replace("\u2009", "").replace("±", "plus or minus")
    return f"{words}, too noisy to use" if mark.doubtful else words


_STEPS: Final = (1, 2, 5, 10)
_MOST_DIGITS: Final = 6
_LARGEST: Final = 1e290
"""What is larger stands at the end: differences of such numbers would be no numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Numbers from `low` to `high`, which differ."""

    low: float
    high: float

    def share(self, number: float) -> float:
        """0 at the low end, 1 at the high end."""
        return min(1.0, max(0.0, (number - self.low) / (self.high - self.low)))

    def ticks(self, most: int) -> tuple[tuple[float, str], ...]:
        """Round numbers inside it, about so many."""
        step = _round_step((self.high - self.low) / max(1, most))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return tuple((index * step, tick_text(index * step)) for index in range(first, last + 1))


def scale_of(numbers: Iterable[float], *, with_zero: bool) -> Scale:
    """The smallest scale with all of these numbers, and with 0 where bars start; of one number, a bit around it."""
    found = [min(_LARGEST, max(-_LARGEST, number)) for number in numbers] + [0.0] * with_zero
    low, high = min(found, default=0.0), max(found, default=1.0)
    if high - low <= max(1e-12 * max(abs(low), abs(high)), 1 / _LARGEST):
        size = abs(high) / 10 if abs(high) > 1 / _LARGEST else 1.0
        low, high = (low - size * (not with_zero or low < 0), high + size * (not with_zero or low >= 0))
    return Scale(low=low, high=high)


def tick_text(number: float) -> str:
    """A round number as people read it."""
    rounded = float(f"{number:.{_MOST_DIGITS}g}") + 0.0
    if rounded and not 1e-4 <= abs(rounded) < 1e15:
        return f"{rounded:g}"
    text = f"{rounded:,.10f}".rstrip("0").rstrip(".")
    return text.replace(",", "\u2009")


def _round_step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return power * next(step for step in _STEPS if step * power >= least * (1 - 1e-9))
