"""Who asks: an analyst beside the data, or a client of a server. Their differences are here alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log10
from typing import TypeAlias

from dpsql import Analyst, Answer, Client, ServedAnswer, budget_bar, in_hundredths

Asker: TypeAlias = Analyst | Client
Told: TypeAlias = Answer | ServedAnswer
Rows: TypeAlias = Sequence[Sequence[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What an answer would cost, and the ± of its columns where it is known before."""

    cost: Fraction
    margins: Mapping[str, Fraction | None]


def bar(asker: Asker) -> str:
    """What can be spent, as ten boxes and in numbers."""
    budget = asker.budget
    return f"{budget_bar(budget.left, budget.total)} {in_hundredths(budget.left)} of {in_hundredths(budget.total)}"


def free(asker: Asker, sql: str) -> Rows:
    """The rows of what costs nothing, such as the views of the policy and the ledger."""
    return asker.sql(sql, max_cost=0).rows


def offered(asker: Asker, sql: str) -> Offer:
    """The price of a question: nothing is read, nothing is spent."""
    query = asker.query(sql)
    return Offer(cost=query.cost.epsilon, margins=query.margins)


def shown_margin(margin: Fraction | None) -> str:
    """± and the margin to two digits, never below what it is; whole ones in full."""
    if margin is None:
        return "± ?"
    if margin.denominator == 1 or not margin:
        return f"± {int(margin):,}".replace(",", "\u2009")
    places = max(0, 1 - floor(log10(margin)))
    return f"± {ceil(margin * 10**places) / 10**places:,.{places}f}".replace(",", "\u2009")
