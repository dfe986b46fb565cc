"""The order in which released rows are delivered: by their keys alone, so that it tells nothing else (rule 9)."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any, TypeVar

T = TypeVar("T")
Row = TypeVar("Row", bound=tuple[Any, ...])


def delivery_order(key: tuple[object, ...]) -> tuple[tuple[bool, object], ...]:
    """Sorts keys of one shape: by value, text by its bytes, NULL after everything."""
    return tuple(map(_part, key))


def _part(value: object) -> tuple[bool, object]:
    if value is None:
        return (True, b"")
    return (False, value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value)


def in_delivery_order(values: Iterable[T]) -> tuple[T, ...]:
    """Values of one column in order of delivery.

    Python compares texts by code points, and UTF-8 keeps that order in its bytes: so they are compared as they are.
    """
    several = list(values)
    try:
        return tuple(sorted(several))  # type: ignore[type-var]  # a NULL, or values of two kinds, raise
    except TypeError:
        return tuple(sorted(several, key=lambda value: delivery_order((value,))))


def sorted_by_key(rows: Iterable[Row], *, keys: int) -> list[Row]:
    """Rows in order of delivery by their first `keys` values, by which no two agree."""
    several = list(rows)
    if keys == 1:
        try:
            return sorted(several, key=itemgetter(0))
        except TypeError:  # a NULL among them
            pass
    return sorted(several, key=lambda row: delivery_order(row[:keys]))
