"""Whole numbers and lists of them in, of whatever type an engine returned; anything else is refused without being
shown."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Final, TypeVar

from dpsql.require import require_count, require_that, unmet

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
        raise unmet("the value to release is not a whole number") from None


def require_whole(*, at_least: int = -LARGEST_WHOLE, **named: int) -> None:
    """Each value is a whole number of a size that exact arithmetic handles at once."""
    require_count(at_least=at_least, at_most=LARGEST_WHOLE, **named)


def require_listed(values: object, *, name: str) -> None:
    """`values` is a list, tuple, range or one-dimensional array. The message names its type alone."""
    array = hasattr(values, "__array__") and getattr(values, "ndim", 1) == 1
    if isinstance(values, (str, bytes)) or not (isinstance(values, Sequence) or array):
        raise unmet(f"{name} came as {type(values).__name__}, not as a list")


def listed_once(public: Sequence[T], *, name: str) -> tuple[T, ...]:
    """A public list as a tuple, in which nothing stands twice. Entries that cannot be hashed are not compared."""
    require_listed(public, name=name)
    entries = tuple(public)
    try:
        different = len(set(entries))
    except TypeError:  # cannot be hashed
        return entries
    require_that(different == len(entries), f"an entry of {name} is listed twice")
    return entries


def whole_vector(values: Sequence[int], *, dimensions: int) -> list[int]:
    """`values` as Python integers, exactly `dimensions` of them."""
    require_listed(values, name="the vector to release")
    if len(values) != dimensions:
        raise unmet("the vector to release has not the number of coordinates its mechanism was made for")
    return [whole(value) for value in values]
