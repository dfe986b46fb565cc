"""The steps of a plan: what each asks, with which noise, for which event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dpsql.mechanisms.margins import NoisySlotLaw
from dpsql.mechanisms.partition_threshold import GaussianThresholdSelection
from dpsql.mechanisms.partitions import PartitionSelection
from dpsql.privacy.events import Event
from dpsql.sql.bound import PlacedSlot
from dpsql.sql.rewrite import Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotNoise:
    """The noise of one slot."""

    placed: PlacedSlot
    carried: NoisySlotLaw


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionStep:
    """Which private keys may be shown."""

    statement: Statement
    mechanism: PartitionSelection[tuple[object, ...]] | GaussianThresholdSelection[tuple[object, ...]]
    counts: SlotNoise | None
    """The noisy numbers of people are released with the keys, and answer this slot."""

    @property
    def event(self) -> Event:
        return self.mechanism.event

    @property
    def people(self) -> int:
        """From about how many people on a key has an even chance to be shown."""
        if isinstance(self.mechanism, GaussianThresholdSelection):
            return self.mechanism.threshold
        return self.mechanism.even_chance


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementStep:
    """All slots of all keys, with noise."""

    statement: Statement
    noises: tuple[SlotNoise, ...]
    event: Event


Step: TypeAlias = SelectionStep | MeasurementStep


def released_noises(steps: Sequence[Step]) -> tuple[SlotNoise, ...]:
    """The noise of what the last step releases."""
    last = steps[-1] if steps else None
    if last is None or isinstance(last, MeasurementStep):
        return () if last is None else last.noises
    return () if last.counts is None else (last.counts,)
