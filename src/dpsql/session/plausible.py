"""Which noise is the same noise: every released number has an identity, and everybody draws the same noise for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b
from typing import Protocol, TypeAlias

from dpsql.mechanisms.margins import DRAWS, Band, SlotLaw, draws

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
    rounding: Fraction = field(default=Fraction(0), compare=False)
    """What rounding to a whole number has added: known, because the number of grains was released."""


Weights: TypeAlias = Mapping[SlotCell, Fraction]
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

    def plausible(self, rule: Band, /) -> Plausible:
        return list(self.values[: rule.count])


def shuffle(*, release: str, row: int) -> tuple[int, int]:
    """(a, b): draw d of this row takes place (a·d + b) mod DRAWS of every pool, so that rows vary independently."""
    digest = blake2b(f"row {row} {release}".encode(), digest_size=16).digest()
    return 1 + int.from_bytes(digest[:8], "big") % (DRAWS - 1), int.from_bytes(digest[8:], "big") % DRAWS


@lru_cache(maxsize=64)
def pool(*, release: str, slot: int, law: SlotLaw, rule: Band) -> tuple[float, ...]:
    """The noises that the rows of one slot take their draws from."""
    seed = blake2b(f"slot {slot} {release}".encode(), digest_size=16).digest()
    return tuple(draws(law, DRAWS, seed=seed, rule=rule))


def noise_of(cell: SlotCell, rule: Band) -> list[float]:
    """The draws of one cell's noise, with what rounding added to it."""
    a, b = shuffle(release=cell.release, row=cell.row)
    values = pool(release=cell.release, slot=cell.slot, law=cell.law, rule=rule)
    rounding = float(cell.rounding)
    return [values[(a * draw + b) % DRAWS] + rounding for draw in range(rule.count)]


def plausible_sums(value: float, weights: Weights, rule: Band) -> Plausible:
    """value − Σ weight · noise, draw by draw."""
    sums = [value] * rule.count
    for cell, weight in weights.items():
        size = float(weight)
        sums = [total - size * noise for total, noise in zip(sums, noise_of(cell, rule), strict=True)]
    return list(sums)
