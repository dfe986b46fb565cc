"""A plan as the ledger keeps it: enough to tell its answer again, and to derive its price from nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

from dpsql.catalog.key_lists import named_lists
from dpsql.catalog.model import KeyList, PublicKeys
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.margins import Law, NoisySlotLaw
from dpsql.plan.finer import Finer, Way
from dpsql.plan.price import MeasurementStep, Plan, SelectionStep, Step, released_noises
from dpsql.plan.transcript import ReadTable, read, unreadable, written
from dpsql.privacy.unit import Neighbours
from dpsql.sql.emit import statement_text

VERSION: Final = 2


def plan_record(plan: Plan, *, dialect: str) -> str:
    """The plan as JSON: what will be run, how noisy, for which events, over which declarations.

    `noises` and `people` say again what an answer that is told again needs of the steps; `sql` is for people. `rho` is
    what the numbers were bought for in all, `upon` the release that they make finer, and `fresh` says beside how many
    releases new noise was asked for: the same request again is no new one before it is answered.
    """
    bounded = plan.bounded
    return json.dumps(
        {
            "version": VERSION,
            "cost": str(plan.cost),
            "sql": [statement_text(step.statement, dialect=dialect) for step in plan.steps],
            "noises": [
                {"question": question, **_noise(noise.carried)}
                for question, noise in zip(plan.recalled.identity.slots, plan.noises, strict=True)
            ],
            "people": plan.people,
            "plan": written((plan.steps, _tables(plan), bounded.neighbours), named=lists_of(plan)),
            **({} if plan.recalled.fresh is None else {"fresh": plan.recalled.fresh}),
            **({} if plan.rho is None else {"rho": str(plan.rho)}),
            **({} if plan.finer is None else {"upon": _upon(plan.finer)}),
        },
        sort_keys=True,
        separators=(",", ":"),
    )


def _upon(finer: Finer) -> dict[str, object]:
    """What is made finer, what was paid for it, and what comes out is as good as."""
    return {
        "receipt": finer.upon.receipt,
        "way": finer.way.value,
        "paid": str(finer.upon.paid),
        "people": finer.people,
        "answers": [_noise(noise) for noise in finer.answers],
    }


def lists_of(plan: Plan) -> dict[str, KeyList]:
    """The lists of keys that the policy declares for the tables of a plan, by their digests."""
    tables = plan.bounded.query.catalog.policy.tables
    columns = (column for name in set(plan.bounded.query.tables) for column in tables[name].columns.values())
    return named_lists(column.keys for column in columns if isinstance(column.keys, PublicKeys))


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


def read_plan(
    record: str, *, lists: Mapping[str, KeyList] = MappingProxyType({})
) -> tuple[tuple[Step, ...], tuple[ReadTable, ...], Neighbours]:
    """The steps of a record, and the declarations their price is derived from. `lists`: the declared lists of keys, by
    the digests that records name them by."""
    try:
        steps, tables, neighbours = read(_read(record)["plan"], lists=lists)
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
        **({} if carried.above is None else {"above": carried.above}),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptUpon:
    """Of a release that makes another one finer."""

    receipt: int
    way: Way
    paid: Fraction
    people: int | None
    answers: tuple[NoisySlotLaw, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a record says to those who tell its answer again."""

    noises: tuple[tuple[str, NoisySlotLaw], ...]
    """What each slot answers, and the noise it carries."""
    people: int | None
    """How finely keys were selected; None where they were public."""
    cost: Fraction
    rho: Fraction | None
    upon: KeptUpon | None


def kept(record: str) -> Kept:
    """What a record says about the numbers that were released by it."""
    told = _read(record)
    try:
        rho, upon = told.get("rho"), told.get("upon")
        return Kept(
            noises=tuple((noise["question"], _carried(noise)) for noise in told["noises"]),
            people=_people(told),
            cost=Fraction(told["cost"]),
            rho=None if rho is None else Fraction(rho),
            upon=None
            if upon is None
            else KeptUpon(
                receipt=upon["receipt"],
                way=Way(upon["way"]),
                paid=Fraction(upon["paid"]),
                people=_people(upon),
                answers=tuple(map(_carried, upon["answers"])),
            ),
        )
    except (ValueError, KeyError, TypeError):
        raise unreadable() from None


def _carried(noise: dict[str, Any]) -> NoisySlotLaw:
    return NoisySlotLaw(
        law=_law(noise["law"], Fraction(noise["scale"])),
        grain=Fraction(noise["size"]),
        rounded=noise["rounded"],
        above=noise.get("above"),
    )


def _people(told: dict[str, Any]) -> int | None:
    people = told.get("people")
    return people if isinstance(people, int) else None


def noises_of(steps: Sequence[Step]) -> tuple[NoisySlotLaw, ...]:
    """The noise of each slot that some steps release."""
    return tuple(noise.carried for noise in released_noises(steps))


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
