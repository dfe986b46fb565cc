"""A page with shapes and words on it, in pixels from its upper left corner: what SVG and PNG have in common."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

Place: TypeAlias = tuple[float, float]


class Paint(Enum):
    """What a shape is painted with. Colours never say anything alone: hatching, dashes and words say it too."""

    INK = "ink"
    """The colour of the text around it."""
    FAINT = "faint"
    FIRST = "first"
    SECOND = "second"


class Align(Enum):
    START = "start"
    MIDDLE = "middle"
    END = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """A filled outline."""

    outline: tuple[Place, ...]
    paint: Paint
    hatched: bool = False
    pale: bool = False
    """What lies below it is seen through it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stroke:
    """A line through some places."""

    through: tuple[Place, ...]
    paint: Paint = Paint.INK
    size: float = 2
    dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    at: Place
    paint: Paint = Paint.INK
    radius: float = 4
    hollow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """One line of text; `at` is on its base line."""

    at: Place
    text: str
    align: Align = Align.START
    size: float = 13
    bold: bool = False
    fixed: bool = False
    """Every letter as wide as the others."""


Part: TypeAlias = Area | Stroke | Dot | Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """The parts, the first below the others."""

    width: float
    height: float
    parts: tuple[Part, ...]


def box(x: float, y: float, wide: float, high: float) -> tuple[Place, ...]:
    """The corners of a rectangle."""
    return ((x, y), (x + wide, y), (x + wide, y + high), (x, y + high))
