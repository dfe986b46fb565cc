"""How long a promise holds before the owner may renew it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final


class Window(Enum):
    """How long a promise holds before the owner may renew it. No window opens by itself: a renewal is an entry the
    owner writes into the ledger."""

    FOREVER = "forever"
    YEAR = "year"
    QUARTER = "quarter"
    MONTH = "month"
    WEEK = "week"
    DAY = "day"

    @property
    def renewals(self) -> int:
        """How many of them a year has at most."""
        return _A_YEAR_HAS.get(self, 0)

    @property
    def days(self) -> int:
        """How many days the shortest of them has."""
        return _DAYS.get(self, 0)


YEAR_DAYS: Final = 365
_A_YEAR_HAS: Final[Mapping[Window, int]] = {
    Window.YEAR: 1,
    Window.QUARTER: 4,
    Window.MONTH: 12,
    Window.WEEK: 53,
    Window.DAY: 366,
}
_DAYS: Final[Mapping[Window, int]] = {
    Window.YEAR: YEAR_DAYS,
    Window.QUARTER: 90,
    Window.MONTH: 28,
    Window.WEEK: 7,
    Window.DAY: 1,
}
