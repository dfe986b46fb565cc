"""Top-up: a question that is stored, asked again for more, pays for what is missing. Plan -> Plan.

In this order: Gaussian noise is measured once more for the difference in ρ, and averaged with what is stored;
everything else is bought whole, and averaged. Only releases that hold the very same slots are, with the same keys and
salt.
Theorem: docs/theorems/top_up.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.margins import NoisySlotLaw
from dpsql.plan.finer import Finer, Way
from dpsql.plan.price import MeasurementStep, Plan, gaussian_step
from dpsql.plan.recall import Stored, by_precision
from dpsql.sql.rewrite import Measuring


def topped_up(plan: Plan) -> Plan:
    """The plan that makes a stored release finer, the most precise one that can be; else the same plan.

    Theorem   docs/theorems/top_up.md.
    Requires  a priced plan, and stored releases of the same question, policy and data version.
    Rounds    σ² of the second measurement up, as `gaussian_step`.
    """
    if plan.stored is not None or not plan.steps or not isinstance(plan.steps[-1], MeasurementStep):
        return plan
    known = by_precision(plan.recalled.stored, confidence=plan.terms.confidence)
    alone = [stored for stored in known if stored.alone]
    found = (way(plan, stored) for way in _WAYS for stored in alone)
    return next((each for each in found if each is not None), plan)


def _measured_again(plan: Plan, stored: Stored) -> Plan | None:
    """Both Gaussian: the difference in ρ, at the rate of the account. Keys that were found are not bought again."""
    rho, last = plan.rho, plan.steps[-1]
    if rho is None or stored.rho is None or stored.rho >= rho or not _is_gaussian(stored):
        return None
    step = gaussian_step(last.statement, plan.bounded, rho=rho - stored.rho)
    cost = plan.terms.cost * (rho - stored.rho) / plan.terms.gaussian_rho
    finer = Finer(upon=stored, way=Way.MEASURED, cost=cost, answers=_asked(plan), rho=rho, people=plan.people)
    return replace(plan, steps=(step,), finer=finer)


def _is_gaussian(stored: Stored) -> bool:
    return all(isinstance(law, DiscreteGaussianLaw) for noise in stored.noises for _, law in noise.parts)


def _averaged(plan: Plan, stored: Stored) -> Plan | None:
    """The whole price. Keys that are found anew are others, so that there is nothing to average with."""
    if not isinstance(plan.rewritten, Measuring):
        return None
    both = None if plan.rho is None or stored.rho is None else plan.rho + stored.rho
    finer = Finer(upon=stored, way=Way.AVERAGED, cost=plan.terms.cost, answers=_asked(plan), rho=both, people=None)
    return replace(plan, finer=finer)


def _asked(plan: Plan) -> tuple[NoisySlotLaw, ...]:
    return tuple(noise.carried for noise in plan.noises)


_WAYS: Final[tuple[Callable[[Plan, Stored], Plan | None], ...]] = (_measured_again, _averaged)
