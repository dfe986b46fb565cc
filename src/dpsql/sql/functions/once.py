"""Texts that need a value more than once, without copying it: copies of copies would double at every level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_SHORT: Final = 100
"""Characters that may be written again. Longer texts are named, so the whole grows linearly with the expression."""


def once(text: str, body: Callable[[str], str], *, beside: str = "") -> str:
    """`body` of a value that is computed once. `beside` is any other expression the body contains."""
    if len(text) <= _SHORT:
        return body(text)
    number = 1
    while f"v{number}" in text or f"v{number}" in beside:
        number += 1
    return f"list_transform([{text}], lambda v{number}: {body(f'v{number}')})[1]"


def where(text: str, condition: Callable[[str], str]) -> str:
    """The value where the condition holds, NULL elsewhere."""
    return once(text, lambda v: f"CASE WHEN {condition(v)} THEN {v} END")


def finite(text: str) -> str:
    """A double, or NULL for NaN and the infinities."""
    return where(text, lambda v: f"isfinite({v})")


LONGEST: Final = 16_384
"""Bytes a text may grow to. Without a limit, doubling a text a few times would fill the memory for some rows only."""


def not_longer(text: str, than: int) -> str:
    """A text of at most so many bytes, else NULL."""
    return where(text, lambda v: f"strlen({v}) <= {than}")


def short(text: str) -> str:
    return not_longer(text, LONGEST)


def inside(text: str, low: int, high: int) -> str:
    """A whole number from `low` to `high`, else NULL. In 64 bits: released sums may come in 128."""
    return once(text, lambda v: f"CASE WHEN {v} BETWEEN {low} AND {high} THEN CAST({v} AS BIGINT) END")


def not_zero(text: str) -> str:
    return where(text, lambda v: f"{v} <> 0")


def calendar_dates(text: str) -> str:
    """A date of the years 1 to 9999, else NULL; also the infinite dates are NULL."""
    return where(text, lambda v: f"{v} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'")


def calendar_times(text: str) -> str:
    """A timestamp of the years 1 to 9999, else NULL."""
    first, last = "TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 23:59:59.999999'"
    return where(text, lambda v: f"{v} BETWEEN {first} AND {last}")
