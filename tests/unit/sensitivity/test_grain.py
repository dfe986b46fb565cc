"""Grains: exact, total, monotone. No chance involved."""

import itertools
import math
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import BadParameter, DpsqlError
from dpsql.privacy.unit import Neighbours
from dpsql.sensitivity.grain import Grain, column_grain, inner_grain, power_of_two_below
from tests.kits.refusals import raised

bounds = st.tuples(
    st.fractions(-(10**9), 10**9, max_denominator=10**6), st.fractions(-(10**9), 10**9, max_denominator=10**6)
).filter(lambda pair: pair[0] < pair[1])
numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(10**12), 10**12),
    st.fractions(),
    st.decimals(allow_nan=False, allow_infinity=False),
)


@given(st.fractions(Fraction(1, 10**30), 10**30))
def test_power_of_two_below(size):
    power = power_of_two_below(size)
    assert power <= size < 2 * power
    assert 1 in (power.numerator, power.denominator)
    assert (power.numerator * power.denominator).bit_count() == 1


@given(bounds)
def test_a_range_has_between_2_20_and_2_21_grains(pair):
    """DESIGN rule 7: the largest power of two that is at most (hi - lo)/2**20."""
    lower, upper = pair
    size = column_grain(lower=lower, upper=upper, whole=False).size
    assert 2**20 <= (upper - lower) / size < 2**21


def test_whole_columns_have_grain_one_and_bounds_move_inward():
    grain = column_grain(lower=Fraction(-5, 2), upper=10.5, whole=True)
    assert (grain.size, grain.low, grain.high) == (1, -2, 10)
    assert [grain.to_grains(value) for value in (-3, -2.5, 0, True, 10.4, 11)] == [-2, -2, 0, 1, 10, 10]


@given(bounds, numbers)
def test_to_grains_is_clamp_then_round(pair, value):
    """Against the order DESIGN states: first the bounds, then ROUND(x/g), halves away from 0."""
    lower, upper = pair
    grain = column_grain(lower=lower, upper=upper, whole=False)
    clamped = min(max(Fraction(value), lower), upper) / grain.size
    rounded = math.floor(abs(clamped) + Fraction(1, 2)) * (1 if clamped >= 0 else -1)
    assert grain.to_grains(value) == rounded
    assert abs(grain.from_grains(rounded) - min(max(Fraction(value), lower), upper)) <= grain.size / 2


def test_halves_go_away_from_zero():
    grain = Grain(lower=Fraction(-10), upper=Fraction(10), size=Fraction(1))
    expected = [1, 2, 3, -1, -2, -3, 0]
    assert [grain.to_grains(x) for x in (0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.4999999999999999)] == expected


@pytest.mark.parametrize(
    "value",
    [
        None, math.nan, math.inf, -math.inf, Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity"), "7", b"7", 1j, [],
        {}, np.float64("nan"), np.float32("inf"), np.datetime64("2020-01-01"), np.complex128(1), date(2020, 1, 1),
        object(),
    ],
)  # fmt: skip
def test_what_is_no_value(value):
    """No value, never an error: an error that depends on a row is an answer about it."""
    assert column_grain(lower=0, upper=10, whole=False).to_grains(value) is None


@pytest.mark.parametrize("value", [7, 7.0, Decimal(7), Fraction(7), np.float32(7), np.int8(7), np.float64(7)])
def test_every_kind_of_number(value):
    grain = column_grain(lower=0, upper=10, whole=True)
    assert grain.to_grains(value) == 7
    assert type(grain.to_grains(value)) is int
    assert grain.to_grains(np.bool_(True)) == 1


@pytest.mark.parametrize("whole", [True, False])
def test_numbers_of_any_size_are_quick(whole):
    """Decimals with a billion digits are clamped or rounded without being written out."""
    grain = column_grain(lower=-4, upper=8, whole=whole)
    assert grain.to_grains(Decimal("1e999999999")) == grain.high
    assert grain.to_grains(Decimal("-1e999999999")) == grain.low
    assert grain.to_grains(Decimal("1e-999999999")) == 0
    assert grain.to_grains(Decimal("0e999999")) == 0
    assert grain.to_grains(10**5000) == grain.high
    assert grain.to_grains(5e-324) == 0


@pytest.mark.parametrize(("lower", "upper"), [(-3, 5), (2, 6), (-6, -2), (0, 4), (-4, 0)])
@pytest.mark.parametrize("every", [True, False])
def test_sensitivity_by_brute_force(lower, upper, every):
    """Both relations, all pairs of neighbours of up to two people; a missing value adds 0 unless every unit counts."""
    grain = column_grain(lower=lower, upper=upper, whole=True)
    one_person = [*range(lower, upper + 1), *([] if every else [0])]
    changed = max(abs(x - y) for x, y in itertools.product(one_person, repeat=2))
    removed = max(abs(x) for x in one_person)
    assert grain.sum_sensitivity(neighbours=Neighbours.CHANGE_ONE, every_unit_contributes=every) == changed
    assert grain.sum_sensitivity(neighbours=Neighbours.ADD_REMOVE, every_unit_contributes=every) == removed


@given(bounds, numbers, numbers)
def test_one_person_moves_a_sum_by_no_more_than_the_sensitivity(pair, value, other):
    grain = column_grain(lower=pair[0], upper=pair[1], whole=False)
    here, there = grain.to_grains(value), grain.to_grains(other)
    assert abs(here) <= grain.sum_sensitivity(neighbours=Neighbours.ADD_REMOVE, every_unit_contributes=True)
    assert abs(here - there) <= grain.sum_sensitivity(neighbours=Neighbours.CHANGE_ONE, every_unit_contributes=True)


@pytest.mark.parametrize(
    ("lower", "upper"),
    [(1, 1), (2, 1), (math.nan, 1), (0, math.inf), (None, 1), ("0", 1), (0, 1e200), (0, Decimal("1e999999999"))],
)
@pytest.mark.parametrize("whole", [True, False])
def test_bad_bounds_are_refused(lower, upper, whole):
    raised(DpsqlError, lambda: column_grain(lower=lower, upper=upper, whole=whole))


@pytest.mark.parametrize(("lower", "upper"), [(0.2, 0.8), (0.5, 1.5)])
def test_fewer_than_two_whole_numbers(lower, upper):
    with pytest.raises(BadParameter, match="fewer than two whole numbers"):
        column_grain(lower=lower, upper=upper, whole=True)


def test_a_grain_coarser_than_the_range():
    raised(BadParameter, lambda: Grain(lower=Fraction(0), upper=Fraction(1), size=Fraction(100)), match="too coarse")


def test_an_unknown_relation_is_refused():
    with pytest.raises(BadParameter):
        column_grain(lower=0, upper=1, whole=False).sum_sensitivity(
            neighbours="add_remove", every_unit_contributes=True
        )


def test_dates_are_no_numbers_and_long_doubles_are():
    grain = column_grain(lower=0, upper=100, whole=True)
    assert grain.to_grains(np.datetime64("2024-01-01T00:00:00", "ns")) is None
    assert grain.to_grains(np.timedelta64(5, "ns")) is None
    assert grain.to_grains(np.longdouble("7")) == 7
    assert grain.to_grains(np.longdouble("nan")) is None


@pytest.mark.parametrize(("lower", "upper"), [(0, 500), (-3, 10**8), (Fraction(1, 7), Fraction(3, 2)), (-(10**6), -1)])
def test_inside_one_person_a_double_does_not_move(lower, upper):
    grain = inner_grain(lower=lower, upper=upper)
    largest = max(abs(Fraction(lower)), abs(Fraction(upper)))
    assert largest / 2**85 < grain.size <= largest / 2**84
    rng = np.random.default_rng(7)
    for value in rng.uniform(float(lower), float(upper), 200):
        if abs(value) >= largest / 2**32:
            assert (Fraction(value) / grain.size).denominator == 1
    assert max(abs(grain.low), abs(grain.high)) * 2**40 < 2**126
