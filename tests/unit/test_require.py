"""No bad number passes a precondition, and every message names the parameter as the caller wrote it."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql import require
from dpsql.errors import BadParameter
from tests.kits.cases import cases
from tests.kits.refusals import raised

NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(-(10**400), 10**400),
    st.fractions(),
    st.decimals(-(10**40), 10**40),
    st.sampled_from(
        [Decimal(text) for text in ("NaN", "sNaN", "-NaN", "Infinity", "-Infinity", "1e400", "-0", "1e-400")]
    ),
)
NOT_NUMBERS = st.one_of(st.booleans(), st.text(max_size=3), st.none(), st.just(1j), st.just([1]), st.just(b"1"))

CHECKS = {  # name -> what the check lets through, said once more and differently
    "require_finite": lambda x: True,
    "require_positive": lambda x: x > 0,
    "require_seconds": lambda x: not (x <= 0 or x > 24 * 60 * 60),
    "require_non_negative": lambda x: not x < 0,
    "require_epsilon": lambda x: x > 0,
    "require_delta": lambda x: not (x < 0 or x >= 1),
    "require_open_unit": lambda x: x > 0 and x < 1,
    "require_probability": lambda x: not (x < 0 or x > 1),
}


def is_finite(value) -> bool:
    if isinstance(value, Decimal):
        return value.is_finite()
    try:
        return math.isfinite(value)
    except OverflowError:
        return True  # an integer beyond the largest float


def refusal_of(call, **arguments) -> BadParameter | None:
    try:
        call(**arguments)
    except BadParameter as refusal:
        return refusal
    return None


def accepts(check, value) -> bool:
    refusal = refusal_of(getattr(require, check), some_name=value)
    assert refusal is None or ("some_name=" in refusal.what and refusal.why and refusal.fix)
    return refusal is None


@pytest.mark.parametrize("check", CHECKS)
@given(value=NUMBERS)
def test_exactly_the_numbers_in_range_pass(check, value):
    assert accepts(check, value) == (is_finite(value) and CHECKS[check](value))


@pytest.mark.parametrize("check", [*CHECKS, "require_count"])
@given(value=NOT_NUMBERS)
def test_what_is_not_a_number_never_passes(check, value):
    assert not accepts(check, value)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity")])
def test_nan_and_infinity_never_pass(check, value):
    assert not accepts(check, value)


@cases(__file__, "check", "inside=", "outside=")
def test_the_edges(check, inside, outside):
    assert all(accepts(check, value) for value in inside)
    assert not any(accepts(check, value) for value in outside)


def test_several_parameters_at_once_name_the_bad_one():
    raised(BadParameter, lambda: require.require_positive(l1=1, scale=0), match="scale=0")


@given(value=NUMBERS, low=st.integers(-5, 5), width=st.integers(0, 5))
def test_counts_are_whole_numbers_in_range(value, low, width):
    refusal = refusal_of(require.require_count, at_least=low, at_most=low + width, k=value)
    assert (refusal is None) == (isinstance(value, int) and low <= value <= low + width)


def test_counts_stop_where_floats_stop_counting():
    require.require_count(n=2**53)
    raised(BadParameter, lambda: require.require_count(n=2**53 + 1))
    with pytest.raises(BadParameter):
        require.require_count(n=3.0)  # type: ignore[arg-type]
    error = raised(BadParameter, lambda: require.require_count(at_most=2**400, l1=1.0))
    assert error.what == "l1=1.0 must be a whole number from 1 to 2**400"
    assert "whole number here" in error.why


@given(lower=NUMBERS, upper=NUMBERS)
def test_bounds_are_finite_and_in_order(lower, upper):
    good = is_finite(lower) and is_finite(upper) and Fraction(lower) < Fraction(upper)
    assert (refusal_of(require.require_bounds, lower=lower, upper=upper) is None) == good


@given(values=st.lists(NUMBERS, max_size=4))
def test_number_lists(values):
    refusal = refusal_of(require.require_numbers, scores=values)
    assert refusal is None or "scores" in refusal.what
    assert (refusal is None) == (values != [] and all(map(is_finite, values)))


@pytest.mark.parametrize("value", [10**5000, Fraction(-1, 10**5000), Fraction(10**5000)], ids=["int", "tiny", "huge"])
def test_a_number_too_long_to_print_is_refused_like_any_other(value):
    assert not accepts("require_open_unit", value)
    assert refusal_of(require.require_bounds, lower=value, upper=value) is not None


@pytest.mark.parametrize(
    "values", ["12", {1, 2}, {1: 2}, (x for x in (1, 2)), 12, None], ids=lambda v: type(v).__name__
)
def test_what_is_not_a_list_is_no_list_of_numbers(values):
    assert refusal_of(require.require_numbers, scores=values) is not None


def test_an_array_is_a_list_of_numbers():
    assert refusal_of(require.require_numbers, scores=np.array([1.0, 2.0])) is None
    assert refusal_of(require.require_numbers, scores=np.array([1.0, math.nan])) is not None


@pytest.mark.parametrize("value", ["no", "", 0, 1, None, math.nan])
def test_a_flag_is_true_or_false_and_nothing_else(value):
    require.require_flag(some_name=True, other=False)
    refusal = refusal_of(require.require_flag, some_name=value)
    assert refusal is not None
    assert "some_name=" in refusal.what


@pytest.mark.parametrize(
    "value", [np.int8(100), np.uint8(3), np.int64(2**53 + 1), np.float32(0.5), np.longdouble("0.5")]
)
def test_numbers_that_wrap_or_round_in_silence_are_refused(value):
    """100 · 100 is 16 in an 8-bit integer; a price computed with it would be a refund."""
    for check in (require.require_positive, require.require_count, require.require_finite, require.require_epsilon):
        with pytest.raises(BadParameter):
            check(value=value)
    require.require_positive(value=np.float64(0.5))  # a float in every respect


@pytest.mark.parametrize(
    ("limit", "shown"), [(2**400, "2**400"), (-(2**400), "-2**400"), (2**53, "2**53"), (1024, "1024"), (0, "0")]
)
def test_limits_are_shown_as_they_are_read(limit, shown):
    error = raised(BadParameter, lambda: require.require_count(at_least=limit - 1, at_most=limit, l1=limit + 1))
    assert error.what.endswith(f" to {shown}")


@cases(__file__, "value=", "text")
def test_messages_quote_values_short(value, text):
    assert require.shown(value) == text


def test_a_precondition_in_words_quotes_the_public_values_it_names_and_no_other():
    require.require_that([1], "there must be a part")
    require.require_that(True, "below 1/2", gamma=Fraction(1, 4))
    with pytest.raises(BadParameter, match=r"^DP410  there must be a part\n"):
        require.require_that([], "there must be a part")
    with pytest.raises(BadParameter, match=r"p=0.25, q=0.5 must be in descending order\n"):
        require.require_that(False, "in descending order", p=Fraction(1, 4), q=0.5)
    require.require_type(Fraction, value=Fraction(1, 2))
    with pytest.raises(BadParameter, match="value must be of type Fraction, not str") as refused:
        require.require_type(Fraction, value="a secret")
    assert "secret" not in str(refused.value)
