"""How many rows of a relation one changed row of a table can change, and with it how far a count moves.

It rests on the frequency of the most common value, as it is and as far as it can rise within some changed rows. At last
the sensitivities at all distances become one β-smooth bound, without ever stopping early.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from itertools import pairwise
from typing import Final

from dpsql.enclosure import exp_negative_fixed
from dpsql.errors import NoTheorem
from dpsql.privacy.exact import Exact
from dpsql.privacy.rounding import exact
from dpsql.privacy.unit import Neighbours, require_neighbours
from dpsql.require import Number, require_count, require_positive, require_that, unmet
from dpsql.sensitivity.elastic.algebra import (
    Attribute,
    Count,
    GroupedCount,
    Join,
    Project,
    Query,
    Relation,
    Select,
    SemiJoin,
    Table,
    ancestors,
    attributes,
    counts_inside,
    join_count,
)

_NAN = object()  # engines join NaN with NaN, Python does not


def max_frequency(values: Iterable[Hashable]) -> Exact[int]:
    """How often the most common value of a column occurs, hidden: it is a statement about private rows.

    Theorem   definition of mf(a, t, x), Johnson, Near, Song (2018).
    Requires  values that compare here as they compare in the join of the engine (type, collation).
    Rounds    nothing. NULL (None) joins with nothing and is not counted.
    """
    return Exact(largest_frequency(values))


def largest_frequency(values: Iterable[Hashable]) -> int:
    """The number behind `max_frequency`, for the audit and for public tables; 0 for a column without values.

    Theorem   definition of mf(a, t, x), Johnson, Near, Song (2018).
    Requires  hashable values.
    Rounds    nothing.
    """
    counts = Counter(value if value == value else _NAN for value in values if value is not None)
    return max(counts.values(), default=0)


@singledispatch
def frequency_at(relation: Relation, attribute: Attribute, *, distance: int, neighbours: Neighbours) -> int:
    """An upper bound of mf(attribute, relation) over all databases within `distance` changed rows.

    Theorem   docs/theorems/elastic_sensitivity.md, Lemma 1: +k in a private table, a product through a join,
              unchanged through filters and projections.
    Requires  every joined column measured; no join on the result of a count.
    Rounds    nothing: integers.
    """
    raise unmet(f"{type(relation).__name__} is not a relation of this algebra")


@frequency_at.register
def _(relation: Table, attribute: Attribute, *, distance: int, neighbours: Neighbours) -> int:
    require_distance(distance=distance, neighbours=neighbours)
    column = relation.column(attribute.column)
    if column.unique and column.enforced:
        return 1
    if column.max_frequency is None:
        raise unmet(f"the max frequency of {attribute} was not measured")
    if relation.public:
        return column.max_frequency
    raised = column.max_frequency + distance
    return raised if relation.rows is None else min(raised, _public_rows(relation, neighbours))


@frequency_at.register
def _(relation: Join, attribute: Attribute, *, distance: int, neighbours: Neighbours) -> int:
    if attribute in attributes(relation.left):
        own, others = relation.left, matches_right(relation, distance=distance, neighbours=neighbours)
    else:
        own, others = relation.right, matches_left(relation, distance=distance, neighbours=neighbours)
    return frequency_at(own, attribute, distance=distance, neighbours=neighbours) * others


def matches_left(join: Join, *, distance: int, neighbours: Neighbours) -> int:
    """How many left rows one right row can meet.

    Theorem   all keys must agree, so the least of their frequencies bounds it: docs/theorems/elastic_sensitivity.md.
    Requires  as `frequency_at`.
    Rounds    nothing: integers.
    """
    return min(frequency_at(join.left, left, distance=distance, neighbours=neighbours) for left, _ in join.on)


def matches_right(join: Join, *, distance: int, neighbours: Neighbours) -> int:
    """How many right rows one left row can meet.

    Theorem   as `matches_left`, with the sides exchanged.
    Requires  as `frequency_at`.
    Rounds    nothing: integers.
    """
    return min(frequency_at(join.right, right, distance=distance, neighbours=neighbours) for _, right in join.on)


@frequency_at.register
def _(relation: SemiJoin, attribute: Attribute, *, distance: int, neighbours: Neighbours) -> int:
    return frequency_at(relation.outer, attribute, distance=distance, neighbours=neighbours)


@frequency_at.register(Select)
@frequency_at.register(Project)
def _(relation: Select | Project, attribute: Attribute, *, distance: int, neighbours: Neighbours) -> int:
    return frequency_at(relation.relation, attribute, distance=distance, neighbours=neighbours)


@frequency_at.register(Count)
@frequency_at.register(GroupedCount)
def _(relation: Count | GroupedCount, attribute: Attribute, *, distance: int, neighbours: Neighbours) -> int:
    raise NoTheorem(
        f"{attribute} is the result of a count, and a count has no max frequency",
        why="one row can move every count to the same value, so any number of rows may come to share it",
        fix="join the tables first and count once, or release the inner count and join the released numbers",
    )


def require_distance(*, distance: int, neighbours: Neighbours) -> None:
    """A whole number of changed rows, and a stated neighbour relation."""
    require_count(at_least=0, distance=distance)
    require_neighbours(neighbours)


def _public_rows(table: Table, neighbours: Neighbours) -> int:
    if neighbours is not Neighbours.CHANGE_ONE or table.rows is None:
        raise unmet(f"table {table.name!r} states a public row count under {neighbours.value} neighbours")
    return table.rows


@singledispatch
def stability(relation: Relation, *, distance: int, neighbours: Neighbours) -> int:
    """S_R: between any two neighbours within `distance`, at most so many rows vanish and at most so many appear.

    Theorem   docs/theorems/elastic_sensitivity.md, Lemma 2; Johnson, Near, Song (2018), Figure 1, corrected for
              public tables, enforced keys, semi-joins and grouped sub-queries.
    Requires  neighbours that differ in one row of one table.
    Rounds    nothing: integers.
    """
    raise unmet(f"{type(relation).__name__} is not a relation of this algebra")


@stability.register
def _(relation: Table, *, distance: int, neighbours: Neighbours) -> int:
    require_distance(distance=distance, neighbours=neighbours)
    return 0 if relation.public else 1


@stability.register
def _(relation: Join, *, distance: int, neighbours: Neighbours) -> int:
    left = stability(relation.left, distance=distance, neighbours=neighbours)
    right = stability(relation.right, distance=distance, neighbours=neighbours)
    by_right = matches_left(relation, distance=distance, neighbours=neighbours) * right
    by_left = matches_right(relation, distance=distance, neighbours=neighbours) * left
    if ancestors(relation.left) & ancestors(relation.right):
        return by_left + by_right + left * right
    return max(by_left, by_right)


@stability.register
def _(relation: SemiJoin, *, distance: int, neighbours: Neighbours) -> int:
    outer = stability(relation.outer, distance=distance, neighbours=neighbours)
    inner = stability(relation.inner, distance=distance, neighbours=neighbours)
    by_inner = frequency_at(relation.outer, relation.on[0], distance=distance, neighbours=neighbours) * inner
    if ancestors(relation.outer) & ancestors(relation.inner):
        return outer + by_inner
    return max(outer, by_inner)


@stability.register(Select)
@stability.register(Project)
def _(relation: Select | Project, *, distance: int, neighbours: Neighbours) -> int:
    return stability(relation.relation, distance=distance, neighbours=neighbours)


@stability.register
def _(relation: Count, *, distance: int, neighbours: Neighbours) -> int:
    return min(1, stability(relation.relation, distance=distance, neighbours=neighbours))


@stability.register
def _(relation: GroupedCount, *, distance: int, neighbours: Neighbours) -> int:
    return _touched(relation, distance=distance, neighbours=neighbours)


@singledispatch
def elastic_sensitivity(query: Query, *, distance: int, neighbours: Neighbours) -> int:
    """Ŝ^(k): an upper bound of the L1 local sensitivity of a count at every database within `distance`.

    Theorem   docs/theorems/elastic_sensitivity.md, Theorem 3: S_R for one count; for a vector of group counts
              the rows that vanish and those that appear: twice S_R, or S_R under add/remove without counts inside.
    Requires  a Count or a GroupedCount; neighbours that differ in one row of one table.
    Rounds    nothing: integers.
    """
    raise unmet(f"{type(query).__name__} is not a counting question")


@elastic_sensitivity.register
def _(query: Count, *, distance: int, neighbours: Neighbours) -> int:
    return stability(query.relation, distance=distance, neighbours=neighbours)


@elastic_sensitivity.register
def _(query: GroupedCount, *, distance: int, neighbours: Neighbours) -> int:
    return _touched(query, distance=distance, neighbours=neighbours)


def _touched(query: GroupedCount, *, distance: int, neighbours: Neighbours) -> int:
    """Vanishing rows plus appearing rows, each of which touches one group."""
    rows = stability(query.relation, distance=distance, neighbours=neighbours)
    one_way = neighbours is Neighbours.ADD_REMOVE and not counts_inside(query.relation)
    return rows if one_way else 2 * rows


LONGEST_SCAN: Final = 10**8
"""Distances one smoothing may range over; beyond, β is so small that the noise would drown any count."""

LARGEST_BETA: Final = 64
LONGEST_DECAY: Final = 256


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ElasticBound:
    """S and the distance k* at which it is attained. Both are functions of private rows: they have no printed form."""

    bound: Fraction
    distance: int

    def __repr__(self) -> str:
        return "ElasticBound(hidden)"


def scan_limit(*, joins: int, beta: Number) -> int:
    """The distance beyond which exp(-βk)·Ŝ^(k) cannot rise any more: ceil(joins / β).

    Theorem   docs/theorems/elastic_sensitivity.md, Lemma 4: Ŝ^(k+1) <= (1 + 1/k)^g · Ŝ^(k), which is at most
              exp(g/k), so the product falls from k = g/β on.
    Requires  joins >= 0, 0 < β <= 64, and a limit of at most 10**8.
    Rounds    up: the scan may be one step longer than needed.
    """
    require_count(at_least=0, joins=joins)
    require_positive(beta=beta)
    limit = -(-joins // exact(beta))
    if exact(beta) > LARGEST_BETA or limit > LONGEST_SCAN:
        raise unmet(f"beta={beta!r} is out of range for {joins} joins")
    return limit


def smooth_bound(sensitivity_at: Callable[[int], int], *, beta: Number, limit: int) -> ElasticBound:
    """The maximum of exp(-βk) · sensitivity_at(k) over all k = 0 … limit.

    Theorem   on [a, b] a rising Ŝ satisfies exp(-βk)·Ŝ^(k) <= exp(-βa)·Ŝ^(b). Intervals are split in order of this
              bound until it is no larger than a value already found times 1 + 2**-62, by which the result is raised.
    Requires  non-negative integers that never fall with k; β as in `scan_limit`.
    Rounds    up, by a relative 2**-60 at most.
    """
    rate = _decay(beta=beta, limit=limit)
    bits = 96 + int(rate * limit * 3 / 2)  # exp(-x) >= 2**-(1.5 x): every weight keeps 94 good bits
    values: dict[int, tuple[int, int, int, int]] = {}  # distance: Ŝ, the weight from above, the product's two bounds

    def look(distance: int) -> tuple[int, int, int, int]:
        if distance not in values:
            size = sensitivity_at(distance)
            low, high = exp_negative_fixed(rate * distance, bits=bits)
            values[distance] = size, high, size * low, size * high
        return values[distance]

    def ceiling(start: int, end: int) -> int:
        return look(end)[0] * look(start)[1]

    _require_rising(look(0)[0], look(limit)[0])
    best = max(look(0)[2], look(limit)[2])
    waiting = [(-ceiling(0, limit), 0, limit)] if limit > 1 else []
    while waiting and -waiting[0][0] > best + (best >> 62):  # what is left out is added to the bound below
        _, start, end = heapq.heappop(waiting)
        middle = (start + end) // 2
        _require_rising(look(start)[0], look(middle)[0], look(end)[0])
        best = max(best, look(middle)[2])
        for left, right in ((start, middle), (middle, end)):
            if right - left > 1:
                heapq.heappush(waiting, (-ceiling(left, right), left, right))
    attained = min((k for k, value in values.items() if value[2] == best), default=0)
    most = max(value[3] for value in values.values())
    return ElasticBound(bound=Fraction(most + (most >> 62), 1 << bits), distance=attained)


def _decay(*, beta: Number, limit: int) -> Fraction:
    """β as a rational, where the weights up to `limit` are worth computing."""
    require_positive(beta=beta)
    require_count(at_least=0, at_most=LONGEST_SCAN, limit=limit)
    if exact(beta) * limit > LONGEST_DECAY:
        raise unmet(f"beta={beta!r} times limit={limit!r} must be at most {LONGEST_DECAY}")
    return exact(beta)


def _require_rising(*sizes: int) -> None:
    if any(later < earlier for earlier, later in pairwise(sizes)) or sizes[0] < 0:
        raise unmet("the sensitivity falls with the distance")


def smooth_elastic(query: Query, *, beta: Number, neighbours: Neighbours) -> ElasticBound:
    """A β-smooth upper bound of the local sensitivity of a counting question: max over k of exp(-βk)·Ŝ^(k).

    Theorem   docs/theorems/elastic_sensitivity.md, Theorem 5: S(x) <= exp(β)·S(y) for all neighbours x, y.
    Requires  measured frequencies; at least one private table.
    Rounds    up, by a relative 2**-60 at most.
    """
    require_that(ancestors(query), "the question reads public tables only")
    return smooth_bound(
        lambda distance: elastic_sensitivity(query, distance=distance, neighbours=neighbours),
        beta=beta,
        limit=scan_limit(joins=join_count(query), beta=beta),
    )
