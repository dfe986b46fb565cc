"""A batch in words: what its questions cost together, how fine each of them is, and what other theorems would say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Final

from dpsql.accounting.registry import accountant
from dpsql.errors import DpsqlError
from dpsql.plan.expected import expected
from dpsql.plan.seal import Sealed
from dpsql.session.cost import Cost
from dpsql.session.digits import shown_amount
from dpsql.session.inquiry import charged, together, twin_key
from dpsql.session.query import Query

_IN_ADVANCE: Final = ("optimal", "pld", "adaptive")
"""Accountants for releases that are all fixed before the first: no ledger that is open to more adds up by them."""


def paying(queries: Sequence[Query]) -> tuple[Sealed, ...]:
    """What the questions are charged for, twins once."""
    return charged(sealed for query in queries for sealed in query.inquiry.payments)


def batch_cost(queries: Sequence[Query]) -> Cost:
    """What all questions would be charged together."""
    plans = paying(queries)
    return Cost(
        epsilon=sum((sealed.plan.cost for sealed in plans), Fraction(0)),
        delta=sum((sealed.price.delta for sealed in plans), Fraction(0)),
    )


def summary(queries: Sequence[Query]) -> str:
    """How many questions, and for what."""
    count = f"{len(queries)} question{'' if len(queries) == 1 else 's'}"
    cost = batch_cost(queries)
    price = f"{shown_amount(cost.epsilon)}{f' and δ = {shown_amount(cost.delta)}' if cost.delta else ''}"
    return f"{count} for {price}, the sum of their prices"


def batch_text(queries: Sequence[Query], *, delta: Fraction) -> str:
    """The summary, a line for each question, its price and how far off its numbers are, and what accountants for
    releases that are all fixed in advance say of the same noise at this δ."""
    said = ", ".join(_in_advance(queries, delta=delta))
    last = [f"fixed in advance, at δ = {shown_amount(delta)}, the same noise tells ε: {said}"] if said else []
    return "\n".join([summary(queries), *_lines(queries), *last])


def _in_advance(queries: Sequence[Query], *, delta: Fraction) -> Iterator[str]:
    history = together(paying(queries))
    if history is None or not delta:
        return
    for name in _IN_ADVANCE:
        with suppress(DpsqlError):  # no theorem for such noise, or not installed
            yield f"{name} {accountant(name).price(history, delta=delta):.3g}"


def _lines(queries: Sequence[Query]) -> Iterator[str]:
    before = set()  # a question that is asked twice is paid for once
    for number, query in enumerate(queries, start=1):
        cost = Fraction(0) if twin_key(query.sealed) in before or not query.is_charged else query.cost.epsilon
        before.add(twin_key(query.sealed))
        noisy = [each.text for each in expected(query.sealed.plan) if each.noisy]
        yield f"{number:>3}  {f'{float(cost):.3g}' if cost else 'free':<7} {'; '.join((*noisy, query.sql))}"
