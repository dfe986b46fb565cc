"""Which rows a window looks at and in which order: ties are broken, and frames mean what they meant before."""

from dataclasses import replace

import pytest

from dpsql.catalog.types import SqlType
from dpsql.errors import NotSupported
from dpsql.sql.person_windows import framed, settled
from dpsql.sql.relations import Column
from dpsql.sql.scalars import Apply, ColumnRef, Sorted, Windowed
from tests.kits.cases import cases
from tests.kits.refusals import raised

from stages import resolved

COLUMNS = tuple(Column(id=number, name="", type=SqlType.INTEGER) for number in (1, 2, 3, 4))
ONE, TWO, THREE, FOUR = (ColumnRef(column.id, column.type) for column in COLUMNS)
DOWN = (Sorted(by=TWO, descending=True),)
ALL_ROWS = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"


def window(function: str, frame: str = "", order=DOWN) -> Windowed:
    return Windowed(
        function=function, arguments=(), partition_by=(ONE,), order_by=order, frame=frame, type=SqlType.INTEGER
    )


@pytest.mark.parametrize("function", ["row_number", "ntile", "lag", "lead", "first_value", "last_value"])
def test_what_tells_rows_apart_is_ordered_by_everything(function):
    call = settled(window(function), COLUMNS)
    assert call.order_by == (Sorted(by=TWO, descending=True), Sorted(by=THREE), Sorted(by=FOUR))
    assert call.partition_by == (ONE,)


@pytest.mark.parametrize("function", ["count", "sum", "min", "max"])
def test_frames_of_rows_are_ordered_by_everything(function):
    rows = settled(window(function, "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"), COLUMNS)
    assert [key.by.id for key in rows.order_by] == [2, 3, 4]


@pytest.mark.parametrize("function", ["rank", "dense_rank", "percent_rank", "cume_dist", "count", "sum", "min", "max"])
def test_what_is_the_same_for_tied_rows_keeps_its_order(function):
    for frame in ("", "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"):
        assert settled(window(function, frame), COLUMNS) == window(function, frame)


def test_an_expression_is_no_tie_breaker():
    """Rows may agree on −x² and not on x."""
    call = settled(window("lag", order=(Sorted(by=Apply("neg", (TWO,), SqlType.INTEGER)),)), COLUMNS)
    assert [key.by.id for key in call.order_by[1:]] == [2, 3, 4]


NOTES = resolved("SELECT COUNT(*) FROM visits").findings


@pytest.mark.parametrize("function", ["row_number", "rank", "lag", "ntile", "cume_dist"])
def test_functions_of_the_partition_lose_their_frame(function):
    call = window(function, "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW")
    assert framed(call, None, NOTES) == replace(call, frame="")


@cases(__file__, "function", "frame", "tied=")
def test_the_end_of_a_range_is_that_of_all_rows_or_of_the_tied_ones(function, frame, tied):
    call = framed(window(function, frame), None, NOTES)
    assert call.frame == ALL_ROWS
    assert call.partition_by == ((ONE, TWO) if tied else (ONE,))
    assert [key.by for key in call.order_by] == ([] if tied else [TWO])


def test_the_end_of_a_range_by_distance_is_refused():
    raised(NotSupported, lambda: framed(window("last_value", "RANGE BETWEEN CURRENT ROW AND 3 FOLLOWING"), None, NOTES))


def counted(order: str) -> str:
    frame = "RANGE BETWEEN 3 PRECEDING AND CURRENT ROW"
    return (
        f"SELECT COUNT(*) FROM (SELECT COUNT(*) OVER (PARTITION BY person ORDER BY {order} {frame}) AS n FROM visits) t"
    )


@pytest.mark.parametrize("order", ["day", "day DESC", "ward", "CLAMP(points, -50, 50)"])
def test_distances_between_days_and_small_whole_numbers_are_exact(order):
    resolved(counted(order))


@pytest.mark.parametrize("order", ["points", "price", "moment", "ward, day", "illness"])
def test_other_distances_are_refused(order):
    raised(NotSupported, lambda: resolved(counted(order)), match="RANGE with a distance")
