"""What goes over the wire: prices, answers, budgets and audits, as plain values, and the names they have there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from typing import Final, TypeAlias

import dpsql
from dpsql import Cost
from dpsql.codec import Codec, Only

Cell: TypeAlias = bool | int | float | str | date | datetime | Fraction | dpsql.Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What an answer would be charged, and the ± of its columns where it is known before."""

    epsilon: Fraction
    delta: Fraction
    margins: Mapping[str, Fraction | None]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Standing:
    """What an account may spend, and has spent, in ε."""

    total: Fraction
    spent: Fraction
    left: Fraction
    """What can really be spent: less than the grant has where the promise has less."""
    short: str
    """Where the promise and not the grant is short, in words; else nothing."""
    text: str
    """As a terminal shows it."""

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServedAnswer(dpsql.Tabular[Cell]):
    """Rows of plain values; a released number is an `Estimate` with value, margin, low and high."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    kinds: tuple[tuple[str, bool], ...]
    """Of each column the word for its type, and whether its cells have margins."""
    types: tuple[dpsql.ColumnType, ...] = field(init=False)
    epsilon: Fraction
    """What it cost."""
    delta: Fraction
    release: int | None
    confidence: Fraction
    notes: tuple[str, ...]
    head: str | None
    """Where the ledger ended when it was told; None where nothing of it was told."""
    text: str
    """As a terminal shows it."""
    budget: Standing | None = None
    """What can be spent after it; None where it only explains, or comes from invented rows."""
    is_text: bool = False
    """An explanation: its rows are lines, shown as they are."""
    again: dpsql.Again[ServedAnswer] | None = None
    """Asks its question again; None where nothing of the data was told."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "types", tuple(dpsql.ColumnType.of(*each) for each in self.kinds))

    @property
    def cost(self) -> Cost:
        """What it cost."""
        return Cost(epsilon=self.epsilon, delta=self.delta)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return dpsql.answer_page(self)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServedAudit:
    """What an audit found."""

    holds: bool
    """Every promise was kept, and every price agrees."""
    text: str
    markdown: str

    def __repr__(self) -> str:
        return self.text


LISTED: Final[Mapping[str, Only]] = {
    "answer": Only(
        ServedAnswer,
        (
            *("columns", "rows", "kinds", "epsilon", "delta", "release", "confidence"),
            *("notes", "head", "text", "budget", "is_text"),
        ),
    ),
    "noisy": Only(dpsql.Estimate, ("value", "margin", "low", "high", "doubtful")),
    "price": Only(Price, ("epsilon", "delta", "margins")),
    "budget": Only(Standing, ("total", "spent", "left", "short", "text")),
    "audit": Only(ServedAudit, ("holds", "text", "markdown")),
}
"""What may go over the wire: a new field does not before it is listed."""


def _told(*names: str) -> Codec:
    return Codec({"float": float} | {name: LISTED[name] for name in names}, whole=True, often={ServedAnswer})


WIRE: Final[Mapping[str, Codec]] = {
    "analyst": _told("answer", "noisy", "price", "budget"),
    "auditor": _told("budget", "audit"),
    "owner": _told("budget", "audit"),
}
"""The same for each role."""
