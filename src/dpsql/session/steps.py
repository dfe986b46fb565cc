"""run, draw, store: the effects of a paid plan, step by step. Each step is stored before the next is asked."""

from __future__ import annotations

from datetime import date, datetime

from dpsql.catalog.model import Value
from dpsql.catalog.types import SqlType
from dpsql.engines.engine import Engine, Rows
from dpsql.ledger.book import Ledger
from dpsql.ledger.ledger import KeyValue, Receipt, ReleasedStep
from dpsql.mechanisms.table import NoisyTable, measured, selected
from dpsql.plan.price import MeasurementStep, Plan, SelectionStep, Step
from dpsql.points import Point, reached
from dpsql.privacy.exact import Exact
from dpsql.randomness import Source
from dpsql.sql.emit import engine_text
from dpsql.sql.relations import Column
from dpsql.sql.rewrite import Statement, filled


def perform(
    plan: Plan,
    receipt: Receipt,
    *,
    engine: Engine,
    ledger: Ledger,
    source: Source,
    found: tuple[ReleasedStep, ...] = (),
) -> tuple[ReleasedStep, ...]:
    """Every step of the plan that is not stored yet: run, draw, store. `found`: keys that were released before."""
    done = list(receipt.stored)
    for number, step in enumerate(plan.steps[len(done) :], start=len(done)):
        if number:
            reached(Point.NEXT_STEP)
        statement = statement_of(step, [*found, *done])
        exact = None
        if statement is not None:
            text = engine_text(statement, dialect=engine.capabilities.dialect)
            reached(Point.RUNNING)
            exact = engine.run(text.sql, parameters=text.parameters(salt=receipt.salt))
        done.append(_drawn_and_stored(step, exact, receipt, number, ledger=ledger, source=source))
    return tuple(done)


def _drawn_and_stored(
    step: Step,
    exact: Exact[Rows] | None,
    receipt: Receipt,
    number: int,
    *,
    ledger: Ledger,
    source: Source,
) -> ReleasedStep:
    """Draw and store; where `exact` is None, no key was released and there is nothing to measure."""
    noisy = NoisyTable(keys=(), values=())
    if exact is not None:
        reached(Point.READ)
        noisy = drawn(step, exact, source)
        reached(Point.DRAWN)
    released = ReleasedStep(keys=_told(noisy.keys), values=noisy.values)
    return ledger.store(receipt, number, released)  # the other's, where a twin was faster


def statement_of(step: Step, done: list[ReleasedStep]) -> Statement | None:
    """What to run, with the keys released so far; None where no key was released, so that nothing can be measured."""
    if isinstance(step, SelectionStep) or not done:
        return step.statement
    keys = key_values(done[-1], step.statement.keys)
    return filled(step.statement, keys) if keys else None


def drawn(step: Step, rows: Exact[Rows], source: Source) -> NoisyTable:
    """Exact rows in, noisy rows out, by the mechanism of the step. An error takes no frame along that holds rows."""
    try:
        return _drawn(step, rows, source)
    except BaseException as error:
        error.__context__ = None
        raise error.with_traceback(None) from None  # tools that show the locals of frames would show rows


def _drawn(step: Step, rows: Exact[Rows], source: Source) -> NoisyTable:
    keys = len(step.statement.keys)
    if isinstance(step, MeasurementStep):
        return measured(rows, keys=keys, laws=[noise.carried.law for noise in step.noises], source=source)
    noisy = selected(step.mechanism, rows, keys=keys, source=source)
    return noisy if step.counts is not None else NoisyTable(keys=noisy.keys, values=tuple(() for _ in noisy.keys))


def _told(keys: tuple[tuple[object, ...], ...]) -> tuple[tuple[KeyValue, ...], ...]:
    kinds = {type(part) for key in keys for part in key}
    return keys if kinds.isdisjoint((date, datetime)) else tuple(map(told_keys, keys))  # type: ignore[return-value]


def told_keys(key: tuple[object, ...]) -> tuple[KeyValue, ...]:
    """A key as the ledger keeps it: dates as text."""
    return tuple(part.isoformat() if isinstance(part, date) else part for part in key)  # type: ignore[misc]


def key_values(step: ReleasedStep, columns: tuple[Column, ...]) -> tuple[tuple[Value, ...], ...]:
    """Keys as the plan knows them: text back to dates."""
    if all(column.type not in (SqlType.DATE, SqlType.TIMESTAMP) for column in columns):
        return step.keys
    return tuple(
        tuple(_read(part, column.type) for part, column in zip(key, columns, strict=True)) for key in step.keys
    )


def _read(part: KeyValue, type_: SqlType) -> Value:
    if isinstance(part, str) and type_ is SqlType.DATE:
        return date.fromisoformat(part)
    if isinstance(part, str) and type_ is SqlType.TIMESTAMP:
        return datetime.fromisoformat(part)
    return part
