"""release: from stored steps to the answer. Post-processing only; nothing private is in reach any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final, Protocol

from dpsql.catalog.capabilities import Capabilities
from dpsql.engines.desk import Desk
from dpsql.engines.engine import Rows
from dpsql.errors import LedgerBroken
from dpsql.ledger.ledger import Ledger, Receipt, ReleasedStep
from dpsql.mechanisms.margins import NoisySlotLaw
from dpsql.plan.caveats import caveats
from dpsql.plan.price import Plan
from dpsql.plan.seal import Sealed
from dpsql.privacy.order import delivery_order
from dpsql.session.answer_value import Answer, Cost
from dpsql.session.recalling import question_of
from dpsql.session.release import released
from dpsql.session.released_rows import ReleasedSlot, ReleasedTable
from dpsql.session.steps import key_values
from dpsql.sql.emit import statement_text
from dpsql.sql.relations import Column
from dpsql.sql.rewrite import Statement, Unprotected


def told(sealed: Sealed, receipt: Receipt, steps: tuple[ReleasedStep, ...], *, ledger: str) -> Answer:
    """The answer to a plan that has just been performed; free where the receipt was paid for before."""
    plan = sealed.plan
    carried = tuple(noise.carried for noise in plan.noises)
    cost = Cost(epsilon=plan.terms.cost, delta=sealed.price.delta) if receipt.paid else Cost(epsilon=Fraction(0))
    return _answer(
        plan, _table(plan, carried, range(len(carried)), steps), cost=cost, receipt=receipt.number, ledger=ledger
    )


_KNOWN: Final = "already known: it was released before"


def told_again(sealed: Sealed, ledger: Ledger, *, analyst: str) -> Answer:
    """The answer from a stored release: free. Whose release it was, and which, only its own analyst is told."""
    plan = sealed.plan
    for release in ledger.recall(question_of(plan.recalled)):
        if plan.stored is not None and release.receipt == plan.stored.receipt:
            table = _table(plan, plan.stored.noises, plan.stored.places, release.steps)
            again = _answer(plan, table, cost=Cost(epsilon=Fraction(0)), receipt=release.receipt, ledger=ledger.id)
            own = release.analyst == analyst
            return again if own else replace(again, release=None, notes=(*again.notes, _KNOWN))
    raise LedgerBroken(
        "a stored release is gone",
        why="the ledger is append-only: what was stored once can always be told again",
        fix="verify the ledger",
    )


class PublicRows(Protocol):
    """Whoever runs statements over public tables."""

    @property
    def capabilities(self) -> Capabilities: ...

    def run_public(self, sql: str, /) -> Rows: ...


def told_exactly(sealed: Sealed, engine: PublicRows) -> Answer:
    """The answer to a plan that reads nothing private: exact and free."""
    plan, statement = sealed.plan, _unprotected(sealed.plan)
    if statement is None:  # constants of the policy alone
        table = ReleasedTable(keys=(), slots=(), key_rows=((),), values=((),))
    else:
        rows = engine.run_public(statement_text(statement, dialect=engine.capabilities.dialect))
        ordered = sorted(rows, key=delivery_order)
        table = ReleasedTable(
            keys=_key_columns(plan), slots=(), key_rows=tuple(ordered), values=tuple(() for _ in ordered)
        )
    return _answer(plan, table, cost=Cost(epsilon=Fraction(0)), receipt=None, ledger="")


def _table(
    plan: Plan, carried: Sequence[NoisySlotLaw], places: Sequence[int], steps: tuple[ReleasedStep, ...]
) -> ReleasedTable:
    """What the last step released, and the law of each of its numbers."""
    columns = _key_columns(plan)
    last = steps[-1]
    slots = tuple(
        ReleasedSlot(column=placed.column, place=place, law=noise)
        for placed, place, noise in zip(plan.bounded.slots, places, carried, strict=True)
    )
    return ReleasedTable(keys=columns, slots=slots, key_rows=key_values(last, columns), values=last.values)


def _key_columns(plan: Plan) -> tuple[Column, ...]:
    """The columns the outputs read as keys."""
    query, statement = plan.bounded.query, _unprotected(plan)
    if query.private or statement is None:
        return tuple(key.column for key in query.keys)
    return statement.keys


def _unprotected(plan: Plan) -> Statement | None:
    return plan.rewritten.statement if isinstance(plan.rewritten, Unprotected) else None


def _answer(plan: Plan, table: ReleasedTable, *, cost: Cost, receipt: int | None, ledger: str) -> Answer:
    """The same noise is known by its ledger, receipt, row and slot."""
    finish, confidence = plan.bounded.finish, plan.terms.confidence
    return Answer(
        columns=tuple(output.name for output in finish.outputs),
        rows=released(table, finish, confidence=confidence, desk=Desk(), receipt=receipt or 0, ledger=ledger),
        cost=cost,
        release=receipt,
        confidence=confidence,
        notes=caveats(plan),
    )
