"""Search for the smallest number that is enough. No chance involved."""

import math

from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import BadParameter
from dpsql.mechanisms.search import smallest_float, smallest_integer
from tests.kits.refusals import raised


@given(st.floats(0, 1e300, allow_subnormal=True), st.floats(1e-300, 1e300))
def test_smallest_float_finds_every_float(threshold, start):
    assert smallest_float(lambda x: x >= threshold, start=start) == threshold


def test_smallest_float_ends_where_no_float_is_enough():
    raised(BadParameter, lambda: smallest_float(lambda x: False))


@given(st.integers(0, 10**30), st.integers(0, 10**30))
def test_smallest_integer_finds_every_integer(threshold, guess):
    asked = []

    def enough(m):
        assert m >= 0
        asked.append(m)
        return m >= threshold

    assert smallest_integer(enough, guess=guess) == threshold
    assert len(asked) <= 2 * math.log2(abs(threshold - guess) + 2) + 6
