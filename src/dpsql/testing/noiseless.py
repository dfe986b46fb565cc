"""Answers without noise, for tests only: what the bounded statements compute, beside what plain SQL says."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpsql.engines.engine import Engine, Rows
from dpsql.ledger.ledger import Receipt, ReleasedStep
from dpsql.plan.price import MeasurementStep
from dpsql.plan.seal import Sealed
from dpsql.privacy.order import delivery_order
from dpsql.session.analyst import Analyst
from dpsql.session.answer_value import Answer
from dpsql.session.steps import statement_of, told_keys
from dpsql.session.telling import told, told_exactly
from dpsql.sql.emit import engine_text
from dpsql.testing.seeded import refuse_outside_tests


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactStep:
    """What one step would have computed: the text that was sent, and the rows that came back, sorted by key."""

    sql: str
    keys: int
    rows: Rows

    @property
    def released(self) -> ReleasedStep:
        """The same as if its noise were zero and every key were shown."""
        return ReleasedStep(
            keys=tuple(told_keys(row[: self.keys]) for row in self.rows),
            values=tuple(tuple(map(int, row[self.keys :])) for row in self.rows),  # type: ignore[arg-type]
        )


def exact_steps(
    sealed: Sealed, engine: Engine, *, salt: int, forced: tuple[ReleasedStep, ...] = ()
) -> tuple[ExactStep, ...]:
    """Every step of a plan, exactly; steps see the released keys of `forced` where given, of exact steps otherwise."""
    refuse_outside_tests()
    done: list[ExactStep] = []
    for number, step in enumerate(sealed.plan.steps):
        before = [*forced[:number], *(each.released for each in done[len(forced[:number]) :])]
        statement = statement_of(step, before)
        if statement is None:
            done.append(ExactStep(sql="", keys=len(step.statement.keys), rows=[]))
            continue
        text = engine_text(statement, dialect=engine.capabilities.dialect)
        rows = engine.run(text.sql, parameters=(salt,) if text.salted else ()).open()
        keys = len(statement.keys)
        done.append(ExactStep(sql=text.sql, keys=keys, rows=sorted(rows, key=lambda row: delivery_order(row[:keys]))))
    return tuple(done)


def without_noise(analyst: Analyst, sql: str, *, salt: int = 1, epsilon: Fraction | None = None) -> Answer:
    """The answer with all noise at zero and every private key shown. Nothing is charged."""
    refuse_outside_tests()
    sealed = analyst.query(sql, epsilon=epsilon).sealed
    if not sealed.plan.steps:
        return told_exactly(sealed, analyst.place.engine)
    steps = tuple(_scaled_back(step, sealed) for step in exact_steps(sealed, analyst.place.engine, salt=salt))
    return told(sealed, Receipt(number=0, paid=False, salt=salt), steps, ledger="")


def _scaled_back(step: ExactStep, sealed: Sealed) -> ReleasedStep:
    """People counts of a selection stay inside unless they are the answer."""
    released = step.released
    last = sealed.plan.steps[-1]
    if isinstance(last, MeasurementStep) or last.counts is not None:
        return released
    return ReleasedStep(keys=released.keys, values=tuple(() for _ in released.keys))
