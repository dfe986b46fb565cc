"""Monotone inversion over the floats."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.accounting.calibrate import largest_within, smallest_within
from dpsql.errors import DpsqlError


@given(st.floats(0, 1e6))
def test_the_largest_float_below_a_limit(limit: float) -> None:
    found = largest_within(lambda x: x * x, limit=limit, low=0.0, high=1e9)
    assert found * found <= limit < math.nextafter(found, math.inf) ** 2


@given(st.floats(1e-9, 1))
def test_the_smallest_float_below_a_limit(limit: float) -> None:
    found = smallest_within(lambda x: math.exp(-x), limit=limit, low=0.0, high=100.0)
    assert math.exp(-found) <= limit
    assert found == 0 or math.exp(-math.nextafter(found, 0)) > limit


def test_ends_are_returned_where_they_fit() -> None:
    assert largest_within(lambda x: x, limit=5.0, low=0.0, high=3.0) == 3.0
    assert smallest_within(lambda x: -x, limit=0.0, low=0.0, high=3.0) == 0.0


@settings(deadline=None)
@given(st.floats(), st.floats(), st.floats())
def test_bad_ranges_are_refused(limit: float, low: float, high: float) -> None:
    for search, price in ((largest_within, lambda x: x), (smallest_within, lambda x: -x)):
        try:
            found = search(price, limit=limit, low=low, high=high)
        except DpsqlError:
            continue
        assert price(found) <= limit
