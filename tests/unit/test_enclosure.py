"""Every enclosure contains the true value, computed by mpmath with far more digits, and is as narrow as promised."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.enclosure import exp_bounds, exp_negative_fixed, log_bounds, sqrt_bounds
from dpsql.errors import BadParameter

POSITIVE = st.one_of(
    st.fractions(min_value=Fraction(1, 10**12), max_value=10**3, max_denominator=10**12),
    st.builds(Fraction, st.floats(min_value=1e-300, max_value=1e300)),
    st.builds(Fraction, st.integers(1, 10**40), st.integers(1, 10**40)),
)
EXPONENTS = st.one_of(
    st.fractions(min_value=0, max_value=200, max_denominator=10**9),
    st.builds(Fraction, st.floats(min_value=1e-320, max_value=700)),
    st.just(Fraction(0)),
)
BITS = st.sampled_from([8, 53, 64, 200])


def mp(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


@given(x=EXPONENTS, bits=BITS)
def test_exp_of_a_negative_number_lies_between_two_close_integers(x, bits):
    low, high = exp_negative_fixed(x, bits=bits)
    with mpmath.workdps(500):
        true = mpmath.exp(-mp(x)) * 2**bits
        assert low <= true <= high
    assert 0 <= high - low <= 2


@given(x=st.builds(Fraction, st.floats(min_value=1e3, max_value=1e308)))
def test_exp_of_a_very_negative_number_is_next_to_nothing(x):
    low, high = exp_negative_fixed(x, bits=64)
    assert low == 0
    assert 0 <= high <= 2


@given(x=EXPONENTS, negative=st.booleans(), bits=BITS)
def test_exp_is_enclosed_with_the_relative_width_promised(x, negative, bits):
    x = -x if negative else x
    low, high = exp_bounds(x, bits=bits)
    with mpmath.workdps(500):
        true = mpmath.exp(mp(x))
        assert mp(low) <= true <= mp(high)
        assert mp(high - low) <= true / 2**bits


@given(x=POSITIVE, bits=BITS)
def test_log_is_enclosed_with_the_absolute_width_promised(x, bits):
    low, high = log_bounds(x, bits=bits)
    with mpmath.workdps(500):
        assert mp(low) <= mpmath.log(mp(x)) <= mp(high)
    assert high - low <= Fraction(1, 2**bits)


@given(x=POSITIVE, bits=BITS)
def test_log_near_one(x, bits):
    near = 1 + Fraction(1, 10**30) * x / (1 + x)
    low, high = log_bounds(near, bits=bits)
    with mpmath.workdps(500):
        assert mp(low) <= mpmath.log(mp(near)) <= mp(high)


@given(x=st.one_of(POSITIVE, st.just(Fraction(0))), bits=BITS)
def test_sqrt_is_enclosed_with_the_relative_width_promised(x, bits):
    low, high = sqrt_bounds(x, bits=bits)
    assert low * low <= x <= high * high
    assert high - low <= high / 2**bits


def test_a_rational_root_is_found_exactly():
    assert sqrt_bounds(Fraction(9, 16)) == (Fraction(3, 4), Fraction(3, 4))


@pytest.mark.parametrize(
    "call",
    [
        lambda: exp_negative_fixed(Fraction(-1, 10), bits=64),
        lambda: exp_bounds(Fraction(10**6)),
        lambda: exp_bounds(Fraction(-(10**300))),
        lambda: log_bounds(Fraction(0)),
        lambda: log_bounds(Fraction(-1)),
        lambda: sqrt_bounds(Fraction(-1)),
    ],
)
def test_outside_its_range_nothing_is_computed(call):
    with pytest.raises(BadParameter):
        call()
