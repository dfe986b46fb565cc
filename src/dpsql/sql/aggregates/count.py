"""COUNT(*), COUNT(x), COUNT(DISTINCT x), COUNT(DISTINCT person). Proof: docs/theorems/bounding.md."""

from __future__ import annotations

from fractions import Fraction

from dpsql.sql.aggregates.measure import Measured, Subject, number
from dpsql.sql.slots import Slot, SlotKind


def count(subject: Subject) -> Measured:
    """Rows, values, different values, or people."""
    aggregate = subject.aggregate
    if aggregate.distinct and aggregate.arguments and subject.of_person:
        return _one(_counted(SlotKind.ROWS if aggregate.filter is None else SlotKind.VALUES, subject, cap=1))
    if aggregate.distinct and aggregate.arguments:
        return _one(_counted(SlotKind.DISTINCT, subject, cap=subject.cap))
    if subject.argument is None and subject.public_rows is not None:
        return Measured(slots=(), value=lambda _: number(subject.public_rows or 0))
    return _one(values(subject))


def values(subject: Subject) -> Slot:
    """How many rows, or non-NULL values, each person has: at most C."""
    return _counted(SlotKind.ROWS if subject.argument is None else SlotKind.VALUES, subject, cap=subject.cap)


def _counted(kind: SlotKind, subject: Subject, *, cap: int) -> Slot:
    argument = None if kind is SlotKind.ROWS else subject.argument
    return Slot(kind=kind, argument=argument, cap=cap, low=0, high=cap, size=Fraction(1))


def _one(slot: Slot) -> Measured:
    return Measured(slots=(slot,), value=lambda columns: columns[0])
