"""The clock of the machine. Ledgers take another one where they are given it."""

from __future__ import annotations

import time


def utc_seconds() -> int:
    """Whole seconds since 1970, UTC."""
    return int(time.time())
