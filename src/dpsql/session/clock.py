"""The one place that reads the clock."""

from __future__ import annotations

from datetime import UTC, date, datetime


def today() -> date:
    """The day in UTC."""
    return datetime.now(UTC).date()
