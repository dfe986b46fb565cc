"""The replay audit: the same question on neighbouring databases, with noise set aside and everything else compared.

For a question on two neighbours, the verdict, the price, the mechanisms, the text sent to the engine and the shape of
the result must be identical, and the exact numbers may differ by no more than the noise was priced for. Earlier steps
are forced to what was recorded, so that later ones see the same released keys.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting.triple import triple
from dpsql.errors import DpsqlError
from dpsql.ledger.ledger import ReleasedStep
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.plan.price import MeasurementStep, Plan, SelectionStep, Step
from dpsql.plan.seal import Sealed
from dpsql.session.analyst import Analyst
from dpsql.session.query import Query
from tests.kits.noiseless import ExactStep, exact_parts

Key = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What a question does on one database: everything an analyst could observe but the noise, and the exact rows."""

    verdict: object
    """The error, if it was refused; the price and all that a record keeps of each plan otherwise."""
    sealed: Sealed | None
    """The plan of the statement itself; None where it was refused."""
    planned: tuple[Step, ...] = ()
    """The steps of all questions of the statement, in their order."""
    steps: tuple[ExactStep, ...]
    """What each of them computed."""
    query: Query | None = None
    """The question itself; None where it was refused."""
    failed: bool = False
    """The engine gave up, or returned something else than whole numbers: it did so because of rows (rule 6)."""

    @property
    def recorded(self) -> tuple[ReleasedStep, ...]:
        """What its steps would have released without noise."""
        return tuple(step.released for step in self.steps)


def replayed(analyst: Analyst, sql: str, *, salt: int, forced: tuple[ReleasedStep, ...] = ()) -> Replay:
    """The question on the analyst's database, with earlier releases forced.

    Of a statement with PRIVATE questions each is replayed, after those before it released what was recorded of them.
    """
    try:
        query = analyst.query(sql)
    except DpsqlError as error:
        return Replay(verdict=str(error), sealed=None, steps=())
    parts = query.inquiry.parts
    prices = tuple(part.sealed.price for part in parts)
    steps: list[ExactStep] = []
    plans: list[Plan] = []
    try:
        for part in exact_parts(query, salt=salt, forced=forced):
            plans.append(part.sealed.plan)
            steps += part.steps
    except (DpsqlError, TypeError):  # a later step has no place for a key or a number that is missing
        return Replay(verdict=prices, sealed=query.sealed, steps=(), query=query, failed=True)
    verdict = prices, tuple(map(recorded, plans))
    if any(type(value) is not int for step in steps for row in step.rows for value in row[step.keys :]):
        return Replay(verdict=verdict, sealed=query.sealed, steps=(), query=query, failed=True)
    planned = tuple(step for part in parts for step in part.sealed.plan.steps)
    return Replay(verdict=verdict, sealed=query.sealed, planned=planned, steps=tuple(steps), query=query)


def recorded(plan: Plan) -> tuple[object, ...]:
    """What a record would keep of a plan, and what it is made of."""
    query, recalled = plan.bounded.query, plan.recalled
    tables = tuple(query.catalog.schema[name] for name in sorted(set(query.tables)))
    return plan.steps, plan.terms, plan.finer, recalled.identity, recalled.fresh, plan.bounded.neighbours, tables


def excesses(base: Replay, other: Replay) -> Iterator[str]:
    """Every way in which two neighbours differ by more than they may. Nothing: the audit is passed."""
    if base.sealed is not None and (base.failed or other.failed):
        yield "rows decide whether there is an answer at all"
        return
    if base.verdict != other.verdict:
        yield "the verdict, the price or the plan differs"
        return
    for step, ours, theirs in zip(base.planned, base.steps, other.steps, strict=True):
        if ours.sql != theirs.sql:
            yield "the text sent to the engine differs"
        if isinstance(step, MeasurementStep):
            yield from _measured(step, ours, theirs)
        elif isinstance(step, SelectionStep):
            yield from _selected(step, ours, theirs)


def _by_key(step: ExactStep) -> dict[Key, tuple[int, ...]]:
    return {row[: step.keys]: row[step.keys :] for row in step.rows}  # type: ignore[misc]


def _measured(step: MeasurementStep, ours: ExactStep, theirs: ExactStep) -> Iterator[str]:
    """The loss of the noise at the distance that was seen, against the price."""
    one, two = _by_key(ours), _by_key(theirs)
    if list(one) != list(two):
        yield "the released keys differ"
        return
    loss = Fraction(0)
    for place, noise in enumerate(step.noises):
        law = noise.carried.law
        moves = [abs(one[key][place] - two[key][place]) for key in one]
        if isinstance(law, DiscreteLaplaceLaw):
            loss += sum(moves) / law.scale
        else:
            loss += sum(move * move for move in moves) / (2 * law.sigma_squared)
    promised = triple(step.event)
    pure = all(isinstance(noise.carried.law, DiscreteLaplaceLaw) for noise in step.noises)
    limit = promised.epsilon if pure else promised.rho
    if limit is None or loss > limit:
        yield f"the numbers differ by more than their noise was priced for: {float(loss)} > {limit and float(limit)}"


def _selected(step: SelectionStep, ours: ExactStep, theirs: ExactStep) -> Iterator[str]:
    """Each key by one person at most, and in as many keys as one person may stand behind."""
    one, two = _by_key(ours), _by_key(theirs)
    moves = [abs(one.get(key, (0,))[0] - two.get(key, (0,))[0]) for key in one.keys() | two.keys()]
    if max(moves, default=0) > 1 or sum(moves) > step.mechanism.keys:
        yield f"one person stands behind more keys than were priced: {sum(moves)} > {step.mechanism.keys}"
