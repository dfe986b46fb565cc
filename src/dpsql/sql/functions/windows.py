"""Window functions: over released rows, where they are free, and over the rows of one person in a subquery."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fractions import Fraction
from types import MappingProxyType
from typing import Final, TypeAlias

from dpsql.catalog.types import SqlType
from dpsql.errors import BadName, InternalError
from dpsql.sql.functions.conversions import converted, counted, is_null, numeric, whole_literal
from dpsql.sql.functions.function import Request
from dpsql.sql.intervals import EVERYTHING, Interval
from dpsql.sql.scalars import Apply, Constant, Scalar, Sorted, Windowed

_EDGE: Final = r"(?:UNBOUNDED (?:PRECEDING|FOLLOWING)|CURRENT ROW|\d{1,9} (?:PRECEDING|FOLLOWING))"
_FRAME: Final = re.compile(rf"(?:ROWS|RANGE) BETWEEN {_EDGE} AND {_EDGE}", re.ASCII)
_FARTHEST: Final = 10**9

_Typed: TypeAlias = tuple[tuple[Scalar, ...], SqlType]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowFunction:
    name: str
    usage: str
    summary: str
    typed: Callable[[Request], _Typed] = field(repr=False)
    range: Interval | None = None
    """None: that of the argument, because the value is one of its values."""


def _of_nothing(result: SqlType) -> Callable[[Request], _Typed]:
    return lambda request: (counted(request, 0, 0), result)


def _of_one(request: Request) -> _Typed:
    given = counted(request, 1, 1)
    return given, given[0].type


def _count(request: Request) -> _Typed:
    return counted(request, 0, 1), SqlType.INTEGER


def _total(request: Request) -> _Typed:
    (scalar,) = counted(request, 1, 1)
    scalar = numeric(request, scalar)
    return (scalar,), scalar.type


def _mean(request: Request) -> _Typed:
    (scalar,) = counted(request, 1, 1)
    return (converted(request, numeric(request, scalar), SqlType.DOUBLE),), SqlType.DOUBLE


def _tiles(request: Request) -> _Typed:
    given = counted(request, 1, 1)
    if not 1 <= (whole_literal(given[0]) or 0) < _FARTHEST:
        request.wrong(f"{request.usage} needs a whole literal of at least 1")
    return given, SqlType.INTEGER


def _neighbour(request: Request) -> _Typed:
    scalar, *rest = counted(request, 1, 3)
    distance = whole_literal(rest[0]) if rest else 0
    if distance is None or not 0 <= distance < _FARTHEST:
        request.wrong(f"the distance in {request.usage} must be a whole literal of at least 0")
    default = [Constant(None, scalar.type) if is_null(d) else converted(request, d, scalar.type) for d in rest[1:]]
    return (scalar, *rest[:1], *default), scalar.type


_RANK: Final = _of_nothing(SqlType.INTEGER)
_SHARE: Final = _of_nothing(SqlType.DOUBLE)
_FROM_ZERO: Final = Interval(Fraction(0), None)
_FROM_ONE: Final = Interval(Fraction(1), None)
_TO_ONE: Final = Interval(Fraction(0), Fraction(1))


def _entry(
    name: str, usage: str, summary: str, rule: Callable[[Request], _Typed], known: Interval | None = EVERYTHING
) -> WindowFunction:
    return WindowFunction(name=name, usage=usage, summary=summary, typed=rule, range=known)


_ALL: Final = (
    _entry("row_number", "ROW_NUMBER()", "1, 2, 3, …", _RANK, _FROM_ONE),
    _entry("rank", "RANK()", "The place, with gaps after ties.", _RANK, _FROM_ONE),
    _entry("dense_rank", "DENSE_RANK()", "The place, without gaps.", _RANK, _FROM_ONE),
    _entry("percent_rank", "PERCENT_RANK()", "The place, from 0 to 1.", _SHARE, _TO_ONE),
    _entry("cume_dist", "CUME_DIST()", "The share of rows up to this one.", _SHARE, _TO_ONE),
    _entry("ntile", "NTILE(n)", "Which of n equal parts.", _tiles, _FROM_ONE),
    _entry("lag", "LAG(x[, n[, default]])", "The value n rows before.", _neighbour),
    _entry("lead", "LEAD(x[, n[, default]])", "The value n rows after.", _neighbour),
    _entry("first_value", "FIRST_VALUE(x)", "The first of the frame.", _of_one, None),
    _entry("last_value", "LAST_VALUE(x)", "The last of the frame.", _of_one, None),
    _entry("min", "MIN(x)", "The smallest of the frame.", _of_one, None),
    _entry("max", "MAX(x)", "The largest of the frame.", _of_one, None),
    _entry("count", "COUNT(*)", "Rows, or values, of the frame.", _count, _FROM_ZERO),
    _entry("avg", "AVG(x)", "The mean of the frame.", _mean),
    _entry("sum", "SUM(x)", "The sum of the frame; NULL beyond 64 bits or the largest DOUBLE.", _total),
)

WINDOW_FUNCTIONS: Final[Mapping[str, WindowFunction]] = MappingProxyType({entry.name: entry for entry in _ALL})
"""Every window function an analyst may use, on released rows and inside one person."""


def windowed(
    function: str,
    arguments: Sequence[Scalar],
    *,
    partition_by: Sequence[Scalar] = (),
    order_by: Sequence[Sorted] = (),
    frame: str = "",
    at: tuple[int, int] | None = None,
) -> Windowed:
    """The window function of these arguments, checked; as `apply` for scalar functions."""
    known = WINDOW_FUNCTIONS.get(function)
    if known is None:
        near = get_close_matches(function, WINDOW_FUNCTIONS, n=1)
        raise BadName(
            f"there is no window function {function[:40]!r} here",
            why="only functions on the list may be used",
            fix=f"did you mean {WINDOW_FUNCTIONS[near[0]].usage}?" if near else f"use {', '.join(WINDOW_FUNCTIONS)}",
            at=at,
        )
    asked = Request(
        function=function,
        usage=known.usage,
        arguments=tuple(arguments),
        proved=lambda _: EVERYTHING,
        kept=lambda _: EVERYTHING,
        at=at,
    )
    if frame and not _FRAME.fullmatch(frame):
        asked.wrong("the frame of a window reaches too far", fix="write ROWS BETWEEN 6 PRECEDING AND CURRENT ROW")
    given, result = known.typed(asked)
    return Windowed(
        function=function,
        arguments=given,
        partition_by=tuple(partition_by),
        order_by=tuple(order_by),
        frame=frame,
        type=result,
    )


def window_range(scalar: Windowed, ranges: Sequence[Interval]) -> Interval:
    known = WINDOW_FUNCTIONS[scalar.function].range
    return ranges[0] if known is None else known


def may_overflow(scalar: Windowed) -> bool:
    """Sums of doubles may be infinite."""
    return scalar.function in {"sum", "avg"} and scalar.type is SqlType.DOUBLE


def print_window(
    scalar: Windowed, arguments: Sequence[str], partition_by: Sequence[str], order_by: Sequence[str]
) -> str:
    """function(…) OVER (PARTITION BY … ORDER BY … frame), from printed parts."""
    if scalar.function not in WINDOW_FUNCTIONS or (scalar.frame and not _FRAME.fullmatch(scalar.frame)):
        raise InternalError("a window function or its frame is not on the list")
    keys = [
        f"{text} {'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"
        for key, text in zip(scalar.order_by, order_by, strict=True)
    ]
    parts = [
        f"PARTITION BY {', '.join(partition_by)}" if partition_by else "",
        f"ORDER BY {', '.join(keys)}" if keys else "",
        scalar.frame,
    ]
    inner = ", ".join(arguments) or ("*" if scalar.function == "count" else "")
    call = f"{scalar.function}({inner}) OVER ({' '.join(part for part in parts if part)})"
    # a sum of whole numbers has 128 bits in the engine, and one of fine grains needs them
    whole = scalar.function == "sum" and scalar.type is SqlType.INTEGER and not _of_fine_grains(scalar)
    return f"TRY_CAST({call} AS BIGINT)" if whole else call


def _of_fine_grains(scalar: Windowed) -> bool:
    return any(isinstance(part, Apply) and part.function == "fine_grains" for part in scalar.arguments)
