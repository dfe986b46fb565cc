"""A plan as the ledger keeps it: enough to tell its answer again, and to derive its price from nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.margins import Law, NoisySlotLaw
from dpsql.plan.price import MeasurementStep, Plan, SelectionStep, Step, released_noises
from dpsql.plan.transcript import ReadTable, read, unreadable, written
from dpsql.privacy.unit import Neighbours
from dpsql.sql.emit import statement_text

VERSION: Final = 2


def plan_record(plan: Plan, *, dialect: str) -> str:
    """The plan as JSON: what will be run, how noisy, for which events, over which declarations.

    `noises` and `people` say again what an answer that is told again needs of the steps; `sql` is for people.
    """
    bounded = plan.bounded
    return json.dumps(
        {
            "version": VERSION,
            "cost": str(plan.terms.cost),
            "sql": [statement_text(step.statement, dialect=dialect) for step in plan.steps],
            "noises": [
                {"question": question, **_noise(noise.carried)}
                for question, noise in zip(plan.recalled.identity.slots, plan.noises, strict=True)
            ],
            "people": plan.people,
            "plan": written((plan.steps, _tables(plan), bounded.neighbours)),
        },
        sort_keys=True,
        separators=(",", ":"),
    )


def _tables(plan: Plan) -> tuple[ReadTable, ...]:
    catalog = plan.bounded.query.catalog
    tables = (catalog.policy.tables[name] for name in sorted(set(plan.bounded.query.tables)))
    return tuple(
        ReadTable(
            name=table.name,
            source=table.source,
            public=table.public,
            unit_row=table.unit_row,
            person=table.person,
            path=table.path,
            engine=catalog.schema[table.name],
        )
        for table in tables
    )


def read_plan(record: str) -> tuple[tuple[Step, ...], tuple[ReadTable, ...], Neighbours]:
    """The steps of a record, and the declarations their price is derived from."""
    try:
        steps, tables, neighbours = read(_read(record)["plan"])
    except (KeyError, TypeError, ValueError):
        raise unreadable() from None
    if (
        _all_are(steps, (SelectionStep, MeasurementStep))
        and _all_are(tables, (ReadTable,))
        and isinstance(neighbours, Neighbours)
    ):
        return steps, tables, neighbours
    raise unreadable()


def _all_are(values: object, kinds: tuple[type, ...]) -> bool:
    return isinstance(values, tuple) and all(isinstance(value, kinds) for value in values)


def _noise(carried: NoisySlotLaw) -> dict[str, object]:
    law = carried.law
    laplace = isinstance(law, DiscreteLaplaceLaw)
    scale = law.scale if isinstance(law, DiscreteLaplaceLaw) else law.sigma_squared
    return {
        "law": "laplace" if laplace else "gaussian",
        "scale": str(scale),
        "size": str(carried.grain),
        "rounded": carried.rounded,
    }


def stored_noises(record: str) -> tuple[tuple[str, NoisySlotLaw], ...]:
    """What each slot of a record answers, and the noise it carries."""
    try:
        return tuple(
            (
                noise["question"],
                NoisySlotLaw(
                    law=_law(noise["law"], Fraction(noise["scale"])),
                    grain=Fraction(noise["size"]),
                    rounded=noise["rounded"],
                ),
            )
            for noise in _read(record)["noises"]
        )
    except (ValueError, KeyError, TypeError):
        raise unreadable() from None


def noises_of(steps: Sequence[Step]) -> tuple[NoisySlotLaw, ...]:
    """The noise of each slot that some steps release."""
    return tuple(noise.carried for noise in released_noises(steps))


def stored_people(record: str) -> int | None:
    """How finely the keys of a record were selected; None where they were public."""
    people = _read(record).get("people")
    return people if isinstance(people, int) else None


def _read(record: str) -> dict[str, Any]:
    try:
        told = json.loads(record)
    except ValueError:
        raise unreadable() from None
    if not isinstance(told, dict) or told.get("version") != VERSION:
        raise unreadable()
    return told


def _law(name: str, scale: Fraction) -> Law:
    return DiscreteLaplaceLaw(scale=scale) if name == "laplace" else DiscreteGaussianLaw(sigma_squared=scale)
