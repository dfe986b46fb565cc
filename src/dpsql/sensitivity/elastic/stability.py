"""How many rows of a relation one changed row of a table can change, and with it how far a count moves."""

from __future__ import annotations

from functools import singledispatch

from dpsql.privacy.unit import Neighbours
from dpsql.require import unmet
from dpsql.sensitivity.elastic.algebra import (
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
    counts_inside,
)
from dpsql.sensitivity.elastic.frequency import frequency_at, matches_left, matches_right, require_distance


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
