"""Where numbers stand on an axis, and the round numbers that label it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

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
