"""Which noise is the same noise: every released number has an identity, and everybody draws the same noise for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b
from typing import Protocol, TypeAlias

from dpsql.mechanisms.margins import DRAWS, Band, SlotLaw, draws, stretch

Plausible: TypeAlias = list[float | None]
"""What the truth may be, draw by draw; None where the expression has no value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotCell:
    """The noisy number of one slot in one released row. Equal cells carry the same noise, others independent noise."""

    release: str
    """Which release, among all of all ledgers."""
    row: int
    """In released order."""
    slot: int
    """Its place among the slots of the release."""
    law: SlotLaw = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundingCell:
    """What rounding has added to one shown number: known, because the number of grains was released."""

    release: str
    row: int
    slot: int
    size: Fraction = field(compare=False)


Weights: TypeAlias = Mapping[SlotCell | RoundingCell, Fraction]
"""The noise of a linear expression: Σ weight · noise of the cell."""


class ColumnNoise(Protocol):
    """The noise of one linear expression in all rows of a release."""

    def of_row(self, row: int, /) -> Weights: ...


class Origin(Protocol):
    """Where the plausible values of a non-linear number come from."""

    def plausible(self, rule: Band, /) -> Plausible:
        """The first draws, at most `rule.count` of them."""
        ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """Values that were computed when the number was made."""

    values: tuple[float | None, ...]
    around: float = 0.0
    """The number itself."""
    level: Fraction = Fraction(1, 2)
    """The confidence they were drawn for; at a higher one they lie farther from the number."""

    def plausible(self, rule: Band, /) -> Plausible:
        factor = stretch(drawn=self.level, wanted=rule.confidence)
        values = self.values[: rule.count]
        if factor == 1:
            return list(values)
        return [None if value is None else self.around + factor * (value - self.around) for value in values]


def shuffle(*, release: str, row: int) -> tuple[int, int]:
    """(a, b): draw d of this row takes place (a·d + b) mod DRAWS of every pool, so that rows vary independently."""
    digest = blake2b(f"row {row} {release}".encode(), digest_size=16).digest()
    return 1 + int.from_bytes(digest[:8], "big") % (DRAWS - 1), int.from_bytes(digest[8:], "big") % DRAWS


@lru_cache(maxsize=64)
def pool(*, release: str, slot: int, law: SlotLaw, rule: Band) -> tuple[float, ...]:
    """The noises that the rows of one slot take their draws from."""
    seed = blake2b(f"slot {slot} {release}".encode(), digest_size=16).digest()
    return tuple(draws(law, DRAWS, seed=seed, rule=rule))


def noise_of(cell: SlotCell | RoundingCell, rule: Band) -> list[float]:
    """The draws of one cell's noise."""
    if isinstance(cell, RoundingCell):
        return [float(cell.size)] * rule.count
    a, b = shuffle(release=cell.release, row=cell.row)
    values = pool(release=cell.release, slot=cell.slot, law=cell.law, rule=rule)
    return [values[(a * draw + b) % DRAWS] for draw in range(rule.count)]


def plausible_sums(value: float, weights: Weights, rule: Band) -> Plausible:
    """value − Σ weight · noise, draw by draw."""
    sums = [value] * rule.count
    for cell, weight in weights.items():
        size = float(weight)
        sums = [total - size * noise for total, noise in zip(sums, noise_of(cell, rule), strict=True)]
    return list(sums)
