"""Answers without noise, for tests only: what the bounded statements compute, beside what plain SQL says."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from dpsql.engines.engine import Engine
from dpsql.engines.engine import Rows as ExactRows
from dpsql.ledger.ledger import Receipt, ReleasedStep
from dpsql.plan.price import Plan, SelectionStep
from dpsql.plan.seal import Sealed
from dpsql.privacy.order import delivery_order
from dpsql.session.analyst import Analyst
from dpsql.session.answer import completed, plain_rows
from dpsql.session.answer_value import Answer
from dpsql.session.query import Query
from dpsql.session.steps import statement_of, told_keys
from dpsql.session.telling import told, told_exactly
from dpsql.sql.emit import engine_text
from dpsql.sql.released import Rows, released_rows
from dpsql.testing.fixed import refuse_outside_tests


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactStep:
    """What one step would have computed: the text that was sent, and the rows that came back, sorted by key."""

    sql: str
    keys: int
    rows: ExactRows

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
        rows = engine.run(text.sql, parameters=text.parameters(salt=salt)).open()
        keys = len(statement.keys)
        done.append(ExactStep(sql=text.sql, keys=keys, rows=sorted(rows, key=lambda row: delivery_order(row[:keys]))))
    return tuple(done)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactPart:
    """One question of a statement: its plan, with the releases before it filled in, and what it would have computed."""

    sealed: Sealed
    steps: tuple[ExactStep, ...]


def exact_parts(query: Query, *, salt: int, forced: tuple[ReleasedStep, ...] = ()) -> Iterator[ExactPart]:
    """Every question of a statement, exactly. Later ones see the releases of `forced`, all steps of all questions in
    their order, where given, and what earlier ones would release without noise otherwise."""
    refuse_outside_tests()
    place, known, left = query.place, dict[int, Rows](), forced
    for number, part in enumerate(query.inquiry.parts):
        sealed = completed(part, known, place) if known else part.sealed
        mine, left = left[: len(sealed.plan.steps)], left[len(sealed.plan.steps) :]
        steps = exact_steps(sealed, place.engine, salt=salt, forced=mine)
        yield ExactPart(sealed=sealed, steps=steps)
        if part is not query.inquiry.outer:
            told_ = exact_answer(sealed, mine or tuple(step.released for step in steps), place.engine, salt=salt)
            known[number] = released_rows(part.outcome, plain_rows(told_))


def filled_plans(query: Query) -> Iterator[Plan]:
    """The plan of every question of a statement. The engine is asked only where a plan awaits a release."""
    parts = exact_parts(query, salt=0) if query.inquiry.inner else query.inquiry.parts
    return (part.sealed.plan for part in parts)


def exact_answer(sealed: Sealed, steps: tuple[ReleasedStep, ...], engine: Engine, *, salt: int) -> Answer:
    """The answer that these steps would be told as."""
    if not sealed.plan.steps:
        return told_exactly(sealed, engine)
    shown = tuple(_scaled_back(step, sealed) for step in steps)
    return told(sealed, Receipt(number=0, paid=False, salt=salt), shown, ledger="")


def without_noise(analyst: Analyst, sql: str, *, salt: int = 1, epsilon: Fraction | None = None) -> Answer:
    """The answer with all noise at zero and every private key shown. Nothing is charged."""
    return answered_without_noise(analyst.query(sql, epsilon=epsilon), salt=salt)


def answered_without_noise(query: Query, *, salt: int = 1) -> Answer:
    """The same for a question that is planned already."""
    refuse_outside_tests()
    *_, last = exact_parts(query, salt=salt)
    return exact_answer(last.sealed, tuple(step.released for step in last.steps), query.place.engine, salt=salt)


def _scaled_back(released: ReleasedStep, sealed: Sealed) -> ReleasedStep:
    """People counts of a selection stay inside unless they are the answer."""
    last = sealed.plan.steps[-1]
    if not isinstance(last, SelectionStep) or last.counts is not None:
        return released
    return ReleasedStep(keys=released.keys, values=tuple(() for _ in released.keys))
