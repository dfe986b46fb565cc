"""Sixty digits and the directions in which they leave. No chance involved."""

from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import BadParameter
from dpsql.privacy import digits
from tests.kits.cases import cases
from tests.kits.refusals import raised


@pytest.fixture(autouse=True, scope="module")
def many_digits():
    with mpmath.workdps(90):
        yield


def mp(value):
    return mpmath.mpf(str(value)) if isinstance(value, Decimal) else mpmath.mpf(value.numerator) / value.denominator


@pytest.mark.parametrize("places", [60, 90, 200])
@pytest.mark.parametrize("x", ["0", "1e-30", "0.3", "1", "4", "5.47", "5.48", "6.7", "9.9", "10.1", "38", "1e4"])
def test_mills_ratio_to_all_digits(x, places):
    with mpmath.workdps(places + 30), digits.working(places):
        argument = mpmath.mpf(x)
        density = mpmath.exp(-(argument**2) / 2) / mpmath.sqrt(2 * mpmath.pi)
        true = mpmath.erfc(argument / mpmath.sqrt(2)) / 2 / density
        assert abs(mp(digits.mills_ratio(Decimal(x))) / true - 1) < mpmath.mpf(10) ** (5 - places)


@given(st.floats(-37, 37))
def test_normal_tail_on_both_sides(x):
    with digits.working():
        got = mp(digits.normal_tail(Decimal(x)))
    assert abs(got / mpmath.ncdf(-mpmath.mpf(x)) - 1) < mpmath.mpf(10) ** -50


@pytest.mark.parametrize("places", [60, 75])
def test_pi(places):
    with digits.working(places):
        assert abs(mp(digits.pi()) / mpmath.pi - 1) < mpmath.mpf(10) ** (1 - places)


@given(st.decimals(min_value=0, allow_nan=False, allow_infinity=False, places=60))
def test_floats_lie_on_the_promised_side(value):
    assert Fraction(digits.float_below(value)) <= Fraction(value) <= Fraction(digits.float_above(value))


@cases(__file__, "value", "below=", "above=")
def test_floats_at_the_ends(value, below, above):
    assert (digits.float_below(Decimal(value)), digits.float_above(Decimal(value))) == (below, above)


@given(st.fractions(Fraction(1, 10**30), Fraction(10**30 - 1, 10**30)), st.integers(1, 2**53))
def test_share_of_failure(beta, outputs):
    """Independent events: all of them succeed with probability exactly 1 - β."""
    share = mp(digits.share_of_failure(beta=beta, outputs=outputs))
    with mpmath.workdps(150):
        true = -mpmath.expm1(mpmath.log1p(-mp(beta)) / outputs)
        assert abs(share / true - 1) < mpmath.mpf(10) ** -40
        assert share >= mp(beta) / outputs * (1 - mpmath.mpf(10) ** -40)


@given(st.fractions(Fraction(1, 10**40), Fraction(10**40 - 1, 10**40)))
def test_log_of_inverse(probability):
    with mpmath.workdps(150):
        true = -mpmath.log(mp(probability))
        assert abs(mp(digits.log_of_inverse(probability)) / true - 1) < mpmath.mpf(10) ** -40


@given(st.one_of(st.fractions(min_value=0), st.integers(0, 2000).map(lambda n: Fraction(2**n - 1, 1))))
def test_digits_of_is_enough(value):
    assert value < 10 ** digits.digits_of(value)


@pytest.mark.parametrize("size", [Fraction(2) ** 502, -(2**502), Fraction(1, 2**502), Decimal("1e200")])
def test_sizes_out_of_reach_are_refused(size):
    raised(BadParameter, lambda: digits.require_in_reach(size=size), match="size is out of reach")


def test_sizes_in_reach_are_accepted():
    digits.require_in_reach(zero=0, small=1e-150, large=-1e150)
