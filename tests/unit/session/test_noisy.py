"""Numbers with margins: arithmetic against the laws of noise, comparisons, words. No chance is involved."""

import copy
import operator
import pickle
import warnings
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from dpsql.catalog.types import SqlType
from dpsql.errors import BadParameter, BadType
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.margins import NoisySlotLaw, averaged_slot, linear_margin
from dpsql.session.noisy import Noisy, UncertainComparison, _margin
from dpsql.session.release import LinearNoise, SlotNoise
from dpsql.session.released_rows import AveragedPart, ReleasedSlot
from dpsql.sql.relations import Column
from dpsql.sql.scalars import ColumnRef
from tests.kits.refusals import raised
from tests.kits.released import call, finish, released_table, told, window

COUNTS = NoisySlotLaw(law=DiscreteLaplaceLaw(scale=Fraction(5)), grain=Fraction(1))
SUMS = NoisySlotLaw(law=DiscreteGaussianLaw(sigma_squared=Fraction(10**6)), grain=Fraction(1, 8))
N, S = ColumnRef(1, SqlType.INTEGER), ColumnRef(2, SqlType.DOUBLE)
MEAN = call("div", S, N)
TOTAL = window("sum", N)
ROWS = ((2611, 80000), (1984, 64000), (17, 900))


def answered(*outputs, confidence="0.95", rows=ROWS, counts=COUNTS, receipt=42, ledger="a"):
    """The columns of an answer."""
    table = released_table((), ((N, counts), (S, SUMS)), [() for _ in rows], rows)
    cells = told(table, finish(*outputs), confidence=Fraction(confidence), receipt=receipt, ledger=ledger)
    return list(zip(*cells, strict=True))


@pytest.fixture(scope="module")
def columns():
    return answered(N, S, MEAN)


@pytest.fixture(scope="module")
def n(columns):
    return columns[0]


@pytest.fixture(scope="module")
def s(columns):
    return columns[1]


@pytest.fixture(scope="module")
def mean(columns):
    return columns[2]


def margin(*terms, confidence="0.95"):
    return float(linear_margin([(Fraction(weight), law) for weight, law in terms], confidence=Fraction(confidence)))


def test_two_slots_add_up_with_the_law_of_their_sum_and_a_slot_shares_its_noise_with_itself(n):
    for total, value in ((n[0] + n[1], 4595), (n[0] - n[1], 627), (n[1] - n[0], -627)):
        assert total.value == value
        assert total.margin == margin((1, COUNTS), (1, COUNTS))
        assert (total.low, total.high) == (value - total.margin, value + total.margin)
    nothing = n[0] - n[0]
    assert (nothing.value, nothing.margin, nothing.low, nothing.high) == (0, 0, 0, 0)
    assert (n[0] + n[0]).margin == 2 * n[0].margin
    assert ((n[0] + n[1]) - n[1]).margin == n[0].margin
    ((again, *_),) = answered(N)
    assert (n[0] - again).margin == 0


@pytest.mark.parametrize("other", [{"receipt": 43}, {"ledger": "b"}])
def test_another_release_has_noise_of_its_own(n, other):
    ((again, *_),) = answered(N, **other)
    assert (n[0] - again).margin == margin((1, COUNTS), (1, COUNTS))


@pytest.mark.parametrize(
    ("change", "value", "wanted"),
    [
        (lambda x: x * 3, 7833, margin((3, COUNTS))),
        (lambda x: 3 * x, 7833, margin((3, COUNTS))),
        (lambda x: x / 4, 652.75, margin((Fraction(1, 4), COUNTS))),
        (lambda x: -x, -2611, margin((1, COUNTS))),
        (lambda x: +x, 2611, margin((1, COUNTS))),
        (lambda x: 100 - x, -2511, margin((1, COUNTS))),
        (lambda x: x + Fraction(1, 2), 2611.5, margin((1, COUNTS))),
        (lambda x: x - Decimal("0.5"), 2610.5, margin((1, COUNTS))),
        (lambda x: x * 0.5, 1305.5, margin((Fraction(1, 2), COUNTS))),
        (lambda x: x * np.int64(2), 5222, margin((2, COUNTS))),
        (lambda x: x * 0, 0, 0),
        (lambda x: (x - x) * x, 0, 0),
    ],
)
def test_arithmetic_with_numbers(n, change, value, wanted):
    found = change(n[0])
    assert isinstance(found, Noisy)
    assert found.value == value
    assert found.margin == wanted


def test_whole_numbers_stay_whole_and_truth_is_refused(n):
    assert type((n[0] + n[1] * 2).value) is int
    assert type((n[0] * 1.0).value) is float
    raised(BadType, lambda: bool(n[0]), match="neither true nor false")


@pytest.mark.parametrize(
    "other", ["5", None, True, float("nan"), float("inf"), Decimal("NaN"), Decimal("sNaN"), [1], 1j]
)
def test_arithmetic_with_anything_else_is_refused(n, other):
    raised(TypeError, lambda: n[0] + other)
    raised(TypeError, lambda: other / n[0])


def test_division_by_nothing(n):
    raised(BadParameter, lambda: n[0] / 0, match="divided by 0")
    raised(BadParameter, lambda: 1 / (n[0] - n[0]), match="divided by 0")


TOO_LARGE = [lambda x: x * 1e308, lambda x: 10**400 / x, lambda x: x * 10**400 / 3.0, lambda x: x + 10**400]


@pytest.mark.parametrize("calculate", TOO_LARGE)
def test_what_is_too_large_to_tell_is_refused(n, calculate):
    raised(BadParameter, lambda: calculate(n[0]), match="too large")


def test_a_quotient_in_python_is_the_quotient_in_sql(n, s, mean):
    """The same draws of the same noise: to the last digit."""
    for top, bottom, wanted in zip(s, n, mean, strict=True):
        found = top / bottom
        assert found.value == pytest.approx(wanted.value, rel=1e-15)
        assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), rel=1e-12)


def test_noise_is_shared_through_expressions_that_are_not_linear(n, s, mean):
    assert (mean[0] - mean[0]).margin == 0
    back = mean[0] * n[0] - s[0]
    assert back.value == pytest.approx(0, abs=1e-9)
    assert back.margin < 1e-9 * s[0].margin


def test_a_product_of_two_slots_and_an_absolute_value(n):
    """Near 5180224, by calculus: b·x + a·y with noises x, y, whose law is that of the weighted sum."""
    found = n[0] * n[1]
    assert found.value == 2611 * 1984
    assert found.margin == pytest.approx(margin((1984, COUNTS), (2611, COUNTS)), rel=0.1)
    found = abs(n[2] - n[0])
    assert found.value == 2594
    assert found.margin == pytest.approx((n[2] - n[0]).margin, rel=0.1)
    assert abs(n[2] - 17).low >= 0


@pytest.mark.parametrize(
    "total",
    [
        lambda n, _: sum(map(abs, n)),
        lambda n, _: sum(map(abs, n)) / 10 + 2 * n[0] - 2 * n[0],
        lambda n, _: -sum(-abs(x) for x in n),
        lambda n, _: 0.0 - sum(0 - x * x for x in n),
        lambda n, _: sum(abs(x) * abs(y) for x, y in pairwise(n)),
        lambda _, size: sum(size),
        lambda n, size: sum(map(abs, n)) / (100 + size[0]),
    ],
)
def test_what_noise_pushes_to_one_side_adds_up(total):
    """The truth is 0 everywhere: the intervals of sums of twelve such sizes held it in 2 % of the answers."""
    rows = [(size if place % 2 else -size, 0) for place, size in enumerate((1, 2, 4, 7, 16) * 5)]
    found = total(*answered(N, call("abs", N), rows=rows))
    assert found.low <= 0 <= found.value <= found.high
    assert found.value - found.low <= found.margin


def test_what_cancels_out_in_it_is_gone(n):
    near, other = abs(n[2] - 17), abs(n[1] - 1984)
    assert (near - near).margin == 0
    assert (near - other).margin == near.margin + other.margin
    assert (abs(n[0]) - abs(n[1])).margin < abs(n[0]).margin + abs(n[1]).margin  # both are far from 0


def test_a_difference_of_means_of_different_rows(mean):
    """Independent: wider than each, narrower than both together."""
    found = mean[0] - mean[1]
    assert max(mean[0].margin, mean[1].margin) < found.margin < mean[0].margin + mean[1].margin


def test_a_quotient_by_what_may_be_0_has_no_interval():
    """Laplace noise of scale 5 is above 14 with 5 %: of 10 people there may be none, of 40 there are some."""
    few, some, many = answered(N, rows=((10, 0), (-40, 0), (900, 0)))[0]
    assert (many / few).margin is None
    assert ((many - many + 7) / few).margin is None
    assert (many / some).margin is not None
    assert (few / many).margin is not None
    assert (few / 10).margin == few.margin / 10


def test_calculating_brings_no_interval_back(n):
    """SQL gives none where a divisor may be 0, or where noise decides a condition of a sum."""
    (without, _, _) = answered(MEAN, rows=((3, 8000), (1984, 64000), (17, 900)))[0]
    assert without.margin is None
    for cell in (without * 100, -without, without + n[0], without * n[0], abs(without), 1 / without):
        assert (cell.margin, cell.low, cell.high) == (None, None, None)


def test_a_window_in_an_expression_is_simulated_again(n):
    (totals,) = answered(TOTAL)
    rest = totals[0] - n[0]
    assert rest.value == 1984 + 17
    assert rest.margin == pytest.approx(margin((1, COUNTS), (1, COUNTS)), rel=0.15)


def test_sums_over_rows_are_exact_and_the_lower_confidence_wins(n):
    total = sum(n)
    assert total.value == 4612
    assert total.margin == margin(*[(1, COUNTS)] * 3)
    ((careful, *_),) = answered(N, receipt=7, confidence="0.99")
    total = n[0] + careful
    assert total.confidence == Fraction(19, 20)
    assert total.margin == margin((1, COUNTS), (1, COUNTS))


def test_what_rounding_added_is_known():
    """2611 quarters are shown as 653, a quarter more than they are; 1984 quarters as 496."""
    rounded = NoisySlotLaw(law=DiscreteLaplaceLaw(scale=Fraction(5)), grain=Fraction(1, 4), rounded=True)
    (cells,) = answered(N, counts=rounded)
    assert (cells[0] - cells[0]).margin == 0
    exact = NoisySlotLaw(law=rounded.law, grain=rounded.grain)
    assert (cells[0] + cells[1]).margin == margin((1, exact), (1, exact)) + 0.25
    product = cells[0] * cells[1]
    assert product.low <= (2611 / 4) * (1984 / 4) <= product.high
    # 41 quarters, shown as 10, almost without noise: the square is that of 10.25.
    rounded = NoisySlotLaw(law=DiscreteLaplaceLaw(scale=Fraction(1, 100)), grain=Fraction(1, 4), rounded=True)
    ((cell,),) = answered(N, counts=rounded, rows=((41, 0),))
    assert (cell * cell).value == 100
    assert (cell * cell).high == pytest.approx(10.25**2)


@pytest.mark.parametrize(
    ("compare", "wanted"),
    [
        (lambda n: n[0] > n[1], True),
        (lambda n: n[0] < n[1], False),
        (lambda n: n[0] >= 2000, True),
        (lambda n: operator.le(2000, n[0]), True),
        (lambda n: n[0] == 2000, False),
        (lambda n: n[0] != n[1], True),
        (lambda n: n[0] == n[0], True),
        (lambda n: n[0] <= n[0], True),
        (lambda n: n[0] > n[0], False),
        (lambda n: n[0] == "2611", False),
        (lambda n: n[0] is None, False),
    ],
)
def test_clear_comparisons_are_silent(n, compare, wanted):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compare(n) is wanted


@pytest.mark.parametrize(
    ("compare", "wanted"),
    [
        (lambda n, mean: n[2] > 5, True),
        (lambda n, mean: n[2] < n[2] * 0 + 18, True),
        (lambda n, mean: n[2] == 17, True),
        (lambda n, mean: n[2] != 17, False),
        (lambda n, mean: operator.le(30, n[2]), False),
        (lambda n, mean: mean[0] < mean[1], True),
        (lambda n, mean: mean[0] > 3.9, False),
    ],
)
def test_comparisons_that_noise_could_turn_around_warn(n, mean, compare, wanted):
    with pytest.warns(UncertainComparison, match="too close to tell apart at 95 %") as caught:
        assert compare(n, mean) is wanted
    assert caught[0].filename == __file__


def test_a_difference_is_clear_before_the_intervals_are_apart():
    """±15 each, ±21 together: 25 apart is enough for the difference."""
    ((first, second),) = answered(N, rows=((1025, 0), (1000, 0)))
    assert first.low < second.high
    assert first > second
    ((first, second),) = answered(N, rows=((1021, 0), (1000, 0)))
    with pytest.warns(UncertainComparison):
        assert first > second


def test_a_number_without_an_interval_is_never_clear():
    logarithm = call("ln", N)
    ((cell,),) = answered(logarithm, rows=((1, 0),))
    assert cell.margin is None
    with pytest.warns(UncertainComparison):
        assert cell < 1000
    assert repr(cell) == "Noisy(0, ±?, 95%)"
    assert f"{cell:.2f}" == "0.00 ± ?"


def test_order_is_not_silent(n):
    with pytest.warns(UncertainComparison):
        sorted([n[2], n[1] - 1970])
    assert max(n).value == 2611


def test_words_and_identity(n, mean):
    assert repr(n[0]) == "Noisy(2611, ±15, 95%)"
    assert str(n[0]) == "2611 ± 15"
    assert f"{n[0]}" == "2611 ± 15"
    assert f"{n[0]:.1f}" == "2611.0 ± 15.0"
    assert f"{mean[0]:.2f}" == f"{mean[0].value:.2f} ± {mean[0].margin:.2f}"
    assert (float(n[0]), int(n[0]), int(mean[0])) == (2611.0, 2611, 3)
    ((again, *_),) = answered(N)
    assert len({n[0], again, n[0]}) == 2
    with pytest.raises(AttributeError):
        n[0].value = 5


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda cell: pickle.loads(pickle.dumps(cell))])
def test_copies_keep_their_noise(n, mean, copied):
    assert (copied(n[0]) - n[0]).margin == 0
    assert (copied(mean[0]) - mean[0]).margin == 0


def test_what_rounding_added_to_an_average_stays_where_its_noise_cancels_out():
    """A topped-up number less the one it was made of: 87 % of 181 such margins held, when half a unit was thought to
    go with the noise that cancels out."""
    law = NoisySlotLaw(law=DiscreteLaplaceLaw(scale=Fraction(5)), grain=Fraction(1))
    average = averaged_slot([law, law])
    parts = tuple(AveragedPart(release=name, place=0, law=law, share=Fraction(1, 2)) for name in "ab")
    slot = ReleasedSlot(column=Column(id=1, name="", type=SqlType.INTEGER), place=0, law=average, parts=parts)
    noise = SlotNoise(slot=slot, law=average, weight=Fraction(1), released=[2 * 10 + 1])  # 10.5, shown as 10
    weights = LinearNoise(release="b", slots=(noise,)).of_row(0)
    once = SlotNoise(slot=replace(slot, law=law, parts=()), law=law, weight=Fraction(-1), released=())
    stored = LinearNoise(release="a", slots=(once,)).of_row(0)
    shared = {cell: weights.get(cell, 0) + stored.get(cell, 0) for cell in {**weights, **stored}}
    half = Fraction(1, 2)
    assert _margin(shared, confidence=Fraction(19, 20), groups=1, outputs=1) == margin((half, law), (half, law)) + half
    assert _margin(weights, confidence=Fraction(19, 20), groups=1, outputs=1) == margin((half, law), (half, law)) + half
