"""What is proved about expressions, by hand: ranges, and what conditions say about columns."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from fractions import Fraction

import duckdb
import pytest

from dpsql.sql.functions import (
    interval_of,
    print_scalar,
    refined,
)
from dpsql.sql.intervals import EVERYTHING, INT64, Interval
from dpsql.sql.scalars import ColumnRef, Constant, Scalar

from function_words import COLUMNS, DAY, NULL, TS, B, D, I, T, between, call, double, text, whole

# ---- ranges ---------------------------------------------------------------------------------------------------------

RANGES = {1: between(0, 1), 2: between(-5, 100), 3: EVERYTHING, 4: EVERYTHING, 5: between(0, 30), 6: EVERYTHING}


def known(scalar: Scalar) -> Interval:
    return interval_of(scalar, RANGES.__getitem__)


def ranged(function: str, *arguments: Scalar) -> Interval:
    return known(call(function, *arguments, proved=known))


x = COLUMNS[D]
k = COLUMNS[I]


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        (ranged("add", k, whole(1)), between(-4, 101)),
        (ranged("mul", k, whole(-2)), between(-200, 10)),
        (ranged("mul", k, k), between(0, 10000)),
        (ranged("div", k, whole(4)), between(-1.25, 25)),
        (ranged("intdiv", k, whole(3)), between(-1, 33)),
        (ranged("mod", k, whole(7)), between(-5, 6)),
        (ranged("neg", k), between(-100, 5)),
        (ranged("abs", k), between(0, 100)),
        (ranged("abs", x), between(0, None)),
        (ranged("sign", k), between(-1, 1)),
        (ranged("clamp", x, whole(0), whole(100)), between(0, 100)),
        (ranged("clamp", k, whole(0), whole(1000)), between(0, 100)),
        (ranged("least", x, whole(10)), between(None, 10)),
        (ranged("greatest", call("least", x, whole(10)), whole(0)), between(0, 10)),
        (ranged("least", k, x), EVERYTHING),
        (ranged("coalesce", k, whole(200)), between(-5, 200)),
        (ranged("coalesce", k, whole(200), x), between(-5, 200)),
        (ranged("nullif", k, whole(0)), between(-5, 100)),
        (ranged("case", call("gt", x, whole(100)), whole(100), call("lt", x, whole(0)), whole(0), x), between(0, 100)),
        (ranged("case", call("and", call("ge", x, whole(0)), call("le", x, whole(10))), x), between(0, 10)),
        (ranged("case", call("is_null", k), whole(0), k), between(-5, 100)),
        (ranged("to_integer", call("clamp", x, double(-0.5), double(2.5))), between(0, 2)),
        (ranged("floor", call("clamp", x, double(-0.5), double(2.5))), between(-1, 2)),
        (ranged("round", call("clamp", x, double(-0.5), double(2.5))), between(-1, 3)),
        (ranged("length", COLUMNS[T]), between(0, None)),
        (ranged("year", COLUMNS[DAY]), between(1970, 1970)),
        (ranged("year", COLUMNS[TS]), between(1, 9999)),
        (ranged("month", COLUMNS[TS]), between(1, 12)),
        (ranged("date_diff", text("day"), COLUMNS[DAY], COLUMNS[DAY]), between(-30, 30)),
        (ranged("eq", x, x), between(0, 1)),
        (ranged("power", k, whole(0)), between(1, 1)),
        (ranged("div", whole(1), k), EVERYTHING),
        (ranged("add", x, whole(1)), EVERYTHING),
        (ranged("sub", COLUMNS[DAY], Constant(date(1970, 1, 1), DAY)), between(0, 30)),
    ],
)
def test_ranges_by_hand(interval: Interval, expected: Interval) -> None:
    assert interval == expected


@pytest.mark.parametrize(
    ("function", "low", "high", "lowest", "highest"),
    [
        ("sqrt", 4, 9, 2, 3),
        ("ln", 1, 10, 0, 2.302585092994046),
        ("log10", 10, 1000, 1, 3),
        ("log2", 0.25, 8, -2, 3),
        ("exp", 0, 1, 1, 2.718281828459045),
        ("exp", -1e300, 0, 0, 1),
        ("sqrt", -5, 9, 0, 3),
        ("ln", -5, 1, -744.4400719213812, 0),
    ],
)
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


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (call("and", call("gt", k, whole(0)), call("lt", k, whole(10))), {2: between(1, 9)}),
        (call("ge", whole(7), k), {2: between(-5, 7)}),
        (call("gt", x, whole(0)), {3: between(0, None)}),
        (call("lt", k, double(2.5)), {2: between(-5, 2)}),
        (call("eq", k, whole(7)), {2: between(7, 7)}),
        (call("ne", k, whole(7)), {}),
        (call("not", call("ne", k, whole(7))), {2: between(7, 7)}),
        (call("in", k, whole(3), whole(9), whole(4)), {2: between(3, 9)}),
        (call("in", k, whole(3), NULL), {}),
        (call("not", call("in", k, whole(3), whole(4))), {}),
        (call("or", call("lt", k, whole(3)), call("eq", k, whole(9))), {2: between(-5, 9)}),
        (call("or", call("lt", k, whole(3)), call("gt", x, whole(9))), {}),
        (
            call("not", call("or", call("lt", k, whole(3)), call("gt", x, whole(9)))),
            {2: between(3, 100), 3: between(None, 9)},
        ),
        (call("not", call("and", call("lt", k, whole(3)), call("gt", x, whole(9)))), {}),
        (call("gt", k, Constant(None, I)), {}),
        (call("lt", k, ColumnRef(9, I)), {}),
        (call("is_not_distinct", k, whole(4)), {2: between(4, 4)}),
        (call("is_false", call("gt", k, whole(4))), {2: between(-5, 4)}),
        (COLUMNS[B], {1: between(1, 1)}),
        (call("gt", k, whole(200)), {2: between(100, 100)}),
        (call("ge", COLUMNS[DAY], text("1970-01-11")), {5: between(10, 30)}),
        (call("lt", COLUMNS[DAY], Constant(datetime(1970, 1, 11, 12), TS)), {5: between(0, 10)}),
        (call("eq", call("to_date", COLUMNS[TS]), text("1970-01-02")), {6: between(86_400_000_000, 172_799_999_999)}),
        (call("le", COLUMNS[TS], text("1970-01-02")), {6: between(None, 86_400_000_000)}),
        (call("eq", COLUMNS[T], text("a")), {}),
    ],
)
def test_what_a_condition_proves(condition: Scalar, expected: dict[int, Interval]) -> None:
    assert refined(condition, {**RANGES, 9: between(0, 1)}.__getitem__) == expected


def test_far_whole_numbers_share_doubles_so_nothing_is_proved() -> None:
    condition = call("le", ColumnRef(7, I), double(2.0**53))
    assert refined(condition, lambda _: INT64) == {7: INT64}
    row = duckdb.sql(
        f"SELECT {print_scalar(condition, dialect='duckdb', column=lambda _: 'v')} FROM (SELECT {2**53 + 1} AS v)"
    )
    assert row.fetchall() == [(True,)]
