"""EXPLAIN PRIVACY, alone or of two questions, and DRY RUN: what would happen, as rows. Free; nothing is read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from difflib import unified_diff

from dpsql.accounting.account import Account, admitted_by_all
from dpsql.plan.expected import expected
from dpsql.plan.explain import Explanation, Together, explain
from dpsql.plan.price import Plan
from dpsql.session.answer_value import Answer
from dpsql.session.digits import NO_COST, shown_amount
from dpsql.session.inquiry import Inquiry
from dpsql.session.release import Cell
from dpsql.session.shortfall import otherwise_than_told
from dpsql.session.telling import made_finer
from dpsql.sql.syntax import Purpose


def described(inquiry: Inquiry, *, accounts: Sequence[Account], dialect: str) -> Answer:
    """The derivation as lines or as JSON, or the price and the margins."""
    plan = inquiry.outer.sealed.plan
    purpose = plan.bounded.query.purpose
    if purpose is Purpose.DRY_RUN:
        return _rows(plan, ("what", "value"), tuple(_dry_run(inquiry, accounts)))
    explanation = explained(inquiry, accounts=accounts, dialect=dialect)
    if purpose is Purpose.EXPLAIN_JSON:
        whole = json.dumps(explanation.as_json(), indent=2, ensure_ascii=False)
        return _rows(plan, ("explanation",), ((whole,),), is_text=True)
    return _rows(plan, ("explanation",), tuple((line,) for line in explanation.text().splitlines()), is_text=True)


def comparison(first: Inquiry, second: Inquiry, *, accounts: Sequence[Account], dialect: str) -> Answer:
    """The explanations of two questions, as a text diff."""
    before, after = (
        explained(each, accounts=accounts, dialect=dialect).text().splitlines() for each in (first, second)
    )
    lines = [line.rstrip() for line in unified_diff(before, after, "first", "second", lineterm="")]
    told = tuple((line,) for line in lines or ["Both are explained alike."])
    return _rows(first.outer.sealed.plan, ("explanation",), told, is_text=True)


def explained(inquiry: Inquiry, *, accounts: Sequence[Account], dialect: str) -> Explanation:
    """The derivation, with the price that would be charged."""
    plans = tuple(part.sealed.plan for part in inquiry.inner)
    together = Together(priced=inquiry.shares, cost=inquiry.cost) if plans else None
    plan = inquiry.outer.sealed.plan
    return explain(plan, accounts=accounts, dialect=dialect, private=plans, together=together)


def _rows(plan: Plan, columns: tuple[str, ...], rows: tuple[tuple[Cell, ...], ...], *, is_text: bool = False) -> Answer:
    return Answer(
        columns=columns,
        rows=rows,
        cost=NO_COST,
        confidence=plan.terms.confidence,
        is_text=is_text,
    )


def _dry_run(inquiry: Inquiry, accounts: Sequence[Account]) -> Iterator[tuple[Cell, ...]]:
    allowed = admitted_by_all(inquiry.event, accounts)
    known = all(part.sealed.plan.stored is not None for part in inquiry.parts)
    yield "cost", shown_amount(inquiry.cost)
    yield "delta", shown_amount(inquiry.delta)
    yield "allowed", "yes" if allowed else "no: the budget does not suffice"
    yield "already stored", "yes" if known else "no"
    for note in otherwise_than_told(inquiry.outer.sealed.plan, accounts):
        yield "note", note
    for part in inquiry.parts:
        if part.sealed.plan.finer is not None:
            yield "makes finer", made_finer(part.sealed.plan.finer)
    for number, part in enumerate(inquiry.inner, start=1):
        yield from _margins(part.sealed.plan, f" of PRIVATE question {number}")
    yield from _margins(inquiry.outer.sealed.plan)


def _margins(plan: Plan, where: str = "") -> Iterator[tuple[Cell, ...]]:
    for each in expected(plan):
        if each.noisy:
            yield f"margin of {each.name}{where}", each.text.removeprefix(f"{each.name} ")
