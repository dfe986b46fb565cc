"""Plans as JSON that can be read again: what is decoded equals what was written, part by part.

A transcript is a list of parts, each a class and its fields; a part names the parts inside it by their number, which is
smaller than its own. So what a statement reads twice is written once, and reading needs no recursion. A declared list
of keys is named by its digest: the ledger holds its declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from dpsql.catalog.key_lists import declared_list, list_digest
from dpsql.catalog.model import EngineColumn, EngineTable, KeyKind, KeyList, KeyRange, PathStep, PublicKeys
from dpsql.catalog.types import SqlType
from dpsql.errors import InternalError, LedgerBroken
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.margins import NoisySlotLaw
from dpsql.mechanisms.partition_threshold import GaussianThresholdSelection
from dpsql.mechanisms.partitions import PartitionSelection
from dpsql.plan.price import MeasurementStep, SelectionStep, SlotNoise
from dpsql.privacy.events import Composed, DiscreteGaussian, GaussianThreshold, KeySelection, Pure
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

Json: TypeAlias = bool | int | str | list["Json"] | dict[str, "Json"] | None


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


PARTS: Final[Mapping[str, type[Any]]] = {
    kind.__name__: kind
    for family in (
        (Scan, Listed, Filter, Project, Join, Total, Group, Rank, Column, Interval, PublicKeys, Statement),
        (ListedKeys, KeyList, KeyRange),
        (ColumnRef, Constant, Apply, Slot, Grain, PlacedSlot, SlotNoise, SelectionStep, MeasurementStep),
        (NoisySlotLaw, DiscreteLaplaceLaw, DiscreteGaussianLaw, PartitionSelection, GaussianThresholdSelection),
        (Pure, DiscreteGaussian, KeySelection, GaussianThreshold, Composed),
        (Union, Exists),
        (ReadTable, PathStep, EngineTable, EngineColumn),
        (Window, Windowed, Sorted),
    )
    for kind in family
}
_GIVEN: Final = {name: tuple(each.name for each in fields(kind) if each.init) for name, kind in PARTS.items()}
"""The fields that make each part."""
WORDS: Final[Mapping[str, type[Enum]]] = {kind.__name__: kind for kind in (SqlType, SlotKind, KeyKind, Neighbours)}
_TEXTS: Final[Mapping[type, tuple[str, Callable[[Any], str]]]] = {
    Fraction: ("number", str),
    datetime: ("timestamp", datetime.isoformat),
    date: ("date", date.isoformat),
}
_READ: Final[Mapping[str, Callable[[str], object]]] = {
    "number": Fraction,
    "timestamp": datetime.fromisoformat,
    "date": date.fromisoformat,
}


def written(value: object, *, named: Container[str] = ()) -> list[Json]:
    """The parts of a value, the value itself last. InternalError for what has no word here.

    A list of keys whose digest is among the `named` ones is written as its digest.
    """
    writer = _Writer(named=named)
    last = writer.json(value)
    return [*writer.parts, last]


@dataclass(slots=True)
class _Writer:
    named: Container[str]
    parts: list[Json] = field(default_factory=list)
    _known: dict[int, tuple[int, object]] = field(default_factory=dict)
    """By identity, with the part itself, so that no other can take its place in memory."""

    def json(self, value: object) -> Json:
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value  # type: ignore[return-value]
        if kind is tuple:
            return [self.json(each) for each in value]  # type: ignore[attr-defined]
        if kind in _TEXTS:
            word, text = _TEXTS[kind]
            return {word: text(value)}
        if isinstance(value, Enum) and WORDS.get(kind.__name__) is kind:
            return {"word": [kind.__name__, value.value]}
        if isinstance(value, KeyList | PublicKeys):
            digest = list_digest(value if isinstance(value, KeyList) else declared_list(value, SqlType.DATE))
            if digest in self.named:
                return {kind.__name__: digest}
        if PARTS.get(kind.__name__) is not kind:
            raise InternalError(
                f"a stored plan has no word for {kind.__name__}",
                why="a plan that cannot be read again cannot be audited",
                fix="report the query; nothing was charged",
            )
        if id(value) not in self._known:
            told: dict[str, Json] = {name: self.json(getattr(value, name)) for name in _GIVEN[kind.__name__]}
            self.parts.append([kind.__name__, told])
            self._known[id(value)] = (len(self.parts) - 1, value)
        return {"part": self._known[id(value)][0]}


def read(transcript: Any, *, lists: Mapping[str, KeyList] = MappingProxyType({})) -> Any:
    """What `written` wrote; LedgerBroken for anything else. `lists`: those that are known by their digests."""
    try:
        *told, last = transcript
        parts = _Parts(lists=lists)
        for name, given in told:
            kind = PARTS[name]
            if set(given) != set(_GIVEN[name]):
                raise unreadable()
            parts.append(kind(**{field_: parts.value(value) for field_, value in given.items()}))
        return parts.value(last)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, ZeroDivisionError):
        raise unreadable() from None


class _Parts(list[object]):
    """The parts that were read so far."""

    def __init__(self, *, lists: Mapping[str, KeyList]) -> None:
        super().__init__()
        self._lists = lists

    def value(self, value: Any) -> object:
        if isinstance(value, list):
            return tuple(map(self.value, value))
        if not isinstance(value, dict):
            return value
        ((word, told),) = value.items()
        if word == "part":
            if not 0 <= told < len(self):
                raise unreadable()
            return self[told]
        if word == "word":
            name, member = told
            return WORDS[name](member)
        if word == KeyList.__name__:
            return self._list(told)
        if word == PublicKeys.__name__:
            return PublicKeys(values=self._list(told).values)
        return _READ[word](told)

    def _list(self, digest: Any) -> KeyList:
        if digest not in self._lists:
            raise LedgerBroken(
                "a stored plan names a list of keys that is not declared",
                why="its price rests on the list, and the ledger holds no declaration of it from before the charge",
                fix="verify the ledger and compare it with its backup",
            )
        return self._lists[digest]


def unreadable() -> LedgerBroken:
    """A record that this version did not write."""
    return LedgerBroken(
        "a stored plan cannot be read",
        why="the price and the margins of a stored answer come from its plan",
        fix="verify the ledger; it may have been written by another version",
    )
