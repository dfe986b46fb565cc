"""The questions of the owner, for suggestions: all of them are paid for, within a price, or none is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

from dpsql.catalog.model import Catalog
from dpsql.errors import BudgetExhausted
from dpsql.session.analyst import Analyst
from dpsql.session.answer_value import Answer
from dpsql.session.budget import Budget
from dpsql.session.digits import shown_amount, shown_up
from dpsql.session.inquiry import charged, together
from dpsql.session.query import Query
from dpsql.session.refusing import RefusalsIgnored
from dpsql.session.shortfall import too_dear, weighs


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPlace:
    """Where the owner asks, and where that is tried before."""

    planning: Analyst
    """Plans and prices, and answers nothing."""
    asking: Callable[[], Analyst]
    """Opens the account of the owner where there is none yet."""

    @property
    def catalog(self) -> Catalog:
        return self.planning.place.catalog


@dataclass(frozen=True, slots=True, kw_only=True)
class Bought:
    """What was asked, what was told, and what that has taken from the promise."""

    queries: Sequence[Query]
    answers: Sequence[Answer]
    taken: Fraction


Planned: TypeAlias = Callable[[Analyst, str], list[Query]]
"""The questions of a suggestion from this place, with this noise."""
NOISES: Final = ("laplace", "gaussian")
"""Laplace noise leaves the account open for whatever comes later, and takes its price where sums of ε are ahead. Where
those of ρ are, it may take more, and Gaussian noise takes its price."""


def bought_for(owner: OwnPlace, planned: Planned, spend: Fraction) -> Bought:
    """All questions are answered, or none is asked; no more than said is taken from the promise."""
    noise = _noise(owner.planning, planned, spend)
    queries = planned(owner.asking(), noise)
    taken = _taken(queries)
    if taken is None or taken > spend:  # somebody has spent something since
        raise _unpaid(queries, spend)
    answers = [query.answered() for query in queries]
    paid = any(answer.cost.epsilon for answer in answers)
    return Bought(queries=queries, answers=answers, taken=taken if paid else Fraction(0))


def _noise(place: Analyst, planned: Planned, spend: Fraction) -> str:
    """The first that can be paid for within what was said; one that is stored, before that."""
    first = planned(place, NOISES[0])
    plans = {NOISES[0]: first}
    for noise in NOISES[1:]:
        with RefusalsIgnored():  # not every account grants it
            plans[noise] = planned(place, noise)
    fitting = [noise for noise, queries in plans.items() if (taken := _taken(queries)) is not None and taken <= spend]
    if not fitting:
        raise _unpaid(first, spend)
    return min(fitting, key=lambda noise: sum(query.is_charged for query in plans[noise]))


def _taken(queries: Sequence[Query]) -> Fraction | None:
    """What all of them together take from the promise, as it counts; None where it cannot pay for them."""
    event = together(charged(sealed for query in queries for sealed in query.inquiry.payments))
    if event is None:
        return Fraction(0)
    accounts = queries[0].place.accounts
    if not all(account.admits(event) for account in accounts):
        return None
    return accounts[0].charged(event).spent_epsilon - accounts[0].spent_epsilon


def _unpaid(queries: Sequence[Query], spend: Fraction) -> BudgetExhausted:
    """Why they are not asked."""
    accounts, taken = queries[0].place.accounts, _taken(queries)
    left = Budget.under(accounts)
    what = f"this costs {shown_amount(spend)}, and of the promise {left.shown} is left"
    if spend <= left.left and taken is None:
        first, promise = queries[0].inquiry, accounts[:1]
        what = too_dear(first, promise) if len(queries) == 1 else f"{what}; {weighs(first, promise)}"
    elif taken is not None:
        what = f"for {shown_amount(spend)} this would take {shown_up(taken)} of the promise: it counts in ρ by now"
    return BudgetExhausted(
        what,
        why="a suggestion is paid for like every answer; nothing was spent",
        fix="spend less, or declare what you know without asking",
    )
