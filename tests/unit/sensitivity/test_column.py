"""Declared ranges: clamp or reject, and no column without limits."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import BadParameter, DpsqlError, Unbounded
from dpsql.sensitivity.aggregates import Column, Outside
from tests.kits.refusals import raised

SALARY = (10_000, 100_000)
ANY = st.one_of(
    st.integers(), st.floats(), st.none(), st.booleans(), st.text(max_size=3), st.fractions(), st.decimals()
)


def test_clamp_and_reject():
    """C067: a value outside the declared range is clamped or rejected, as the owner said."""
    clamp, reject = (Column(bounds=SALARY, outside=outside) for outside in (Outside.CLAMP, Outside.REJECT))
    assert clamp.admit_all([150_000, 15_000, 5, 10_000, 100_000]) == (100_000, 15_000, 10_000, 10_000, 100_000)
    assert reject.admit_all([15_000, 10_000, 100_000]) == (15_000, 10_000, 100_000)
    for value in (150_000, 9_999.999, Decimal("100000.01")):
        with pytest.raises(BadParameter) as refusal:
            reject.admit(value)
        assert str(value) not in str(refusal.value), "a refusal must not repeat a private value"


def test_values_are_exact():
    column = Column(bounds=(Decimal("0.1"), 1), outside=Outside.CLAMP)
    assert column.lower == Fraction(1, 10)
    assert column.width == Fraction(9, 10)
    assert column.admit(0.1) == Fraction(0.1)  # the binary number, just above one tenth
    assert column.admit(Fraction(1, 11)) == Fraction(1, 10)


@pytest.mark.parametrize(
    "bounds", [(None, 1), (0, None), (None, None), (-math.inf, 1), (0, math.inf), (Decimal("-Infinity"), 0)]
)
def test_a_side_without_limit_is_unbounded(bounds):
    raised(Unbounded, lambda: Column(bounds=bounds, outside=Outside.CLAMP))


@pytest.mark.parametrize(
    "bounds", [(1, 0), (1, 1), (math.nan, 1), (0, math.nan), ("a", 1), (0, True), (0,), 3, (0, Decimal("sNaN"))]
)
def test_bad_bounds_are_refused(bounds):
    raised(BadParameter, lambda: Column(bounds=bounds, outside=Outside.CLAMP))


@pytest.mark.parametrize("outside", ["clamp", None, True])
def test_the_choice_is_explicit(outside):
    raised(BadParameter, lambda: Column(bounds=(0, 1), outside=outside))


@given(st.tuples(ANY, ANY), ANY, st.sampled_from(Outside))
def test_any_input_is_admitted_inside_or_refused(bounds, value, outside):
    try:
        column = Column(bounds=bounds, outside=outside)
        admitted = column.admit(value)
    except DpsqlError:
        return
    assert column.lower <= admitted <= column.upper
    if column.lower <= value <= column.upper:
        assert admitted == value
