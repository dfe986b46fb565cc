"""run, draw, store: the effects of a paid plan, step by step. Each step is stored before the next is asked."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from typing import TypeAlias

from dpsql.catalog.model import Value
from dpsql.catalog.types import SqlType
from dpsql.engines.engine import Engine, Rows
from dpsql.ledger.ledger import KeyValue, Ledger, Receipt, ReleasedStep
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.levels import measured_levels
from dpsql.mechanisms.table import NoisyTable, measured, selected
from dpsql.plan.price import MeasurementStep, Plan, RevealStep, SelectionStep, Step
from dpsql.plan.top_up import finer_noises
from dpsql.points import Point, reached
from dpsql.privacy.exact import Exact
from dpsql.randomness import Source
from dpsql.sql.emit import engine_text
from dpsql.sql.relations import Column
from dpsql.sql.rewrite import Statement, filled

Bought: TypeAlias = SelectionStep | MeasurementStep
"""A step for which the engine is asked."""


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
        if isinstance(step, RevealStep):
            done.append(ledger.reveal(receipt, number, level=step.level))  # drawn and hidden with the first release
            continue
        statement = statement_of(step, [*found, *done])
        levels = leveled(step, plan.levels)
        exact = None
        if statement is not None:
            text = engine_text(statement, dialect=engine.capabilities.dialect)
            reached(Point.RUNNING)
            exact = engine.run(text.sql, parameters=text.parameters(salt=receipt.salt))
        done.append(_drawn_and_stored(levels, exact, receipt, number, ledger=ledger, source=source))
    return tuple(done)


def _drawn_and_stored(
    levels: tuple[Bought, ...],
    exact: Exact[Rows] | None,
    receipt: Receipt,
    number: int,
    *,
    ledger: Ledger,
    source: Source,
) -> ReleasedStep:
    """Draw and store; where `exact` is None, no key was released and there is nothing to measure."""
    tables = (NoisyTable(keys=(), values=()),) * len(levels)
    if exact is not None:
        reached(Point.READ)
        tables = drawn_at(levels, exact, source)
        reached(Point.DRAWN)
    released, *hidden = (ReleasedStep(keys=_told(noisy.keys), values=noisy.values) for noisy in tables)
    return ledger.store(receipt, number, released, hidden)  # the other's, where a twin was faster


def leveled(step: Bought, levels: tuple[Fraction, ...]) -> tuple[Bought, ...]:
    """The step, and the same at finer levels of its noise, each so many times its ε."""
    if not isinstance(step, MeasurementStep):
        return (step,)
    return (step, *(replace(step, noises=finer_noises(step.noises, level)) for level in levels))


def statement_of(step: Step, done: list[ReleasedStep]) -> Statement | None:
    """What to run, with the keys released so far; None where no key was released, so that nothing can be measured."""
    if isinstance(step, SelectionStep) or not done:
        return step.statement
    keys = key_values(done[-1], step.statement.keys)
    return filled(step.statement, keys) if keys else None


def drawn_at(levels: tuple[Bought, ...], rows: Exact[Rows], source: Source) -> tuple[NoisyTable, ...]:
    """Exact rows in, noisy rows out at each level of a step; the one that is told comes first. An error takes no frame
    along that holds rows."""
    try:
        return _drawn_at(levels, rows, source)
    except BaseException as error:
        error.__context__ = None
        raise error.with_traceback(None) from None  # tools that show the locals of frames would show rows


def _drawn_at(levels: tuple[Bought, ...], rows: Exact[Rows], source: Source) -> tuple[NoisyTable, ...]:
    first, *finer = levels
    if not finer:
        return (drawn(first, rows, source),)
    pure = [
        [noise.carried.law for noise in level.noises if isinstance(noise.carried.law, DiscreteLaplaceLaw)]
        for level in levels
        if isinstance(level, MeasurementStep)
    ]
    return measured_levels(rows, keys=len(first.statement.keys), levels=pure, source=source)


def drawn(step: Bought, rows: Exact[Rows], source: Source) -> NoisyTable:
    """Exact rows in, noisy rows out, by the mechanism of the step."""
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
