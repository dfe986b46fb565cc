"""Window functions over rows of units: what they say of a row is a function of that unit's rows as a multiset."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from dpsql.catalog.types import SqlType
from dpsql.plan.derivation.ranges import largest_of, require_fits, type_of
from dpsql.plan.derivation.states import (
    ROWS,
    Fact,
    Ids,
    Owned,
    State,
    as_basis,
    columns_in,
    conjuncts,
    least,
    refused,
    require_reads,
    whole,
)
from dpsql.plan.derivation.tables import unique_numbers
from dpsql.sql.relations import Filter, Project, Relation, Window
from dpsql.sql.scalars import Apply, ColumnRef, Windowed, children, columns_of

_OF_PEERS: Final = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist", "count", "min", "max", "sum"})
"""Rows that the order does not tell apart get the same value, unless a frame counts rows."""
_OF_PLACES: Final = frozenset({"row_number", "ntile", "lag", "lead", "first_value", "last_value"})
"""These tell rows apart: rows may be equal in the order only if they are equal in everything."""
_TYPES: Final[Mapping[str, SqlType]] = {
    **dict.fromkeys(("row_number", "rank", "dense_rank", "ntile", "count", "sum"), SqlType.INTEGER),
    **dict.fromkeys(("percent_rank", "cume_dist"), SqlType.DOUBLE),
}
"""All others have the type of what they look at."""
_EDGE: Final = r"(UNBOUNDED PRECEDING|UNBOUNDED FOLLOWING|CURRENT ROW|\d{1,9} PRECEDING|\d{1,9} FOLLOWING)"
_FRAME: Final = re.compile(rf"(ROWS|RANGE) BETWEEN {_EDGE} AND {_EDGE}", re.ASCII)


def of_window(relation: Window, state: State) -> State:
    """Each row gets values computed from rows of the same unit.

    Theorem   docs/theorems/derivation.md: the rows of a unit, with these values, are a function of its rows as a
              multiset; no unit gets more or fewer rows.
    Requires  owned rows, the whole owner in every partition, and no value that tells tied rows apart unless they are
              equal in all columns; InternalError otherwise.
    Rounds    nothing.
    """
    if not isinstance(state, Owned) or not state.owner:
        raise refused("a window over rows that have no owner")
    added = unique_numbers(relation.columns)[len(relation.input.columns) :]
    if len(added) != len(relation.calls) or columns_in(state) & frozenset(added):
        raise refused("a window with columns of its own")
    facts = {
        number: Fact(type=_type_inside_one_person(call, state))
        for number, call in zip(added, relation.calls, strict=True)
    }
    return replace(state, facts={**as_basis(state.facts), **facts}, basis=relation, part=False)


def _type_inside_one_person(call: Windowed, state: Owned) -> SqlType:
    """What the value is, if it is a function of the rows of one unit as a multiset; refused otherwise."""
    for part in children(call):
        require_reads(part, columns_in(state))
    if call.function not in _OF_PEERS | _OF_PLACES:
        raise refused(f"{call.function} over rows of a person")
    within = frozenset(part.id for part in call.partition_by if isinstance(part, ColumnRef))
    if not all(part & within for part in state.owner):
        raise refused("a window that is not inside one person")
    sorted_by = frozenset(key.by.id for key in call.order_by if isinstance(key.by, ColumnRef))
    tells_apart = _counts_rows(call, state) or call.function in _OF_PLACES
    if tells_apart and not columns_in(state) <= within | sorted_by:
        raise refused("which row of a person comes first is not settled by these rows alone")
    found = [type_of(argument, state.facts) for argument in call.arguments]
    if call.function == "sum":
        if len(call.arguments) != 1:
            raise refused("a sum of nothing, or of several things")
        require_fits(ROWS * largest_of(call.arguments[0], state.facts))
    type_ = _TYPES.get(call.function) or (found[0] if found else None)
    if type_ is None or type_ is not call.type:
        raise refused("a window function of another type")
    return type_


def _counts_rows(call: Windowed, state: Owned) -> bool:
    """True where the frame ends so many rows away; other frames end where the order changes, or so far away in it."""
    if not call.frame:
        return False
    frame = _FRAME.fullmatch(call.frame)
    if frame is None:
        raise refused("a frame no rule names")
    if frame[1] == "RANGE" and re.search(r"\d", call.frame):
        keys = [type_of(key.by, state.facts) for key in call.order_by]
        if keys not in ([SqlType.INTEGER], [SqlType.DATE]):
            raise refused("a distance between rows that is not whole")
    return frame[1] == "ROWS"


def numbered_limits(relation: Filter, state: Owned) -> Mapping[Ids, int]:
    """Rows that agree on a partition have different row numbers: a filter on these keeps so many of them.

    Theorem   docs/theorems/derivation.md: at most so many rows of one unit agree on these columns.
    Requires  a filter over owned rows; conditions on whole numbers that are none of rows limit nothing.
    Rounds    nothing.
    """
    found: dict[Ids, int] = {}
    for part in conjuncts(relation.condition):
        match part:
            case Apply("eq" | "le" | "lt" as word, (ColumnRef(id=number), limit)):
                most = _numbers_kept(word, whole(limit))
            case Apply("eq" | "ge" | "gt" as word, (limit, ColumnRef(id=number))):
                most = _numbers_kept({"ge": "le", "gt": "lt"}.get(word, word), whole(limit))
            case _:
                continue
        together = _numbered_inside(relation.input, number)
        if most is not None and together is not None and together <= columns_in(state):
            found = least(found, {together - state.owner_columns: most})
    return found


def _numbers_kept(word: str, limit: int | None) -> int | None:
    """How many of 1, 2, 3, … are equal to the limit, up to it, or below it."""
    if limit is None:
        return None
    return 1 if word == "eq" else max(limit if word == "le" else limit - 1, 0)


def _numbered_inside(relation: Relation, number: int) -> Ids | None:
    """The columns of the partition in which this column is a row number, as they are called here; None: it is none."""
    match relation:
        case Filter():
            return _numbered_inside(relation.input, number)
        case Project():
            pairs = list(zip((column.id for column in relation.columns), relation.expressions, strict=True))
            copies = {scalar.id: new for new, scalar in reversed(pairs) if isinstance(scalar, ColumnRef)}
            below = next((scalar.id for new, scalar in pairs if new == number and isinstance(scalar, ColumnRef)), None)
            inside = None if below is None else _numbered_inside(relation.input, below)
            return (
                frozenset(copies[each] for each in inside) if inside is not None and inside <= copies.keys() else None
            )
        case Window():
            calls = dict(zip((column.id for column in relation.added), relation.calls, strict=True))
            if number not in calls:
                return _numbered_inside(relation.input, number)
            if calls[number].function != "row_number":
                return None
            return frozenset().union(*map(columns_of, calls[number].partition_by))
        case _:
            return None
