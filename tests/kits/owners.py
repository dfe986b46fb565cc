"""Owners, in memory unless a path is said: one table, one promise and the defaults of questions, in one call."""

from pathlib import Path
from typing import Any, Final

import pandas as pd

import dpsql

PROMISE: Final = ("epsilon", "delta", "delta_prime", "accounting", "per")
DEFAULTS: Final = (
    *("cost_per_query", "noise", "mode", "max_keys", "selection_share", "delta_per_query", "confidence"),
)
AGED: Final = {"person": "id", "unique": True, "bounds": {"age": (0, 100)}}


def people(count: int) -> pd.DataFrame:
    """So many people, each of an age below 90."""
    return pd.DataFrame({"id": range(count), "age": [number % 90 for number in range(count)]})


def owner_of(
    rows: object,
    table: str = "people",
    *,
    path: str | Path = ":memory:",
    relation: str | None = None,
    **words: Any,
) -> dpsql.Owner:
    """Who has declared these rows, or so many people, and promised something, each by the words of its method."""
    promise, defaults = ({name: words.pop(name) for name in names if name in words} for names in (PROMISE, DEFAULTS))
    if isinstance(rows, int):
        rows, words = people(rows), AGED | words
    owner = dpsql.open(path)
    if relation is not None:
        owner.person(relation=relation)
    owner.register(table, rows, **words)
    owner.promise(**promise)
    owner.defaults(**defaults)
    return owner
