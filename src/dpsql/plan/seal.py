"""seal: the price, derived once more from what is about to be executed. Plan -> Sealed.

The distances come from `derive`, which reads the statements and shares no function with `bound`, `price` or the
rewriter; the price comes from the scales of the noise. A plan whose event promises less than that is a bug (rule 11).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting.triple import FREE, Triple, triple
from dpsql.catalog.model import Catalog
from dpsql.errors import InternalError
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.plan.derive import Ball, Move, Moves, Reach, derive
from dpsql.plan.price import MeasurementStep, Plan, SelectionStep, Step
from dpsql.privacy.events import DiscreteGaussian
from dpsql.sql.relations import Relation, Scan, inputs
from dpsql.sql.rewrite import Measuring, Rewritten, Selecting, Statement, Unprotected


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A plan whose price two derivations agree on: the only thing that can be charged."""

    plan: Plan
    price: Triple


def seal(plan: Plan, catalog: Catalog) -> Sealed:
    """The plan, if its event costs at least what its noise and statements do."""
    for statement in _unpaid(plan.rewritten):
        _require_public(statement.relation, catalog)
    reaches = reaches_of(plan.steps, catalog)
    price = price_of_steps(plan.steps, reaches)
    require_exact_numbers(plan.steps, reaches)
    return Sealed(plan=plan, price=FREE if plan.charged is None else price)


def reaches_of(steps: tuple[Step, ...], catalog: Catalog) -> tuple[Reach, ...]:
    """How far one unit can move what each step measures, derived from its statement."""
    return tuple(
        derive(
            step.statement.relation,
            keys=tuple(column.id for column in step.statement.keys),
            values=tuple(column.id for column in step.statement.values),
            catalog=catalog,
            selection=isinstance(step, SelectionStep),
        )
        for step in steps
    )


def price_of_steps(steps: tuple[Step, ...], reaches: tuple[Reach, ...]) -> Triple:
    """What the events of the steps cost, if each costs at least what its noise and its statement do."""
    for step, reach in zip(steps, reaches, strict=True):
        if not (_selection_covered(step, reach) if isinstance(step, SelectionStep) else _noise_covered(step, reach)):
            raise InternalError("a plan promises less than it costs")
    return sum((triple(step.event) for step in steps), FREE)


def require_exact_numbers(steps: tuple[Step, ...], reaches: tuple[Reach, ...]) -> None:
    """Where an event speaks of Gaussian noise on one number, it is one number with at least this σ², and moves by at
    most this distance: the loss distributions that `plan` and auditors compute read more of it than its ρ."""
    for step, reach in zip(steps, reaches, strict=True):
        event = step.event
        if isinstance(step, MeasurementStep) and isinstance(event, DiscreteGaussian) and event.dimensions == 1:
            laws = [noise.carried.law for noise in step.noises]
            if step.statement.keys or isinstance(reach, Ball) or len(laws) != 1 or len(reach.columns) != 1:
                raise InternalError("several numbers are called one")
            (law,), (move,) = laws, reach.columns
            narrower = not isinstance(law, DiscreteGaussianLaw) or law.sigma_squared < event.sigma_squared
            if narrower or move.l2_squared > event.l2_squared:
                raise InternalError("a number has less noise, or moves further, than its event says")


def _unpaid(rewritten: Rewritten) -> list[Statement]:
    """What is run without a charge."""
    match rewritten:
        case Unprotected(statement=statement) | Measuring(key_count=statement):
            return [] if statement is None else [statement]
        case Selecting():
            return []


def _require_public(relation: Relation, catalog: Catalog) -> None:
    """What is read without a charge reads public tables only."""
    if isinstance(relation, Scan) and (relation.private or not catalog.policy.tables[relation.table].public):
        raise InternalError("a private table would be read for nothing")
    for each in inputs(relation):
        _require_public(each, catalog)


def _selection_covered(step: SelectionStep, reach: Reach) -> bool:
    """Each unit stands behind at most as many keys as the mechanism allows, once each."""
    if not isinstance(reach, Moves) or reach.keys_per_unit > step.mechanism.keys_per_unit:
        return False
    # once behind each key: a person who adds 2 to a key has a squared distance above the distance itself
    return all(move.l2_squared <= move.l1 <= step.mechanism.keys for move in reach.columns)


def _noise_covered(step: MeasurementStep, reach: Reach) -> bool:
    """Pure noise is priced by Σ l1/scale, Gaussian noise by Σ l2²/2σ², or by the ball's radius in units of σ."""
    laws = [noise.carried.law for noise in step.noises]
    promised = triple(step.event)
    pure = [law for law in laws if isinstance(law, DiscreteLaplaceLaw)]
    if len(pure) == len(laws):
        if not isinstance(reach, Moves) or len(reach.columns) != len(laws):
            return False
        loss = sum((move.l1 / law.scale for move, law in zip(reach.columns, pure, strict=True)), Fraction(0))
        return promised.epsilon is not None and loss <= promised.epsilon
    if pure:
        return False  # one joint mechanism per step
    variances = [law.sigma_squared for law in laws if isinstance(law, DiscreteGaussianLaw)]
    if len(variances) != len(reach.weights if isinstance(reach, Ball) else reach.columns):
        return False
    rho = _ball_rho(reach, variances) if isinstance(reach, Ball) else _moves_rho(reach.columns, variances)
    return promised.rho is not None and rho <= promised.rho


def _moves_rho(moves: tuple[Move, ...], variances: list[Fraction]) -> Fraction:
    return sum((move.l2_squared / (2 * each) for move, each in zip(moves, variances, strict=True)), Fraction(0))


def _ball_rho(ball: Ball, variances: list[Fraction]) -> Fraction:
    """Σ c²/2σ² is largest where the whole radius lies in the coordinate with the smallest (weight · σ)²."""
    smallest = min(weight * weight * each for weight, each in zip(ball.weights, variances, strict=True))
    return ball.radius_squared / (2 * smallest)
