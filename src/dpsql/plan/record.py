"""A plan as text: what the ledger keeps of it, so that its answer can be told again and its price derived again."""

from __future__ import annotations

import json
from fractions import Fraction

from dpsql.errors import LedgerBroken
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.margins import Law, NoisySlotLaw
from dpsql.plan.price import MeasurementStep, Plan, SlotNoise, Step
from dpsql.sql.emit import statement_text


def plan_record(plan: Plan, *, dialect: str) -> str:
    """The plan as JSON: what will be run, how noisy, for which event."""
    bounded = plan.bounded
    return json.dumps(
        {
            "version": 1,
            "cost": str(plan.terms.cost),
            "groups": bounded.groups,
            "mode": bounded.mode.value if bounded.mode else None,
            "neighbours": bounded.neighbours.value,
            "steps": [_step(step, dialect) for step in plan.steps],
            "noises": [
                {"question": question, **_noise(noise)}
                for question, noise in zip(plan.recalled.identity.slots, plan.noises, strict=True)
            ],
            "people": plan.people,
        },
        sort_keys=True,
    )


def _step(step: Step, dialect: str) -> dict[str, object]:
    kind = "measure" if isinstance(step, MeasurementStep) else "select"
    return {"kind": kind, "sql": statement_text(step.statement, dialect=dialect), "event": repr(step.event)}


def _noise(noise: SlotNoise) -> dict[str, object]:
    slot, law = noise.placed.slot, noise.carried.law
    scale = law.scale if isinstance(law, DiscreteLaplaceLaw) else law.sigma_squared
    return {
        "law": "laplace" if isinstance(law, DiscreteLaplaceLaw) else "gaussian",
        "scale": str(scale),
        "size": str(noise.carried.grain),
        "rounded": noise.carried.rounded,
        "slot": {"kind": slot.kind.value, "cap": slot.cap, "low": slot.low, "high": slot.high},
    }


def stored_noises(record: str) -> tuple[tuple[str, NoisySlotLaw], ...]:
    """What each slot of a record answers, and the noise it carries."""
    try:
        noises = json.loads(record)["noises"]
        return tuple(
            (
                noise["question"],
                NoisySlotLaw(
                    law=_law(noise["law"], Fraction(noise["scale"])),
                    grain=Fraction(noise["size"]),
                    rounded=noise["rounded"],
                ),
            )
            for noise in noises
        )
    except (ValueError, KeyError, TypeError):
        raise LedgerBroken(
            "a stored plan cannot be read",
            why="the margins of a stored answer come from its plan",
            fix="verify the ledger; it may have been written by another version",
        ) from None


def stored_people(record: str) -> int | None:
    """How finely the keys of a record were selected; None where they were public."""
    people = json.loads(record).get("people")
    return people if isinstance(people, int) else None


def _law(name: str, scale: Fraction) -> Law:
    return DiscreteLaplaceLaw(scale=scale) if name == "laplace" else DiscreteGaussianLaw(sigma_squared=scale)
