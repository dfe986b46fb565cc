"""In which order a window looks at the rows of one person, and which of them: decided by these rows alone.

An engine numbers rows that an order does not tell apart as it likes, and differently when somebody else leaves. So
where a function tells rows apart, all columns of its rows are appended to ORDER BY: what is tied then is equal in
everything, and which of two equal rows comes first is no question.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Final

from dpsql.catalog.types import SqlType
from dpsql.errors import NotSupported
from dpsql.sql.intervals import Interval
from dpsql.sql.notes import Notes, Role
from dpsql.sql.relations import Column
from dpsql.sql.scalars import ColumnRef, Sorted, Windowed
from dpsql.sql.syntax import At

_OF_FRAMES: Final = frozenset({"avg", "count", "max", "min", "sum", "first_value", "last_value"})
"""All others look at the whole partition, whatever frame is written."""
_OF_PLACES: Final = frozenset({"row_number", "ntile", "lag", "lead", "first_value", "last_value"})
"""These tell rows apart that ORDER BY does not, and so does every frame that counts rows."""
_RANGE: Final = "RANGE BETWEEN "
_UP_TO_HERE: Final = f"{_RANGE}UNBOUNDED PRECEDING AND CURRENT ROW"
_ALL_ROWS: Final = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
_ENDS: Final = {"first_value": ("UNBOUNDED PRECEDING", 0), "last_value": ("UNBOUNDED FOLLOWING", 1)}
_OPEN_EDGES: Final = frozenset({"UNBOUNDED PRECEDING", "CURRENT ROW", "UNBOUNDED FOLLOWING"})
_FAR_FROM_OVERFLOW: Final = Interval(Fraction(-(2**62)), Fraction(2**62))


def settled(call: Windowed, columns: Iterable[Column]) -> Windowed:
    """With all columns of its rows that are in neither clause yet as tie-breakers, where ties would tell."""
    if call.function not in _OF_PLACES and not call.frame.startswith("ROWS"):
        return call
    parts = (*call.partition_by, *(key.by for key in call.order_by))
    there = {part.id for part in parts if isinstance(part, ColumnRef)}
    rest = (Sorted(by=ColumnRef(column.id, column.type)) for column in columns if column.id not in there)
    return replace(call, order_by=(*call.order_by, *rest))


def framed(call: Windowed, at: At, notes: Notes) -> Windowed:
    """In a frame where tie-breakers change nothing but which of several tied rows is the first or the last."""
    if call.function not in _OF_FRAMES:
        return replace(call, frame="")
    if call.function in _ENDS and not call.frame.startswith("ROWS"):
        return _end_of_range(call, at)
    if call.frame.startswith(_RANGE) and any(character.isdigit() for character in call.frame):
        _require_whole_distance(call, at, notes)
    return call


def _end_of_range(call: Windowed, at: At) -> Windowed:
    """The first or the last row of a frame of RANGE: of all rows, or of those that are tied with this one."""
    farthest, place = _ENDS[call.function]
    edges = (call.frame or _UP_TO_HERE).removeprefix(_RANGE).split(" AND ")
    if not _OPEN_EDGES.issuperset(edges):
        raise NotSupported(
            f"{call.function.upper()} in a frame of RANGE with a distance",
            why="no rule says which of several tied rows is meant",
            fix="use MIN or MAX there, or a frame of ROWS",
            at=at,
        )
    if edges[place] == farthest:
        return replace(call, frame=_ALL_ROWS)
    keys = tuple(key.by for key in call.order_by)
    return replace(call, partition_by=(*call.partition_by, *keys), order_by=(), frame=_ALL_ROWS)


def _require_whole_distance(call: Windowed, at: At, notes: Notes) -> None:
    keys = [key.by for key in call.order_by]
    for key in keys:
        notes.use(Role.VALUE, key, at)
    whole = [key.type is SqlType.INTEGER and notes.proved(key).within(_FAR_FROM_OVERFLOW) for key in keys]
    if len(keys) != 1 or not (whole[0] or keys[0].type is SqlType.DATE):
        raise NotSupported(
            "a frame of RANGE with a distance in this order",
            why="distances are exact between dates, and between whole numbers far from the ends of 64 bits",
            fix="order by one date, or by CLAMP(x, -1000000, 1000000) of one whole number; or use a frame of ROWS",
            at=at,
        )
