"""A table of exact integers per key becomes a table of noisy ones: the last place where exact numbers exist.

The engine's row order is discarded before the first draw. No code here branches on a drawn value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import add
from typing import Any

from dpsql.errors import InternalError
from dpsql.mechanisms.discrete_gaussian import gaussian_noise
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw, laplace_noise
from dpsql.mechanisms.mechanism import opened
from dpsql.mechanisms.noise_sum import Law
from dpsql.mechanisms.partition_threshold import GaussianThresholdSelection
from dpsql.mechanisms.partitions import PartitionSelection
from dpsql.privacy.exact import Exact
from dpsql.privacy.order import delivery_order, sorted_by_key
from dpsql.randomness import Source

Key = tuple[object, ...]
"""One row of an engine: keys, then whole numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyTable:
    """Released keys in order of delivery, and the noisy integers of each."""

    keys: tuple[Key, ...]
    values: tuple[tuple[int, ...], ...]


def measured(rows: Exact[list[Any]], /, *, keys: int, laws: Sequence[Law], source: Source) -> NoisyTable:
    """Every integer of every row plus one draw of the law of its column.

    Theorem   docs/theorems/discrete_laplace.md, discrete_gaussian.md: noise on every coordinate of an integer vector.
    Requires  rows of `keys` public keys and one whole number per law; laws calibrated to the distance of neighbours.
    Rounds    nothing.
    """
    ordered = sorted_by_key(_shaped(opened(rows), keys, len(laws)), keys=keys)
    exact = [_whole([row[place] for row in ordered]) for place in range(keys, keys + len(laws))]
    noises = [noise_of(law, size=len(ordered), source=source) for law in laws]
    noisy = [map(add, column, noise) for column, noise in zip(exact, noises, strict=True)]
    values = tuple(zip(*noisy, strict=True)) if noisy else ((),) * len(ordered)
    return NoisyTable(keys=tuple(row[:keys] for row in ordered), values=values)


def noise_of(law: Law, *, size: int, source: Source) -> list[int]:
    """`size` independent exact draws of a law.

    Theorem   docs/theorems/exact_samplers.md.
    Requires  a discrete law.
    Rounds    nothing.
    """
    if isinstance(law, DiscreteLaplaceLaw):
        return laplace_noise(l1=1, epsilon=1 / law.scale, size=size, source=source)
    return gaussian_noise(sigma_squared=law.sigma_squared, size=size, source=source)


def selected(
    mechanism: PartitionSelection[Key] | GaussianThresholdSelection[Key],
    rows: Exact[list[Any]],
    *,
    keys: int,
    source: Source,
) -> NoisyTable:
    """The private keys that may be shown; their noisy numbers of people where the mechanism releases them.

    Theorem   docs/theorems/partition_selection.md, partition_threshold.md.
    Requires  rows of `keys` key columns and one number of people, each person under a limited number of keys.
    Rounds    nothing.
    """
    shown = mechanism.release(_people(rows, keys), source=source)
    ordered = tuple(sorted(shown, key=delivery_order))
    return NoisyTable(keys=ordered, values=tuple((shown[key],) if isinstance(shown, dict) else () for key in ordered))


def _people(rows: Exact[list[Any]], keys: int) -> Exact[Mapping[Key, int]]:
    """The number of people behind each key, in order of delivery: draws do not depend on the engine's row order."""
    ordered = sorted_by_key(_shaped(opened(rows), keys, 1), keys=keys)
    numbers = _whole([row[keys] for row in ordered])
    people: Mapping[Key, int] = {row[:keys]: number for row, number in zip(ordered, numbers, strict=True)}
    return Exact(people)


def _shaped(rows: list[Key], keys: int, values: int) -> list[Key]:
    """Rows of the shape the plan says. What is wrong with them is not told."""
    if {*map(len, rows)} - {keys + values} or len({row[:keys] for row in rows}) != len(rows):
        raise _misshapen()
    return rows


def _whole(column: list[object]) -> list[int]:
    if {*map(type, column)} - {int}:
        raise _misshapen()
    return column  # type: ignore[return-value]  # checked above


def _misshapen() -> InternalError:
    return InternalError("the engine did not return keys and whole numbers as planned")
