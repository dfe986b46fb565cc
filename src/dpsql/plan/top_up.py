"""Top-up: a question that is stored, asked again for more, pays for what is missing. Plan -> Plan.

In this order: Gaussian noise is measured once more for the difference in ρ, and averaged with what is stored; of
Laplace noise, where ε alone is added up, a finer level is revealed for the difference; everything else is bought
whole, and averaged. Only releases that hold the very same slots are, with the same keys and salt.
Theorem: docs/theorems/top_up.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Final

from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.margins import NoisySlotLaw
from dpsql.plan.finer import Finer, Way
from dpsql.plan.price import MeasurementStep, Plan, RevealStep, SlotNoise, gaussian_step
from dpsql.plan.recall import Stored, by_precision
from dpsql.privacy.events import Pure, Refined
from dpsql.sql.rewrite import Measuring

_MOST_LEVELS: Final = 40


def topped_up(plan: Plan, *, cap: Fraction, finer: bool = True) -> Plan:
    """The plan that makes a stored release finer, the most precise one that can be; else, and where nothing is to be
    made `finer`, the same plan, with finer levels up to the `cap` of a price where a later top-up can tell them.

    Theorem   docs/theorems/top_up.md.
    Requires  a priced plan, and stored releases of the same question, policy and data version.
    Rounds    σ² of the second measurement up, as `gaussian_step`.
    """
    if plan.stored is not None or not plan.steps or not isinstance(plan.steps[-1], MeasurementStep):
        return plan
    known = by_precision(plan.recalled.stored, confidence=plan.terms.confidence)
    alone = [stored for stored in known if stored.alone and finer]
    found = (way(plan, stored) for way in _WAYS for stored in alone)
    return next((each for each in found if each is not None), replace(plan, levels=_levels(plan, cap)))


def _levels(plan: Plan, cap: Fraction) -> tuple[Fraction, ...]:
    """2, 4, 8, … times what is paid, and the cap; none where ε is not all that is added up."""
    most = cap / plan.terms.cost
    if not plan.terms.additive or not _is_laplace(_asked(plan)) or most <= 1:
        return ()
    doubled: list[Fraction] = []
    while 2 ** (len(doubled) + 1) < most and len(doubled) < _MOST_LEVELS:
        doubled.append(Fraction(2 ** (len(doubled) + 1)))
    return (*doubled, most)


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


def _revealed(plan: Plan, stored: Stored) -> Plan | None:
    """The first hidden level that is as fine as asked for, where the difference is at most the price that was said."""
    last, asked, coarse = plan.steps[-1], _asked(plan), _plain(stored)
    if not plan.terms.additive or not stored.levels or not _is_laplace(asked) or not _is_laplace(coarse):
        return None
    ratios = {b.law.scale / a.law.scale for a, b in zip(asked, coarse, strict=True)}  # type: ignore[union-attr]
    if len(ratios) != 1 or not isinstance(last.event, Pure):
        return None
    (ratio,) = ratios
    level = next((each for each in stored.levels if each >= stored.level * ratio > stored.level), None)
    if level is None:
        return None
    cost = last.event.epsilon / ratio * (level / stored.level - 1)
    if cost > plan.terms.cost:
        return None
    before = tuple(
        SlotNoise(placed=placed, carried=noise) for placed, noise in zip(plan.bounded.slots, coarse, strict=True)
    )
    step = RevealStep(
        statement=last.statement,
        noises=finer_noises(before, level / stored.level),
        before=coarse,
        level=stored.levels.index(level),
        event=Refined(epsilon=cost),
    )
    finer = Finer(upon=stored, way=Way.REVEALED, cost=cost, answers=asked, rho=None, people=plan.people, level=level)
    return replace(plan, steps=(step,), finer=finer)


def _plain(stored: Stored) -> tuple[NoisySlotLaw, ...]:
    return tuple(noise for noise in stored.noises if isinstance(noise, NoisySlotLaw))


def _is_laplace(noises: tuple[NoisySlotLaw, ...]) -> bool:
    return bool(noises) and all(isinstance(noise.law, DiscreteLaplaceLaw) for noise in noises)


def finer_noises(noises: tuple[SlotNoise, ...], times: Fraction) -> tuple[SlotNoise, ...]:
    """Laplace noise of so many times the ε."""
    return tuple(
        replace(noise, carried=replace(noise.carried, law=DiscreteLaplaceLaw(scale=noise.carried.law.scale / times)))
        for noise in noises
        if isinstance(noise.carried.law, DiscreteLaplaceLaw)
    )


def _averaged(plan: Plan, stored: Stored) -> Plan | None:
    """The whole price. Keys that are found anew are others, so that there is nothing to average with."""
    if not isinstance(plan.rewritten, Measuring):
        return None
    both = None if plan.rho is None or stored.rho is None else plan.rho + stored.rho
    finer = Finer(upon=stored, way=Way.AVERAGED, cost=plan.terms.cost, answers=_asked(plan), rho=both, people=None)
    return replace(plan, finer=finer)


def _asked(plan: Plan) -> tuple[NoisySlotLaw, ...]:
    return tuple(noise.carried for noise in plan.noises)


_WAYS: Final[tuple[Callable[[Plan, Stored], Plan | None], ...]] = (_measured_again, _revealed, _averaged)
