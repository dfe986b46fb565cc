"""What an engine's catalogue says beyond names and types: keys, references, checks, listed values, comments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKey:
    """`columns` hold a key of `table`; enforced by the engine."""

    columns: tuple[str, ...]
    table: str
    """As `Engine.schema` names it."""
    to_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A condition that every row meets, as the engine prints it."""

    columns: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraints:
    """Of one table or view."""

    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    checks: tuple[Check, ...] = ()
    choices: Mapping[str, tuple[str, ...]]
    """By column of an enumeration type: the values the type lists."""
    comment: str = ""
    comments: Mapping[str, str]
    """By column."""
    view: bool = False
