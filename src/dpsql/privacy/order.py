"""The order in which released rows are delivered: by their keys alone, so that it tells nothing else (rule 9)."""

from __future__ import annotations


def delivery_order(key: tuple[object, ...]) -> tuple[tuple[bool, object], ...]:
    """Sorts keys of one shape: by value, text by its bytes, NULL after everything."""
    return tuple(map(_part, key))


def _part(value: object) -> tuple[bool, object]:
    if value is None:
        return (True, b"")
    return (False, value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value)
