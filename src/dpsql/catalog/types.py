"""The types a column or an expression may have."""

from __future__ import annotations

from enum import Enum
from typing import Final


class SqlType(Enum):
    """Six types are enough: wider and narrower ones of an engine are read as one of these, or not at all."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    """64 bits. Narrower integers are widened when they are read; of wider ones, what fits into 64 bits."""
    DOUBLE = "double"
    """Also decimals, row by row; sums are taken on a grain, in integers: that of the last digit, where it is known."""
    TEXT = "text"
    """Compared by its bytes."""
    DATE = "date"
    TIMESTAMP = "timestamp"
    """Microseconds, without a zone; the engine's zone is UTC."""

    __hash__ = object.__hash__  # there is one object of each; every node of an expression has one of them


NUMERIC: Final = frozenset({SqlType.INTEGER, SqlType.DOUBLE})
TEMPORAL: Final = frozenset({SqlType.DATE, SqlType.TIMESTAMP})
