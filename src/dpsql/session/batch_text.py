"""A planned batch in words: what its questions cost together, by which theorem, and how fine each of them is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from dpsql.accounting.account import Account
from dpsql.accounting.triple import triple
from dpsql.plan.expected import expected
from dpsql.privacy.events import Event
from dpsql.session.batch_ways import Way
from dpsql.session.cost import Cost
from dpsql.session.digits import shown_amount
from dpsql.session.inquiry import charged, twin_key
from dpsql.session.query import Query

THEOREMS: Final = {
    "optimal": "optimal composition",
    "pld": "composition of privacy loss distributions",
    "zcdp": "composition in ρ",
}


def batch_cost(queries: Sequence[Query], way: Way | None) -> Cost:
    """What all questions would be charged together; nothing for a batch that was paid for and is continued."""
    if way is not None:
        batch = way.proof.batch
        return Cost(epsilon=Fraction(0)) if way.begun else Cost(epsilon=batch.epsilon, delta=batch.delta)
    paying = charged(sealed for query in queries for sealed in query.inquiry.payments)
    return Cost(
        epsilon=sum((sealed.plan.cost for sealed in paying), Fraction(0)),
        delta=sum((sealed.price.delta for sealed in paying), Fraction(0)),
    )


def summary(queries: Sequence[Query], way: Way | None, accounts: Sequence[Account]) -> str:
    """How many questions, for what, and by which theorem; with what they would cost one by one, as fine."""
    count = f"{len(queries)} question{'' if len(queries) == 1 else 's'}"
    cost = batch_cost(queries, way)
    price = f"{shown_amount(cost.epsilon)}{f' and δ = {shown_amount(cost.delta)}' if cost.delta else ''}"
    if way is None:
        return f"{count} for {price}, the sum of their prices"
    if way.begun:
        return f"{count}, paid for before and not all told yet: continued for nothing"
    alone = _one_by_one(way, accounts)
    apart = "no account of yours sells them one by one" if alone is None else f"one by one, as fine, {alone:.3g}"
    return f"{count} for {price}, by {THEOREMS[way.proof.by]}; {apart}"


def batch_text(queries: Sequence[Query], way: Way | None, accounts: Sequence[Account]) -> str:
    """The summary, and a line for each question: its part of the price, and how far off its numbers are."""
    return "\n".join([summary(queries, way, accounts), *_lines(queries, way)])


def _one_by_one(way: Way, accounts: Sequence[Account]) -> float | None:
    """What the same noise would cost without the theorem, in ε of the grant; None where it cannot be paid for so."""
    prices = [_alone(sealed.plan.event, accounts[-1]) for sealed in way.paying if sealed.plan.event is not None]
    known = [price for price in prices if price is not None]
    return float(sum(known, Fraction(0))) if len(known) == len(prices) else None


def _alone(event: Event, account: Account) -> Fraction | None:
    price = triple(event)
    ways = [price.epsilon] if price.epsilon is not None and account.pure_branch_open else []
    if account.rho and price.rho is not None:
        ways.append(price.rho * account.epsilon / account.rho)
    return min(ways, default=None)


def _lines(queries: Sequence[Query], way: Way | None) -> Iterator[str]:
    told = queries if way is None else way.queries
    paying = [] if way is None else [sealed.plan.terms.cost for sealed in way.paying]
    whole = sum(paying, Fraction(0))
    price = batch_cost(queries, way).epsilon
    before = set()  # a question that is asked twice is paid for once
    for number, query in enumerate(told, start=1):
        cost = Fraction(0) if twin_key(query.sealed) in before or not query.is_charged else query.cost.epsilon
        before.add(twin_key(query.sealed))
        if way is not None and cost:
            cost = price * query.sealed.plan.terms.cost / whole
        noisy = [each.text for each in expected(query.sealed.plan) if each.noisy]
        yield f"{number:>3}  {f'{float(cost):.3g}' if cost else 'free':<7} {'; '.join((*noisy, query.sql))}"
