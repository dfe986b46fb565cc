"""EXPLAIN PRIVACY and DRY RUN: what would happen, as rows. Free; nothing is read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction

from dpsql.accounting.account import Account
from dpsql.plan.expected import expected
from dpsql.plan.explain import explain
from dpsql.plan.seal import Sealed
from dpsql.session.answer_value import Answer, Cost
from dpsql.session.digits import shown_amount
from dpsql.session.release import Cell
from dpsql.sql.syntax import Purpose


def described(sealed: Sealed, *, accounts: Sequence[Account], dialect: str) -> Answer:
    """The derivation as lines or as JSON, or the price and the margins."""
    purpose = sealed.plan.bounded.query.purpose
    explanation = explain(sealed.plan, accounts=accounts, dialect=dialect)
    if purpose is Purpose.DRY_RUN:
        return _rows(sealed, ("what", "value"), _dry_run(sealed, accounts))
    if purpose is Purpose.EXPLAIN_JSON:
        whole = json.dumps(explanation.as_json(), indent=2, ensure_ascii=False)
        return _rows(sealed, ("explanation",), ((whole,),), is_text=True)
    return _rows(sealed, ("explanation",), tuple((line,) for line in explanation.text().splitlines()), is_text=True)


def _rows(
    sealed: Sealed, columns: tuple[str, ...], rows: tuple[tuple[Cell, ...], ...], *, is_text: bool = False
) -> Answer:
    return Answer(
        columns=columns,
        rows=rows,
        cost=Cost(epsilon=Fraction(0)),
        release=None,
        confidence=sealed.plan.terms.confidence,
        is_text=is_text,
    )


def _dry_run(sealed: Sealed, accounts: Sequence[Account]) -> tuple[tuple[Cell, ...], ...]:
    plan = sealed.plan
    event = plan.charged
    allowed = event is None or all(account.admits(event) for account in accounts)
    margins = [
        (f"margin of {each.name}", each.text.removeprefix(f"{each.name} ")) for each in expected(plan) if each.noisy
    ]
    return (
        ("cost", shown_amount(plan.cost)),
        ("delta", shown_amount(sealed.price.delta)),
        ("allowed", "yes" if allowed else "no: the budget does not suffice"),
        ("already stored", "yes" if plan.stored is not None else "no"),
        *margins,
    )
