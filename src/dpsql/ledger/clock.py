"""The clock of the machine. Ledgers take another one where they are given it, and none that is plainly wrong."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Final

from dpsql.ledger.ledger import Unusable

LATEST: Final = 253_402_300_799
"""The end of the year 9999: no calendar here goes further."""
_FIRST_YEAR: Final = 1_767_225_600
"""The beginning of 2026: an entry from before has the time of a clock that was never set."""
_LONGEST_PAUSE: Final = 10 * 366 * 86_400


def utc_seconds() -> int:
    """Whole seconds since 1970, UTC."""
    return int(time.time())


def time_after(last: int, *, clock: int) -> int:
    """What time it is by the clock, never before the last entry. Unusable where the clock is years ahead of that entry:
    written down, its time would end every grant that ends at all, on every machine and for good."""
    if clock > LATEST or (last >= _FIRST_YEAR and clock > last + _LONGEST_PAUSE):
        raise Unusable(
            f"the clock of this machine is wrong: it says {_shown(clock)}, and the last entry is of {_shown(last)}",
            why="time in a ledger does not go back: what is dated too late ends every grant with a last day",
            fix="set the clock of this machine, then ask again: nothing was written",
        )
    return max(clock, last)


def _shown(seconds: int) -> str:
    """A day, as far as the calendar goes."""
    return "a day after the year 9999" if seconds > LATEST else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"
