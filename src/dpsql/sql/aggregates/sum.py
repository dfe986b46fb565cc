"""SUM(x). Proof: docs/theorems/bounding.md."""

from __future__ import annotations

from dpsql.sql.aggregates.measure import Measured, Subject, grain_of
from dpsql.sql.slots import Slot, SlotKind


def sum_(subject: Subject) -> Measured:
    """Values inside their bounds row by row, a person's sum inside C times the bounds; nothing: 0."""
    grain = grain_of(subject)
    slot = Slot(
        kind=SlotKind.SUM,
        argument=subject.argument,
        cap=subject.cap,
        low=subject.cap * min(grain.low, 0),
        high=subject.cap * max(grain.high, 0),
        size=grain.size,
        grain=grain,
    )
    return Measured(slots=(slot,), value=lambda columns: columns[0])
