"""Parallel composition: releases on disjoint parts of the data, and when that is cheaper than a sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from dpsql.accounting.limits import priced_lists
from dpsql.accounting.spend import Spend
from dpsql.privacy.unit import Neighbours
from dpsql.require import Number, unmet


class Partition(Enum):
    """What decides the part a person's data falls into."""

    BY_VALUE = "by_value"
    """A public function of the person's own data: a changed person may move to another part."""

    BY_FIXED_VALUE = "by_fixed_value"
    """A public function of something no neighbour changes: a changed person stays in the part."""

    BY_POSITION = "by_position"
    """The place in some order ("the first 20 rows"): one insertion moves rows across every boundary."""


_PARTS_TOUCHED: Final[Mapping[tuple[Partition, Neighbours], int | None]] = MappingProxyType(
    {
        (Partition.BY_VALUE, Neighbours.ADD_REMOVE): 1,
        (Partition.BY_VALUE, Neighbours.CHANGE_ONE): 2,
        (Partition.BY_FIXED_VALUE, Neighbours.ADD_REMOVE): 1,
        (Partition.BY_FIXED_VALUE, Neighbours.CHANGE_ONE): 1,
        (Partition.BY_POSITION, Neighbours.ADD_REMOVE): None,
        # Positions come from an order, and the order may depend on the changed value: no benefit either.
        (Partition.BY_POSITION, Neighbours.CHANGE_ONE): None,
    }
)
"""In how many parts two neighbours may differ; None: in all of them."""


def compose_parallel(
    *, epsilons: Sequence[Number], deltas: Sequence[Number], neighbours: Neighbours, partition: Partition
) -> Spend:
    """The (ε, δ) of releasing from every part of a partition, part i with (ε_i, δ_i).

    Theorem   McSherry (2009), Thm. 4, for the relation at hand: the sum over the parts a neighbour can touch.
              One part under add_remove (the maximum), two under change_one (the two largest), all by position.
    Requires  every person's data lie in one part, and the i-th release reads part i alone.
    Rounds    nothing.
    """
    pairs = priced_lists(epsilons=epsilons, deltas=deltas)
    touched = parts_touched(parts=len(pairs), neighbours=neighbours, partition=partition)
    return Spend(
        epsilon=_sum_of_largest(touched, [epsilon for epsilon, _ in pairs]),
        delta=_sum_of_largest(touched, [delta for _, delta in pairs]),
    )


def _sum_of_largest(count: int, values: list[Fraction]) -> Fraction:
    return sum(sorted(values, reverse=True)[:count], Fraction(0))


def parts_touched(*, parts: int, neighbours: Neighbours, partition: Partition) -> int:
    """In how many of the parts two neighbouring databases may differ.

    Theorem   docs/theorems/parallel_composition.md: by value, one under add_remove and two under change_one; by
              position, all of them.
    Requires  a Partition, a Neighbours.
    Rounds    nothing: a count.
    """
    try:
        touched = _PARTS_TOUCHED[partition, neighbours]
    except (KeyError, TypeError):
        raise unmet(f"partition={partition!r} with neighbours={neighbours!r} is not known") from None
    return parts if touched is None else min(touched, parts)
