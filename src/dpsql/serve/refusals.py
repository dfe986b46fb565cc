"""How often somebody was refused: every refusal is an entry, and nobody may fill the disk with what costs nothing."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Final

from dpsql.errors import NO_REFUSALS, NotPermitted

_WINDOW: Final = 3600.0
_NO_REFUSALS: Final = frozenset(kind.code for kind in NO_REFUSALS)


class Refusals:
    """Of each holder of a token the last ones, `most` of them within an hour. One more question is then refused without
    an entry, until the first of them is an hour old."""

    def __init__(self, most: int, *, clock: Callable[[], float] = monotonic) -> None:
        self._most, self._clock = most, clock
        self._lock = threading.Lock()
        self._last: dict[str, deque[float]] = {}

    def require_few(self, name: str) -> None:
        """Raises where too many questions of `name` were refused."""
        with self._lock:
            last = self._last.get(name)
            many = last is not None and len(last) == self._most and self._clock() - last[0] < _WINDOW
        if many:
            raise NotPermitted(
                f"{self._most} of your questions were refused within an hour",
                why="each refusal is written down, and the ledger must not be filled by questions that cost nothing",
                fix="look at why they were refused, and ask again in an hour",
            )

    def count(self, name: str, code: str | None) -> None:
        """A question of `name` has ended in an error of this code; None: it was answered."""
        if code is None or code in _NO_REFUSALS:
            return
        with self._lock:
            self._last.setdefault(name, deque(maxlen=self._most)).append(self._clock())
