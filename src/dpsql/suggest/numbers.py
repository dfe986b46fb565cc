"""Numbers and days of metadata as values of a policy."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal

from dpsql.catalog.toml_spelling import Value


def plain(value: object) -> Value | None:
    """A finite number or a day; None: anything else."""
    if isinstance(value, (bool, datetime)):
        return None
    if isinstance(value, int | date):
        return value
    if isinstance(value, float):
        return Decimal(repr(value)) if math.isfinite(value) else None
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            return None
    return None
