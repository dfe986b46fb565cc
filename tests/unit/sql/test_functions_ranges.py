"""What is proved about expressions, by hand: ranges, and what conditions say about columns."""

from datetime import datetime, timedelta
from fractions import Fraction

import duckdb
import pytest

from dpsql.sql.functions import interval_of, print_scalar, refined
from dpsql.sql.intervals import EVERYTHING, INT64, Interval
from dpsql.sql.scalars import ColumnRef, Scalar
from tests.kits.cases import cases

from function_words import COLUMNS, TS, D, I, between, call, double, text, whole, written

# ---- ranges ---------------------------------------------------------------------------------------------------------

RANGES = {1: between(0, 1), 2: between(-5, 100), 3: EVERYTHING, 4: EVERYTHING, 5: between(0, 30), 6: EVERYTHING}


def known(scalar: Scalar) -> Interval:
    return interval_of(scalar, RANGES.__getitem__)


def ranged(function: str, *arguments: Scalar) -> Interval:
    return known(call(function, *arguments, proved=known))


x = COLUMNS[D]
k = COLUMNS[I]


@cases(__file__, "expression", "expected=")
def test_ranges_by_hand(expression: str, expected: Interval) -> None:
    assert known(written(expression, proved=known)) == expected


@cases(__file__, "function", "low=", "high=", "lowest=", "highest=")
def test_ranges_of_roots_and_logarithms_are_tight(
    function: str, low: float, high: float, lowest: float, highest: float
) -> None:
    interval = ranged(function, call("clamp", x, double(low), double(high)))
    assert interval.contains(Fraction(lowest))
    assert interval.contains(Fraction(highest))
    assert interval.within(between(lowest - abs(lowest) * 1e-12, highest + abs(highest) * 1e-12))


def test_rounding_may_leave_the_ends_by_a_step() -> None:
    interval = ranged("round", call("clamp", x, double(0.004), double(0.996)), whole(2))
    assert interval.contains(0)
    assert interval.contains(1)
    assert ranged("round", call("clamp", x, whole(0), whole(100)), whole(2)).low == 0
    assert ranged("round", call("clamp", k, whole(4), whole(95)), whole(-1)) == between(0, 100)


def moment(*parts: int) -> Fraction:
    return Fraction((datetime(*parts) - datetime(1970, 1, 1)) // timedelta(microseconds=1))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scalar", "low", "high"),
    [
        # 30 January 23:00 and 31 January 01:00 both become 28 February: the day keeps order, the hour does not
        (call("date_add", text("month"), whole(1), COLUMNS[TS]), (2021, 2, 28), (2021, 2, 28, 23, 59, 59, 999999)),
        (call("date_add", text("hour"), whole(-2), COLUMNS[TS]), (2021, 1, 30, 21), (2021, 1, 30, 23)),
        (call("date_add", text("year"), whole(9000), COLUMNS[TS]), (9999, 12, 31, 23, 59, 59, 999999), None),
        (call("date_trunc", text("month"), COLUMNS[TS]), (2021, 1, 1), (2021, 1, 1)),
        (call("date_trunc", text("week"), COLUMNS[TS]), (2021, 1, 25), (2021, 1, 25)),
    ],
)
def test_ranges_of_shifted_and_cut_times(scalar: Scalar, low: tuple[int, ...], high: tuple[int, ...] | None) -> None:
    times = Interval(moment(2021, 1, 30, 23), moment(2021, 1, 31, 1))
    assert interval_of(scalar, lambda _: times) == Interval(moment(*low), moment(*(high or low)))


def test_least_and_greatest_pass_over_null_so_a_column_limits_nothing() -> None:
    both = interval_of(
        call("least", ColumnRef(7, I), ColumnRef(8, I)), {7: between(0, 5), 8: between(0, 50)}.__getitem__
    )
    assert both == between(0, 50)


# ---- refinement -----------------------------------------------------------------------------------------------------


@cases(__file__, "condition", "expected=")
def test_what_a_condition_proves(condition: str, expected: dict[int, Interval]) -> None:
    assert refined(written(condition), {**RANGES, 9: between(0, 1)}.__getitem__) == expected


def test_far_whole_numbers_share_doubles_so_nothing_is_proved() -> None:
    condition = call("le", ColumnRef(7, I), double(2.0**53))
    assert refined(condition, lambda _: INT64) == {7: INT64}
    row = duckdb.sql(
        f"SELECT {print_scalar(condition, dialect='duckdb', column=lambda _: 'v')} FROM (SELECT {2**53 + 1} AS v)"
    )
    assert row.fetchall() == [(True,)]
