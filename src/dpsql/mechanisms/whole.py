"""Whole numbers and lists of them in, of whatever type an engine returned; anything else is refused without being
shown."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Final, TypeVar

from dpsql.errors import BadParameter
from dpsql.require import require_count

T = TypeVar("T")

LARGEST_WHOLE: Final = 2**400
"""Larger sensitivities, shifts and values are mistakes, and would make exact sums slow."""

LARGEST_ROOT: Final = 2**200
"""The square root of `LARGEST_WHOLE`, for lengths that are squared."""


def whole(value: int) -> int:
    """`value` as a Python integer. The message names no value: it may be somebody's."""
    try:
        return index(value)
    except TypeError:
        raise BadParameter(
            "the value to release is not a whole number",
            why="the noise is a whole number; on a floating-point number it could be undone from the last digits",
            fix="put the value on a grain first (dpsql.sensitivity.grain)",
        ) from None


def require_whole(*, at_least: int = -LARGEST_WHOLE, **named: int) -> None:
    """Each value is a whole number of a size that exact arithmetic handles at once."""
    require_count(at_least=at_least, at_most=LARGEST_WHOLE, **named)


def require_listed(values: object, *, name: str) -> None:
    """`values` is a list, tuple, range or one-dimensional array. The message names its type alone."""
    array = hasattr(values, "__array__") and getattr(values, "ndim", 1) == 1
    if isinstance(values, (str, bytes)) or not (isinstance(values, Sequence) or array):
        raise BadParameter(
            f"{name} came as {type(values).__name__}, not as a list",
            why="every entry has its own place; a text is one entry, and mappings and sets have no places",
            fix="pass a list, a tuple or an array",
        )


def listed_once(public: Sequence[T], *, name: str) -> tuple[T, ...]:
    """A public list as a tuple, in which nothing stands twice. Entries that cannot be hashed are not compared."""
    require_listed(public, name=name)
    entries = tuple(public)
    try:
        different = len(set(entries))
    except TypeError:  # cannot be hashed
        return entries
    if different != len(entries):
        raise BadParameter(
            f"an entry of {name} is listed twice",
            why="what stands in a list twice comes out about twice as often",
            fix=f"list every entry of {name} once",
        )
    return entries


def whole_vector(values: Sequence[int], *, dimensions: int) -> list[int]:
    """`values` as Python integers, exactly `dimensions` of them."""
    require_listed(values, name="the vector to release")
    if len(values) != dimensions:
        raise BadParameter(
            "the vector to release has not the number of coordinates its mechanism was made for",
            why="the number of coordinates is public, so it is fixed before any row is read",
            fix="give every public coordinate a value, 0 where there is no row",
        )
    return [whole(value) for value in values]
