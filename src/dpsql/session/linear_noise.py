"""The noise of one linear expression in all rows of a release, kept once: a cell of an answer only knows its row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.catalog.model import Value
from dpsql.mechanisms.margins import SlotLaw
from dpsql.session.plausible import SlotCell
from dpsql.session.released_rows import ReleasedSlot


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotNoise:
    """The noise of one slot in an expression."""

    slot: ReleasedSlot
    law: SlotLaw
    weight: Fraction
    released: Sequence[Value]
    """The released numbers, where rounding has changed them; none where it has not."""

    def of_row(self, row: int, release: str) -> Iterator[tuple[SlotCell, Fraction]]:
        """Whose noise the number carries, and how much of it: an average shares it with the releases it was made of."""
        slot, law = self.slot, self.law
        rounding = slot.rounding(self.released[row]) if self.released else Fraction(0)
        if not slot.parts:
            yield SlotCell(release=release, row=row, slot=slot.place, law=law, rounding=rounding), self.weight
        for part in slot.parts:
            own = replace(part.law, rounded=law.rounded)
            cell = SlotCell(release=part.release, row=row, slot=part.place, law=own, rounding=rounding)
            yield cell, self.weight * part.share


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearNoise:
    """The noise of one expression."""

    release: str
    slots: tuple[SlotNoise, ...]

    def of_row(self, row: int, /) -> dict[SlotCell, Fraction]:
        """The noise of the expression in this row, looked up when something is calculated with the number."""
        return {cell: weight for slot in self.slots for cell, weight in slot.of_row(row, self.release)}
