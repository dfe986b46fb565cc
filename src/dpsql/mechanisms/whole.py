"""Whole numbers in, whatever integer type an engine returned; anything else is refused without being shown."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index

from dpsql.errors import BadParameter


def whole(value: int) -> int:
    """`value` as a Python integer. The message names no value: it may be somebody's."""
    try:
        return index(value)
    except TypeError:
        raise BadParameter(
            "the value to release is not a whole number",
            why="noise on a floating-point number can be undone from its last digits",
            fix="put the value on a grain first (dpsql.mechanisms.grain)",
        ) from None


def whole_vector(values: Sequence[int], *, dimensions: int) -> list[int]:
    """`values` as Python integers, exactly `dimensions` of them."""
    if len(values) != dimensions:
        raise BadParameter(
            "the vector to release has not the number of coordinates its mechanism was made for",
            why="the number of coordinates is public, so it is fixed before any row is read",
            fix="give every public coordinate a value, 0 where there is no row",
        )
    return [whole(value) for value in values]
