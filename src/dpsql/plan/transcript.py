"""Steps of plans as parts that can be read again: a part is written once, however often a statement reads it.

A declared list of keys is named by its digest: the ledger holds its declaration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from dpsql.catalog.key_lists import declared_list, list_digest
from dpsql.catalog.model import EngineColumn, EngineTable, KeyKind, KeyList, KeyRange, PathStep, PublicKeys
from dpsql.catalog.types import SqlType
from dpsql.codec import Codec
from dpsql.errors import LedgerBroken
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.margins import NoisySlotLaw
from dpsql.mechanisms.partition_threshold import GaussianThresholdSelection
from dpsql.mechanisms.partitions import PartitionSelection
from dpsql.plan.price import MeasurementStep, SelectionStep, SlotNoise, Step
from dpsql.privacy.events import PRICED_EVENTS
from dpsql.privacy.unit import Neighbours
from dpsql.sensitivity.grain import Grain
from dpsql.sql.bound import PlacedSlot
from dpsql.sql.intervals import Interval
from dpsql.sql.relations import (
    Column,
    Exists,
    Filter,
    Group,
    Join,
    Listed,
    ListedKeys,
    Project,
    Rank,
    Scan,
    Total,
    Union,
    Window,
)
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
    "scan": Scan,
    "listed": Listed,
    "listed_keys": ListedKeys,
    "filter": Filter,
    "project": Project,
    "join": Join,
    "group": Group,
    "total": Total,
    "rank": Rank,
    "window": Window,
    "union": Union,
    "exists": Exists,
    "column": Column,
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
