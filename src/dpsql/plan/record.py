"""A plan as text: what the ledger keeps, and what makes two questions the same.

The digest is over the private part alone: statements with their bounds, caps, keys and grains, without price,
confidence, salt and post-processing. The record adds prices, so that an auditor can derive them again.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction

from dpsql.errors import LedgerBroken
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.plan.price import MeasurementStep, Plan, SlotNoise, Step
from dpsql.plan.recall import Carried, Law
from dpsql.sql.emit import statement_text
from dpsql.sql.rewrite import Rewritten, Selecting, Statement, Unprotected


def plan_digest(rewritten: Rewritten, *, dialect: str) -> str:
    """Equal for two queries that ask the engine the same, by construction."""
    bounded = rewritten.bounded
    parts = {
        "selection": _text(rewritten.selection if isinstance(rewritten, Selecting) else None, dialect),
        "measurement": _text(None if isinstance(rewritten, Unprotected) else rewritten.measurement, dialect),
        "slots": [
            [placed.slot.kind.value, placed.slot.low, placed.slot.high, str(placed.slot.size)]
            for placed in bounded.slots
        ],
        "groups": bounded.groups,
        "mode": bounded.mode.value if bounded.mode else None,
        "neighbours": bounded.neighbours.value,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _text(statement: Statement | None, dialect: str) -> str | None:
    return None if statement is None else statement_text(statement, dialect=dialect)


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
            "noises": [_noise(noise) for noise in plan.noises],
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
        "size": str(noise.carried.size),
        "rounded": noise.carried.rounded,
        "slot": {"kind": slot.kind.value, "cap": slot.cap, "low": slot.low, "high": slot.high},
    }


def stored_noises(record: str) -> tuple[Carried, ...]:
    """The noises of a record, one per slot."""
    try:
        noises = json.loads(record)["noises"]
        return tuple(
            Carried(
                law=_law(noise["law"], Fraction(noise["scale"])),
                size=Fraction(noise["size"]),
                rounded=noise["rounded"],
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
