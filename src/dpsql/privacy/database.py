"""Databases as histograms, and how far apart two of them are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeAlias

from dpsql.errors import BadParameter
from dpsql.privacy.unit import Neighbours, require_neighbours
from dpsql.require import require_count, require_that, unmet

Histogram: TypeAlias = Mapping[Hashable, int] | Sequence[int]
"""How often each row occurs: by row, or in the order of a fixed universe."""

Database: TypeAlias = Mapping[Hashable, int] | Sequence[Hashable]
"""A multiset of rows (a mapping row -> count) or a list of rows."""


def to_histogram(rows: Iterable[Hashable], *, universe: Sequence[Hashable]) -> tuple[int, ...]:
    """How often each element of the universe occurs in `rows`, in the order of the universe.

    Theorem   definition of the histogram x in N^|X| (Dwork, Roth 2014, section 2.3).
    Requires  every row in the universe, no element of the universe twice.
    Rounds    nothing.
    """
    places = _counted(universe)
    require_that(len(places) == len(universe), "the universe lists an element twice")
    counts = _counted(rows)
    if counts.keys() - places.keys():
        raise unmet("a row lies outside the universe")
    return tuple(counts[element] for element in universe)


def size(histogram: Histogram) -> int:
    """The number of rows: the L1 norm of the histogram."""
    return sum(_cells(histogram).values())


def l1_distance(first: Histogram, second: Histogram) -> int:
    """The L1 distance of two histograms: how many rows must be added or removed to turn one into the other.

    Theorem   each step changes one cell by one, so fewer steps cannot do, and as many suffice.
    Requires  both keyed by row, or both in the order of the same universe.
    Rounds    nothing.
    """
    _require_same_form(first, second)
    a, b = _cells(first), _cells(second)
    if not isinstance(first, Mapping) and len(a) != len(b):
        raise _different_sizes("histograms over universes")
    return sum(abs(a[cell] - b[cell]) for cell in a.keys() | b.keys())


def db_distance(first: Database, second: Database, *, neighbours: Neighbours) -> int:
    """How many neighbour steps lie between two databases.

    Theorem   add/remove: the size of the symmetric difference of the multisets of rows. Change-one: the Hamming
              distance of two lists of equal length; for multisets, where order means nothing, half the symmetric
              difference, which is the smallest Hamming distance over all orders.
    Requires  under change-one, equal sizes: no number of changes makes a database larger.
    Rounds    nothing.
    """
    _require_same_form(first, second)
    require_neighbours(neighbours)
    multisets = isinstance(first, Mapping) and isinstance(second, Mapping)
    a = _cells(first) if isinstance(first, Mapping) else _counted(first)
    b = _cells(second) if isinstance(second, Mapping) else _counted(second)
    apart = sum(abs(a[row] - b[row]) for row in a.keys() | b.keys())
    if neighbours is Neighbours.ADD_REMOVE:
        return apart
    if sum(a.values()) != sum(b.values()):
        raise _different_sizes("databases")
    return apart // 2 if multisets else sum(x != y for x, y in zip(first, second, strict=True))


def _counted(rows: Iterable[Hashable]) -> Counter[Hashable]:
    try:
        return Counter(rows)
    except TypeError:
        raise unmet("rows must be hashable values, such as tuples") from None


def _cells(histogram: Histogram) -> Counter[Hashable]:
    cells: Counter[Hashable] = Counter()
    items: Iterable[tuple[Hashable, int]]
    items = histogram.items() if isinstance(histogram, Mapping) else enumerate(histogram)
    for cell, count in items:
        require_count(at_least=0, count=count)
        cells[cell] = count
    return cells


def _require_same_form(first: object, second: object) -> None:
    if isinstance(first, Mapping) != isinstance(second, Mapping):
        raise unmet("one database is a mapping, the other a list")


def _different_sizes(what: str) -> BadParameter:
    return unmet(f"{what} of different sizes have no distance")
