"""A plan as the ledger keeps it: enough to tell its answer again, and to derive its price from nothing else.

Its steps are parts that can be read again: a part is written once, however often a statement reads it. A declared list
of keys is named by its digest: the ledger holds its declaration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from dpsql.catalog.key_lists import declared_list, list_digest, named_lists
from dpsql.catalog.model import EngineColumn, EngineTable, KeyKind, KeyList, KeyRange, PathStep, PublicKeys
from dpsql.catalog.types import SqlType
from dpsql.codec import REFUSED, Codec, from_text, to_text
from dpsql.errors import InternalError, LedgerBroken
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.margins import NoisySlotLaw
from dpsql.mechanisms.partition_threshold import GaussianThresholdSelection
from dpsql.mechanisms.partitions import PartitionSelection
from dpsql.plan.price import MeasurementStep, Plan, SelectionStep, SlotNoise, Step
from dpsql.plan.recall import Way
from dpsql.privacy.events import PRICED_EVENTS
from dpsql.privacy.unit import Neighbours
from dpsql.sensitivity.grain import Grain
from dpsql.sql import relations
from dpsql.sql.bound import PlacedSlot
from dpsql.sql.emit import statement_text
from dpsql.sql.intervals import Interval
from dpsql.sql.rewrite import Statement
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Sorted, Windowed
from dpsql.sql.slots import Slot, SlotKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTable:
    """What the derivation of a price reads of a declared table, and what the engine says of it."""

    name: str
    source: str
    public: bool
    unit_row: bool
    person: tuple[str, ...]
    path: tuple[PathStep, ...]
    engine: EngineTable


Planned: TypeAlias = tuple[tuple[Step, ...], tuple[ReadTable, ...], Neighbours]
"""What a price is derived from: the steps, the declarations they rest on, the relation."""

NOISE_NAMES: Final[Mapping[str, type[Any]]] = {
    "noise": NoisySlotLaw,
    "laplace": DiscreteLaplaceLaw,
    "gaussian": DiscreteGaussianLaw,
}

NAMES: Final[Mapping[str, type[Any]]] = {
    **PRICED_EVENTS,
    **NOISE_NAMES,
    "selection": SelectionStep,
    "measurement": MeasurementStep,
    "optimal": PartitionSelection,
    "threshold": GaussianThresholdSelection,
    "slot_noise": SlotNoise,
    "placed_slot": PlacedSlot,
    "slot": Slot,
    "slot_kind": SlotKind,
    "grain": Grain,
    "statement": Statement,
    "scan": relations.Scan,
    "listed": relations.Listed,
    "listed_keys": relations.ListedKeys,
    "filter": relations.Filter,
    "project": relations.Project,
    "join": relations.Join,
    "group": relations.Group,
    "total": relations.Total,
    "rank": relations.Rank,
    "window": relations.Window,
    "union": relations.Union,
    "exists": relations.Exists,
    "column": relations.Column,
    "type": SqlType,
    "interval": Interval,
    "ref": ColumnRef,
    "constant": Constant,
    "apply": Apply,
    "windowed": Windowed,
    "sorted": Sorted,
    "key_kind": KeyKind,
    "key_list": KeyList,
    "key_range": KeyRange,
    "public_keys": PublicKeys,
    "neighbours": Neighbours,
    "table": ReadTable,
    "path_step": PathStep,
    "engine_table": EngineTable,
    "engine_column": EngineColumn,
}
"""Everything that stored plans hold, by the names of the types. A name is never given another meaning."""


def unreadable() -> LedgerBroken:
    """A record that this version did not write."""
    return LedgerBroken("a stored plan cannot be read")


PLANS: Final = Codec(NAMES, shared=True, unreadable=unreadable)


@dataclass(frozen=True, slots=True)
class DeclaredLists:
    """The lists of keys that the policy declares, by their digests."""

    lists: Mapping[str, KeyList]
    named: dict[str, PublicKeys] = field(default_factory=dict)
    """Keys of columns that were written by name: read again they are the same, and comparing them costs nothing."""

    def name_of(self, value: object) -> str | None:
        if not isinstance(value, KeyList | PublicKeys):
            return None
        digest = list_digest(value if isinstance(value, KeyList) else declared_list(value, SqlType.DATE))
        if digest not in self.lists:
            return None
        if isinstance(value, PublicKeys):
            self.named[digest] = value
        return digest

    def value_of(self, kind: type, name: str) -> object:
        if name not in self.lists:
            raise LedgerBroken("a stored plan names a list of keys that is not declared")
        if kind is KeyList:
            return self.lists[name]
        return self.named[name] if name in self.named else PublicKeys(values=self.lists[name].values)


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
