"""Fewer examples in an ordinary run, all of them in `make audit` and `make explore`."""

import os
from collections.abc import Sequence
from typing import Final, TypeVar

from hypothesis import settings

EVERY: Final = "DPSQL_EVERY_CASE" in os.environ or "HYPOTHESIS_PROFILE" in os.environ

Row = TypeVar("Row")


def examples(few: int, *, every: int = 100) -> settings:
    """So many examples of a property that is dear to try."""
    return settings(max_examples=every, deadline=None) if EVERY else settings(max_examples=few, deadline=None)


def some(rows: Sequence[Row], *, step: int) -> Sequence[Row]:
    """Every so many of the rows, the first among them."""
    return rows if EVERY else rows[::step]
