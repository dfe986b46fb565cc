"""Floats and exact numbers meet in the direction promised."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.privacy.rounding import exact, pad_up, round_down, round_up

RATIONALS = st.one_of(
    st.fractions(),
    st.builds(Fraction, st.floats(allow_nan=False, allow_infinity=False)),
    st.builds(Fraction, st.integers(-(10**330), 10**330), st.integers(1, 10**330)),
    st.builds(lambda n, e: Fraction(n) * Fraction(10) ** e, st.integers(-99, 99), st.integers(-400, 400)),
)
LARGEST = math.nextafter(math.inf, 0)


@given(value=RATIONALS)
def test_round_up_is_the_smallest_float_at_least_as_large(value):
    up = round_up(value)
    assert up == math.inf or Fraction(up) >= value
    below = math.nextafter(up, -math.inf)
    assert below == -math.inf or Fraction(below) < value


@given(value=RATIONALS)
def test_round_down_is_the_largest_float_at_most_as_large(value):
    down = round_down(value)
    assert down == -math.inf or Fraction(down) <= value
    above = math.nextafter(down, math.inf)
    assert above == math.inf or Fraction(above) > value


def test_beyond_the_largest_float():
    assert round_up(Fraction(10**400)) == math.inf
    assert round_up(Fraction(-(10**400))) == -LARGEST
    assert round_down(Fraction(10**400)) == LARGEST
    assert round_down(Fraction(-(10**400))) == -math.inf
    assert round_up(Fraction(1, 10**400)) == math.ulp(0)
    assert round_down(Fraction(1, 10**400)) == 0


@given(value=st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_stands_for_its_binary_value(value):
    assert exact(value) == Fraction(value)
    assert round_up(exact(value)) == round_down(exact(value)) == value


def test_a_decimal_stands_for_its_decimal_value():
    assert exact(Decimal("0.1")) == Fraction(1, 10) != exact(0.1)


@given(
    value=st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300), ulps=st.integers(1, 64)
)
def test_padding_moves_by_the_units_stated(value, ulps):
    assert Fraction(pad_up(value, ulps=ulps)) >= Fraction(value) + (ulps - 1) * Fraction(math.ulp(value))


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_infinity_needs_no_padding(value):
    assert pad_up(value, ulps=3) == value
