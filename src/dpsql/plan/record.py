"""A plan as the ledger keeps it: enough to tell its answer again, and to derive its price from nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

from dpsql.catalog.key_lists import named_lists
from dpsql.catalog.model import KeyList, PublicKeys
from dpsql.codec import REFUSED, Codec, from_text, to_text
from dpsql.errors import InternalError
from dpsql.mechanisms.margins import NoisySlotLaw
from dpsql.plan.finer import Way
from dpsql.plan.price import Plan, Step, released_noises
from dpsql.plan.transcript import NOISE_NAMES, PLANS, DeclaredLists, Planned, ReadTable, unreadable
from dpsql.sql.emit import statement_text


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptUpon:
    """Of a release that makes another one finer: which one, what was paid for it, and what comes out is as good as."""

    receipt: int
    way: Way
    paid: Fraction
    people: int | None
    answers: tuple[NoisySlotLaw, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a record says to those who tell its answer again. `sql` is for people."""

    sql: tuple[str, ...]
    noises: tuple[tuple[str, NoisySlotLaw], ...]
    """What each slot answers, and the noise it carries."""
    people: int | None
    """How finely keys were selected; None where they were public."""
    cost: Fraction
    rho: Fraction | None = None
    """What the numbers were bought for in all."""
    upon: KeptUpon | None = None
    """The release that they make finer."""
    fresh: int | None = None
    """Beside how many releases new noise was asked for: the same request again is no new one before it is answered."""


_KEPT: Final = Codec({"kept": Kept, "upon": KeptUpon, "way": Way, **NOISE_NAMES}, unreadable=unreadable)


def plan_record(plan: Plan, *, dialect: str) -> str:
    """The plan as JSON: what will be run, how noisy, for which events, over which declarations. What its answer needs
    to be told again stands beside it: whoever recalls it need not read the plan."""
    said, planned, lists = _kept(plan, dialect), (plan.steps, _tables(plan), plan.bounded.neighbours), lists_of(plan)
    elsewhere = DeclaredLists(lists)
    record = to_text({"kept": _KEPT.to_json(said), "plan": PLANS.to_json(planned, Planned, elsewhere=elsewhere)})
    if kept(record) != said or PLANS.from_json(_read(record)["plan"], Planned, elsewhere=elsewhere) != planned:
        raise InternalError("a plan cannot be read as it would be stored")
    return record


def _kept(plan: Plan, dialect: str) -> Kept:
    finer = plan.finer
    return Kept(
        sql=tuple(statement_text(step.statement, dialect=dialect) for step in plan.steps),
        noises=tuple(
            (question, noise.carried) for question, noise in zip(plan.recalled.identity.slots, plan.noises, strict=True)
        ),
        people=plan.people,
        cost=plan.cost,
        rho=plan.rho,
        upon=None
        if finer is None
        else KeptUpon(
            receipt=finer.upon.receipt,
            way=finer.way,
            paid=finer.upon.paid,
            people=finer.people,
            answers=finer.answers,
        ),
        fresh=plan.recalled.fresh,
    )


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


def read_plan(record: str, *, lists: Mapping[str, KeyList] = MappingProxyType({})) -> Planned:
    """The steps of a record, and the declarations their price is derived from. `lists`: the declared lists of keys, by
    the digests that records name them by."""
    planned: Planned = PLANS.from_json(_read(record)["plan"], Planned, elsewhere=DeclaredLists(lists))
    return planned


def kept(record: str) -> Kept:
    """What a record says about the numbers that were released by it."""
    found: Kept = _KEPT.from_json(_read(record)["kept"], Kept)
    return found


def scanned_tables(record: str) -> set[str]:
    """The declared tables that the steps of a record read."""
    return {content["table"] for name, content in _read(record)["plan"][:-1] if name == "scan"}


def _read(record: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = from_text(record)
        if found.keys() == {"kept", "plan"}:
            return found
    except REFUSED:
        pass
    raise unreadable()


def noises_of(steps: Sequence[Step]) -> tuple[NoisySlotLaw, ...]:
    """The noise of each slot that some steps release."""
    return tuple(noise.carried for noise in released_noises(steps))
