"""What a client is told: prices, answers, budgets and audits, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike

import dpsql
from dpsql import Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What an answer would be charged, and the ± of its columns where it is known before."""

    epsilon: Fraction
    delta: Fraction
    margins: Mapping[str, object]


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
class ServedAnswer(dpsql.Tabular[object]):
    """Rows of plain values; a released number is an `Estimate` with value, margin, low and high."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
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

    @property
    def cost(self) -> Cost:
        """What it cost."""
        return Cost(epsilon=self.epsilon, delta=self.delta)

    def plot(
        self,
        kind: str | None = None,
        *,
        y: str | None = None,
        most: int | None = None,
        title: str | None = None,
        file: str | PathLike[str] | None = None,
    ) -> dpsql.Picture:
        """The picture of it, with its margins: `dpsql.plot`. Free: what was told is drawn."""
        return dpsql.plot(self, kind=kind, y=y, most=most, title=title, file=file)

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
