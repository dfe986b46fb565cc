"""Post-processing against DuckDB itself: the same rows, the question as an analyst would write it."""

from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction

import duckdb
import pytest

from dpsql.catalog.types import SqlType
from dpsql.errors import InternalError
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.margins import NoisySlotLaw, linear_margin
from dpsql.session.noisy import Noisy, OwnInterval
from dpsql.session.release import _plain_column
from dpsql.session.released_rows import ReleasedSlot, ReleasedTable
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Sorted
from tests.kits.cases import cases
from tests.kits.refusals import raised
from tests.kits.released import CONFIDENCE, call, column, decimal, finish, plain, released_table, told, whole, window

CITY, DAY, N, S = (
    ColumnRef(7, SqlType.TEXT),
    ColumnRef(3, SqlType.DATE),
    ColumnRef(11, SqlType.INTEGER),
    ColumnRef(12, SqlType.DOUBLE),
)
COUNTS = NoisySlotLaw(law=DiscreteLaplaceLaw(scale=Fraction(5)), grain=Fraction(1))
SUMS = NoisySlotLaw(law=DiscreteLaplaceLaw(scale=Fraction(800)), grain=Fraction(1, 16))
ROWS = [
    ("Aarau", date(2024, 1, 1), 17, 160),
    ("Basel", date(2024, 1, 1), 2611, -32000),
    ("Bern", None, 17, 161),
    ("Zürich", date(2024, 3, 1), -4, 8),
    (None, date(2024, 3, 1), 900, 0),
]


def table(rows=ROWS, counts=COUNTS, sums=SUMS):
    return released_table((CITY, DAY), ((N, counts), (S, sums)), [row[:2] for row in rows], [row[2:] for row in rows])


def answered(done, rows=ROWS, confidence=CONFIDENCE, **laws):
    return told(table(rows, **laws), done, confidence=confidence)


def asked(sql, rows=ROWS):
    """The analyst's question on a table with the same numbers."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (r BIGINT, city VARCHAR, day DATE, n BIGINT, s DOUBLE)")
        for number, (city, day, n, s) in enumerate(rows):
            connection.execute("INSERT INTO t VALUES (?, ?, ?, ?, ?)", [number, city, day, n, s / 16])
        return connection.execute(sql).fetchall()


MEAN = call("div", S, N)
SHARE = call("div", N, window("sum", N))
RUNNING = window("sum", N, order=(Sorted(by=CITY),))


@cases(__file__, "done=", "sql")
def test_values_are_those_of_plain_sql(done, sql):
    assert plain(answered(done)) == asked(sql)


def test_types_of_cells_and_text_that_depends_on_noise():
    (row, *_) = answered(finish(CITY, DAY, N, S, call("gt", N, whole(3)), RUNNING, call("add", N, whole(1))))
    assert [type(cell) for cell in row] == [str, date, Noisy, Noisy, bool, Noisy, Noisy]
    assert [type(cell.value) for cell in row if isinstance(cell, Noisy)] == [int, float, int, float]
    labels = answered(finish(call("case", call("gt", N, whole(100)), Constant("many", SqlType.TEXT), CITY)))
    assert labels[1] == ("many",)
    (cell,) = answered(finish(Apply("to_integer", (S,), SqlType.INTEGER)))[1]
    assert isinstance(cell.value, int)
    assert isinstance(cell.interval, OwnInterval)


def test_a_linear_expression_has_the_margin_of_its_sum_and_a_slot_that_of_its_law():
    """P[|X| > 14] of scale 5 is 2p^15/(1+p) = 0.0547 and P[|X| > 15] = 0.0448, p = exp(-1/5)."""
    cells = [row[0] for row in answered(finish(N))]
    assert [cell.margin for cell in cells] == [15] * 5
    assert [(cell.low, cell.high) for cell in cells] == [(n - 15, n + 15) for _, _, n, _ in ROWS]
    assert {cell.confidence for cell in cells} == {CONFIDENCE}
    (cell,) = answered(finish(call("sub", call("mul", N, whole(3)), call("div", S, whole(2)))))[1]
    wanted = linear_margin([(Fraction(3), COUNTS), (Fraction(1, 2), SUMS)], confidence=CONFIDENCE)
    assert cell.value == 3 * 2611 + 32000 / 32
    assert cell.margin == pytest.approx(float(wanted), rel=1e-12)


def test_noise_that_cancels_and_null_have_no_margin():
    (cell,) = answered(finish(call("sub", N, N)))[0]
    assert (cell.value, cell.margin, cell.low, cell.high) == (0, 0, 0, 0)
    nothing = call("div", S, call("sub", N, N))
    assert answered(finish(nothing, N))[0][0] is None


def test_exact_slots_are_constants():
    rows = answered(finish(CITY, N, call("mul", N, N)), counts=None)
    assert rows[1] == ("Basel", 2611, 2611.0**2)
    (cell,) = answered(finish(call("add", N, S)), counts=None)[1]
    assert cell.margin == answered(finish(S))[1][0].margin


def test_an_expression_that_hardly_ever_has_a_value_has_no_margin():
    """1/n over n = 1: a third of what n could be is 0 or below; the logarithm has no value there."""
    (cell,) = answered(finish(call("ln", N)), rows=[("x", None, 1, 0)])[0]
    assert (cell.value, cell.margin, cell.low, cell.high) == (0, None, None, None)


def test_a_ratio_of_monotone_parts_has_the_interval_of_its_noise():
    """100/n is monotone: its ends are 100/(n ± m), with m the margin of n, and the farther one is the margin."""
    (cell,) = answered(finish(call("div", decimal(100), N)))[1]
    m = COUNTS.law.margin(confidence=CONFIDENCE)
    assert (cell.low, cell.high) == pytest.approx((100 / (2611 + m), 100 / (2611 - m)))
    assert cell.margin == pytest.approx(cell.high - cell.value)


@pytest.mark.parametrize(("confidence", "margin"), [("0.5", 3), ("0.9", 12), ("0.99", 23), ("0.999", 35)])
def test_simulated_intervals_at_other_confidences(confidence, margin):
    """abs(n) far from 0 is n, but not linear to the eye: the margin is that of the law, or up to 10 % more."""
    (cell,) = answered(finish(call("abs", N)), confidence=Fraction(confidence))[1]
    assert abs(COUNTS.law.margin(confidence=Fraction(confidence)) - margin) <= 1
    assert margin - 1 <= cell.margin <= 1.1 * margin + 1


def test_rounded_slots_are_whole_numbers_with_half_a_unit_more():
    rounded = NoisySlotLaw(law=DiscreteLaplaceLaw(scale=Fraction(3)), grain=Fraction(1, 4), rounded=True)
    rows = [("a", None, 10, 0), ("b", None, 41, 0), ("c", None, -6, 0)]
    cells = [row[0] for row in answered(finish(N), rows=rows, counts=rounded)]
    assert [cell.value for cell in cells] == [2, 10, -2]  # 2.5 and -1.5 go to the even neighbour
    assert {cell.margin for cell in cells} == {rounded.law.margin(confidence=CONFIDENCE) / 4 + 0.5}


def test_simulation_knows_the_number_before_rounding():
    """Of 41 quarters, shown as 10, almost without noise: twice the square root is that of 10.25."""
    rounded = NoisySlotLaw(law=DiscreteLaplaceLaw(scale=Fraction(1, 100)), grain=Fraction(1, 4), rounded=True)
    (cell,) = answered(finish(call("sqrt", N)), rows=[("b", None, 41, 0)], counts=rounded)[0]
    assert cell.value == 10**0.5
    assert cell.high == pytest.approx(10.25**0.5)


@pytest.mark.parametrize("n", [2**62, -(2**70), 2**126 + 1])
def test_numbers_beyond_64_bits(n):
    rows = [("a", None, n, 0), ("b", None, 1, 0)]
    first, second = (row[0] for row in answered(finish(N), rows=rows))
    assert float(first) == float(n)
    assert second.value == 1
    assert answered(finish(call("div", N, whole(7))), rows=rows)[0][0].value == pytest.approx(n / 7)


def test_numbers_beyond_64_bits_keep_every_digit_also_as_noise():
    assert answered(finish(N), rows=[("a", None, 2**100 + 1, 0)])[0][0].value == 2**100 + 1
    wide = NoisySlotLaw(law=DiscreteLaplaceLaw(scale=Fraction(2**61)), grain=Fraction(1))
    (cell,) = answered(finish(call("abs", N)), rows=[("a", None, 5, 0)], counts=wide)[0]
    assert cell.margin > 2**61


def test_a_window_moves_with_the_noise_of_all_rows():
    """The share of a row in the total is certain where it is the only one, however noisy it is."""
    share = call("div", N, window("sum", N, by=(CITY,)))
    cells = [row[0] for row in answered(finish(share), rows=[(str(n), None, n, 0) for n in (300, 400, 5000)])]
    assert [(cell.value, cell.margin) for cell in cells] == [(1, 0)] * 3


def test_rows_vary_independently_in_a_window():
    """A sum over 400 rows: its margin is that of a sum of 400 independent noises, within 10 %."""
    rows = [(str(number), None, 1000, 0) for number in range(400)]
    (cell,) = answered(finish(window("sum", N), limit=1), rows=rows)[0]
    true = float(linear_margin([(Fraction(1), COUNTS)] * 400, confidence=CONFIDENCE))
    assert 0.9 * true <= cell.margin <= 1.1 * true


def test_windows_see_only_rows_that_having_leaves():
    rows = [("a", None, 1000, 0), ("b", None, 1000, 0), ("c", None, 1, 0)]
    noisy = NoisySlotLaw(law=DiscreteLaplaceLaw(scale=Fraction(1, 1000)), grain=Fraction(1))
    few = finish(window("count"), having=call("gt", N, whole(10)))
    assert plain(answered(few, rows=rows, counts=noisy)) == [(2,), (2,)]
    total = finish(call("abs", window("sum", N)), having=call("gt", N, whole(10)), limit=1)
    (cell,) = answered(total, rows=rows, counts=noisy)[0]
    assert (cell.low, cell.value, cell.high) == (2000, 2000, 2000)


def test_an_answer_of_no_rows_and_rows_that_do_not_fit():
    assert answered(finish(CITY, MEAN, SHARE), rows=[]) == ()
    raised(InternalError, lambda: ReleasedTable(keys=(column(CITY),), slots=(), key_rows=(("a", "b"),), values=((),)))


@pytest.mark.parametrize("rows", [[("a", None, True, 0)], [("a", None, 1.5, 0)], [("a", None, None, 0)]])
def test_noisy_grains_are_integers(rows):
    raised(InternalError, lambda: answered(finish(N), rows=rows))


def test_numbers_of_wider_types_are_those_their_type_says():
    assert _plain_column([Decimal(2), None, 3], SqlType.INTEGER) == [2, None, 3]
    assert [type(each) for each in _plain_column([Decimal(2), 3], SqlType.INTEGER)] == [int, int]


def test_an_exact_number_is_told_as_it_is_and_a_noisy_one_is_whole():
    exact = ReleasedSlot(column=None, place=0, law=None)
    assert exact.fine(Fraction(1, 3)) == Fraction(1, 3)
    noisy = replace(exact, law=NoisySlotLaw(law=DiscreteLaplaceLaw(scale=Fraction(1)), grain=Fraction(1)))
    raised(InternalError, lambda: noisy.fine(0.5))
