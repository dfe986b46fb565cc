"""charge: pay for a sealed plan before the engine is asked anything about people."""

from __future__ import annotations

from dpsql.engines.engine import Engine
from dpsql.errors import InternalError
from dpsql.ledger.book import Ledger
from dpsql.ledger.ledger import Charge, Receipt
from dpsql.plan.record import plan_record
from dpsql.plan.seal import Sealed
from dpsql.points import Point, reached
from dpsql.session.declared import ownership_of
from dpsql.session.recalling import question_of
from dpsql.sql.emit import engine_text
from dpsql.sql.key_refusals import too_many_keys
from dpsql.sql.rewrite import Measuring


def charge(sealed: Sealed, ledger: Ledger, engine: Engine, *, analyst: str, grant: str) -> Receipt:
    """A durable receipt, or BudgetExhausted and nothing spent."""
    require_few_keys(sealed, engine, ledger)
    asked = charge_of(sealed, analyst=analyst, grant=grant, dialect=engine.capabilities.dialect)
    reached(Point.CHARGING)
    return ledger.charge(asked, under=ownership_of(sealed.plan.bounded.query.catalog))


def charge_of(sealed: Sealed, *, analyst: str, grant: str, dialect: str) -> Charge:
    """What the ledger is asked to write down for a plan."""
    plan = sealed.plan
    if plan.charged is None:
        raise InternalError("a free plan would be charged")
    return Charge(
        analyst=analyst,
        grant=grant,
        question=question_of(plan.recalled),
        event=plan.charged,
        cost=plan.cost,
        steps=len(plan.steps),
        sql=plan.bounded.query.text,
        record=plan_record(plan, dialect=dialect),
        upon=None if plan.finer is None else plan.finer.upon.first or plan.finer.upon.receipt,
    )


def require_few_keys(sealed: Sealed, engine: Engine, ledger: Ledger) -> None:
    """Keys of public tables are counted before anything is paid: they are public, and may be too many."""
    rewritten = sealed.plan.rewritten
    count = rewritten.key_count if isinstance(rewritten, Measuring) else None
    limit = sealed.plan.bounded.query.catalog.policy.defaults.max_keys
    if count is None:
        return
    if limit is None:
        raise InternalError("public keys without a limit")
    ledger.require_owned(ownership_of(sealed.plan.bounded.query.catalog))  # public to this day
    text = engine_text(count, dialect=engine.capabilities.dialect)
    ((number,),) = engine.run_public(text.sql, parameters=text.parameters())
    if not isinstance(number, int) or number > limit:
        raise too_many_keys(number, limit)
