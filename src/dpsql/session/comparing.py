"""EXPLAIN PRIVACY DIFF: two questions, planned side by side. Free; nothing is read, nothing is written down."""

from __future__ import annotations

from fractions import Fraction

from dpsql.plan.explanation.difference import Side, difference_text
from dpsql.session.answer_value import Answer
from dpsql.session.cost import Cost
from dpsql.session.inquiry import Inquiry
from dpsql.session.query import Query


def comparison(first: Query, second: Query) -> Answer:
    """Why one costs more, or is less close, than the other: from the very plans that would run."""
    text = difference_text(_side(first.inquiry), _side(second.inquiry))
    return Answer(
        columns=("explanation",),
        rows=tuple((line,) for line in text.splitlines()),
        cost=Cost(epsilon=Fraction(0)),
        release=None,
        confidence=first.sealed.plan.terms.confidence,
        is_text=True,
    )


def _side(inquiry: Inquiry) -> Side:
    return Side(plan=inquiry.outer.sealed.plan, cost=inquiry.cost, inner=len(inquiry.inner))
