"""The frequency of the most common value, as it is and as far as it can rise within some changed rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from functools import singledispatch

from dpsql.errors import NoTheorem
from dpsql.privacy.exact import Exact
from dpsql.privacy.unit import Neighbours, require_neighbours
from dpsql.require import require_count, unmet
from dpsql.sensitivity.elastic.algebra import (
    Attribute,
    Count,
    GroupedCount,
    Join,
    Project,
    Relation,
    Select,
    SemiJoin,
    Table,
    attributes,
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
