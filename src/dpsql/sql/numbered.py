"""How many rows of one person are left where ROW_NUMBER() numbers them and a filter keeps some of the numbers.

The first visit of each person is one row, so that no cap is needed and less noise is added. `seal` derives it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dpsql.sql.relations import Filter, Project, Relation, Window
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, conjuncts

_TURNED: Final = {"eq": "eq", "ge": "le", "gt": "lt"}
"""1 = n says what n = 1 says, and 3 >= n what n <= 3 says."""


def rows_left(relation: Relation, owner: tuple[int, ...]) -> int | None:
    """At most so many rows of one person; None where nothing says so."""
    found: list[int] = []
    while isinstance(relation, Filter | Project | Window):
        if isinstance(relation, Filter):
            found += _limits(relation, frozenset(owner))
        relation = relation.input
    return min(found, default=None)


def _limits(relation: Filter, owner: frozenset[int]) -> Iterator[int]:
    for part in conjuncts(relation.condition):
        match part:
            case Apply(function, (ColumnRef(id=number), Constant(value=int(value)))):
                word = function
            case Apply(function, (Constant(value=int(value)), ColumnRef(id=number))):
                word = _TURNED.get(function, "")
            case _:
                continue
        limits = {"eq": 1, "le": value, "lt": value - 1}
        if word in limits and _numbers_rows_of(relation.input, number) == owner:
            yield max(limits[word], 0)


def _numbers_rows_of(relation: Relation, number: int) -> frozenset[int] | None:
    """The partition in which this column is 1, 2, 3, …; None where it is no number of rows."""
    match relation:
        case Filter():
            return _numbers_rows_of(relation.input, number)
        case Project():
            below = dict(zip((column.id for column in relation.columns), relation.expressions, strict=True))[number]
            return _numbers_rows_of(relation.input, below.id) if isinstance(below, ColumnRef) else None
        case Window():
            calls = dict(zip((column.id for column in relation.added), relation.calls, strict=True))
            if number not in calls:
                return _numbers_rows_of(relation.input, number)
            return _columns(calls[number].partition_by) if calls[number].function == "row_number" else None
        case _:
            return None


def _columns(parts: tuple[Scalar, ...]) -> frozenset[int] | None:
    found = frozenset(part.id for part in parts if isinstance(part, ColumnRef))
    return found if len(found) == len(parts) else None
