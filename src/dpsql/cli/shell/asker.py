"""Who asks: an analyst beside the data, or a client of a server. Their differences are here alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log10
from typing import TypeAlias

from dpsql import Analyst, Answer, Client, ServedAnswer, budget_bar
from dpsql.cli.price import shown_down, shown_up

Asker: TypeAlias = Analyst | Client
Told: TypeAlias = Answer | ServedAnswer
Rows: TypeAlias = Sequence[Sequence[object]]
price = shown_up


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What an answer would cost, and the ± of its columns where it is known before."""

    cost: Fraction
    margins: Mapping[str, Fraction | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Purse:
    """What can be spent, and what was."""

    total: Fraction
    spent: Fraction
    left: Fraction
    short: str

    def bar(self) -> str:
        """Ten signs, and the numbers; what is left is rounded down."""
        return f"{budget_bar(self.left, self.total)} {shown_down(self.left)} of {shown_down(self.total)}"


def answered(asker: Asker, sql: str, *, max_cost: Fraction) -> Told:
    """The answer to a statement, for at most this price."""
    return asker.sql(sql, max_cost=max_cost)


def free(asker: Asker, sql: str) -> Rows:
    """The rows of what costs nothing, such as the views of the policy and the ledger."""
    return answered(asker, sql, max_cost=Fraction(0)).rows


def offered(asker: Asker, sql: str) -> Offer:
    """The price of a question: nothing is read, nothing is spent."""
    if isinstance(asker, Client):
        price = asker.query(sql)
        return Offer(cost=price.epsilon, margins={name: _exact(margin) for name, margin in price.margins.items()})
    query = asker.query(sql)
    return Offer(cost=query.cost.epsilon, margins=query.margins)


def purse(asker: Asker) -> Purse:
    """What is left."""
    budget = asker.budget
    return Purse(total=budget.total, spent=budget.spent, left=budget.left, short=budget.short)


def explained(asker: Asker, sql: str) -> str:
    """How an answer would be protected."""
    return str(asker.explain(sql))


def quoted(text: str) -> str:
    """A text of SQL."""
    return "'" + text.replace("'", "''") + "'"


def shown_margin(margin: Fraction | None) -> str:
    """± and the margin to two digits, never below what it is; whole ones in full."""
    if margin is None:
        return "± ?"
    if margin.denominator == 1 or not margin:
        return f"± {int(margin):,}".replace(",", "\u2009")
    places = max(0, 1 - floor(log10(margin)))
    return f"± {ceil(margin * 10**places) / 10**places:,.{places}f}".replace(",", "\u2009")


def _exact(margin: object) -> Fraction | None:
    return Fraction(margin) if isinstance(margin, int | float | Fraction) else None
