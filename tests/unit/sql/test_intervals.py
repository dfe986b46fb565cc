"""Intervals against brute force: every operation encloses what happens to the values inside."""

import itertools
from collections.abc import Callable
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dpsql.catalog.types import SqlType
from dpsql.sql import intervals
from tests.kits.cases import cases


def between(low: int | None, high: int | None) -> intervals.Interval:
    return intervals.Interval(None if low is None else Fraction(low), None if high is None else Fraction(high))


def ordered(pair: tuple[Fraction, Fraction]) -> intervals.Interval:
    return intervals.Interval(min(pair), max(pair))


fractions = st.fractions(-1000, 1000, max_denominator=64)
closed = st.tuples(fractions, fractions).map(ordered)


@st.composite
def with_values(draw: Callable[[st.SearchStrategy[object]], object]) -> tuple[intervals.Interval, Fraction]:
    """An interval, perhaps open, and a value inside."""
    interval, share = draw(closed), draw(st.fractions(0, 1))
    value = interval.low + (interval.high - interval.low) * share  # type: ignore[attr-defined]
    opened = draw(st.integers(0, 3))
    return intervals.Interval(
        None if opened == 1 or opened == 3 else interval.low,  # type: ignore[attr-defined]
        None if opened == 2 or opened == 3 else interval.high,  # type: ignore[attr-defined]
    ), value


@given(a=with_values(), b=with_values())
def test_results_lie_inside(a: tuple[intervals.Interval, Fraction], b: tuple[intervals.Interval, Fraction]) -> None:
    (first, x), (second, y) = a, b
    assert first.add(second).contains(x + y)
    assert first.sub(second).contains(x - y)
    assert first.mul(second).contains(x * y)
    assert first.negated().contains(-x)
    assert first.absolute().contains(abs(x))
    assert first.union(second).contains(x)
    assert first.union(second).contains(y)
    if y:
        assert first.div(second).contains(x / y)
    if second.contains(x):
        assert first.intersect(second).contains(x)


@given(a=closed, b=closed)
def test_ends_are_reached(a: intervals.Interval, b: intervals.Interval) -> None:
    ends = [(x, y) for x in (a.low, a.high) for y in (b.low, b.high) if x is not None and y is not None]
    products, sums = [x * y for x, y in ends], [x + y for x, y in ends]
    assert a.mul(b) == intervals.Interval(min(products), max(products))
    assert a.add(b) == intervals.Interval(min(sums), max(sums))


@cases(__file__, "a=", "b=", "product=")
def test_products_with_open_ends(a: intervals.Interval, b: intervals.Interval, product: intervals.Interval) -> None:
    assert a.mul(b) == product == b.mul(a)


def test_a_quotient_has_no_ends_where_the_divisor_may_be_zero() -> None:
    assert between(1, 2).div(between(-1, 1)) == intervals.EVERYTHING
    assert intervals.ZERO.div(between(0, 1)) == intervals.EVERYTHING  # 0/0 is no number
    assert between(1, 2).div(between(4, None)) == intervals.Interval(Fraction(0), Fraction(1, 2))
    assert between(-6, 3).div(between(-3, -1)) == between(-3, 6)


@cases(__file__, "a=", "b=", "both=")
def test_what_both_allow(a: intervals.Interval, b: intervals.Interval, both: intervals.Interval) -> None:
    assert a.intersect(b) == both


def test_containment() -> None:
    assert between(0, 3).within(between(0, 3))
    assert between(0, 3).within(between(None, 3))
    assert not between(None, 3).within(between(0, 3))
    assert not between(0, None).within(between(0, 3))
    assert between(1, 2).bounded
    assert not between(1, None).bounded


@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2), data=st.data())
def test_rounding_encloses_what_arithmetic_on_doubles_gives(values: list[float], data: st.DataObject) -> None:
    low, high = sorted(values)
    inside = [data.draw(st.floats(low, high)) for _ in range(2)]
    interval = intervals.Interval(Fraction(low), Fraction(high))
    for x, y in itertools.product(inside, repeat=2):
        if abs(Fraction(x) + Fraction(y)) <= intervals.DOUBLES.high:  # type: ignore[operator]
            assert intervals.rounded(interval.add(interval)).contains(Fraction(x + y))
        if abs(Fraction(x) * Fraction(y)) <= intervals.DOUBLES.high:  # type: ignore[operator]
            assert intervals.rounded(interval.mul(interval)).contains(Fraction(x * y))


def test_rounding_past_the_largest_double_has_no_end() -> None:
    assert intervals.nearest_double(Fraction(2) ** 1024) is None
    assert intervals.nearest_double(Fraction(int(1.7976931348623157e308))) == intervals.DOUBLES.high
    assert intervals.rounded(intervals.DOUBLES.add(intervals.DOUBLES)) == intervals.EVERYTHING
    assert intervals.nearest_double(Fraction(1, 10)) == Fraction(0.1) != Fraction(1, 10)


def test_widening_goes_outward_and_keeps_zero() -> None:
    wide = intervals.widened(intervals.Interval(Fraction(0), Fraction(1)))
    assert wide.low == 0
    assert wide.high is not None
    assert 1 < wide.high < Fraction(1.0000001)
    negative = intervals.widened(intervals.Interval(Fraction(-1), Fraction(-1)))
    assert negative.low is not None
    assert negative.high is not None
    assert negative.low < -1 < negative.high < 0


def test_types_close_open_ends() -> None:
    assert intervals.typed(intervals.EVERYTHING, SqlType.INTEGER) == intervals.INT64
    assert intervals.typed(between(3, None), SqlType.BOOLEAN) == between(1, 1)
    assert intervals.typed(between(3, None), SqlType.INTEGER) == between(3, 2**63 - 1)
    assert intervals.type_range(SqlType.DATE) == between(-719162, 2932896)
    assert intervals.type_range(SqlType.TIMESTAMP).high == Fraction(253402300799999999)
    assert intervals.type_range(SqlType.TIMESTAMP).low == Fraction(-62135596800000000)
    assert intervals.typed(intervals.EVERYTHING, SqlType.TEXT) == intervals.EVERYTHING


def test_whole_numbers_are_cut_at_64_bits_but_open_ends_stay() -> None:
    assert intervals.integers(between(-(2**70), 2**70)) == intervals.INT64
    assert intervals.integers(between(None, 5)) == between(None, 5)
    assert intervals.integers(intervals.EVERYTHING) == intervals.EVERYTHING
