"""The processor time of requests that cost no privacy budget: so many seconds within a minute for each holder."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Final

from dpsql.errors import OutOfTime

_WINDOW: Final = 60.0


class TimeBudgets:
    """A bucket for each name. It holds `seconds`, and refills within a minute; a request is charged what it took, and
    is refused while the bucket is empty."""

    def __init__(self, seconds: float, *, clock: Callable[[], float] = monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._lock = threading.Lock()
        self._left: dict[str, tuple[float, float]] = {}
        """What was left of each, and when."""

    def require(self, name: str) -> None:
        """Raises where nothing is left."""
        with self._lock:
            left = self._now(name)
        if left > 0:
            return
        wait = 1 + int(-left * _WINDOW / self._seconds)
        raise OutOfTime(
            f"your requests have used {self._seconds:g} seconds of processor time within a minute",
            why="prices, explanations and plans cost no budget, so their time is limited; others wait for it",
            fix=f"ask again in {wait} s; the owner sets the limit: dpsql serve --planning",
        )

    def spend(self, name: str, seconds: float) -> None:
        with self._lock:
            self._left[name] = self._now(name) - seconds, self._clock()

    def _now(self, name: str) -> float:
        left, when = self._left.get(name, (self._seconds, 0.0))
        return min(self._seconds, left + (self._clock() - when) * self._seconds / _WINDOW)
