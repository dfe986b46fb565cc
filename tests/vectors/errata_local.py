"""Slips of the lecture slides on local sensitivity, kept to show where their numbers come from."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpsql.sensitivity.column import Column


def rows_with_one_zero_less(data: Sequence[Fraction], *, column: Column) -> list[Fraction]:
    """The rows the slide computed with: those it prints above the declared range have one zero too many."""
    return [value / 10 if value > column.upper else value for value in data]
