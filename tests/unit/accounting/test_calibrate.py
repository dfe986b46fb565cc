"""Monotone inversion over the floats."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.accounting import adaptive, basic, zcdp
from dpsql.accounting.calibrate import largest_budget, largest_within, smallest_within
from dpsql.errors import BadParameter, DpsqlError
from dpsql.privacy.events import Approximate, Composed, DiscreteGaussian, Pure

F = Fraction


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


def test_budgets_are_the_largest_that_fit() -> None:
    """C103: the generic inverse agrees with the accountant it inverts."""

    def ten(x: Fraction) -> Composed:
        return Composed((Pure(epsilon=x),) * 10)

    assert largest_budget(ten, price=basic.epsilon_of, target_epsilon=1, delta=0) == pytest.approx(0.1)
    for price in (adaptive.epsilon_of, zcdp.epsilon_of):
        each = largest_budget(ten, price=price, target_epsilon=1, delta=1e-6)
        assert price(ten(F(each)), delta=1e-6) <= 1 < price(ten(F(each * (1 + 1e-9))), delta=1e-6)


def test_a_history_that_cannot_be_priced_says_why() -> None:
    with pytest.raises(BadParameter, match="delta"):
        largest_budget(
            lambda x: Approximate(epsilon=x, delta=F(1, 10)), price=basic.epsilon_of, target_epsilon=1, delta=0.01
        )
    with pytest.raises(DpsqlError):
        largest_budget(
            lambda x: DiscreteGaussian(sigma_squared=1 / x, l2_squared=F(1)),
            price=basic.epsilon_of,
            target_epsilon=1,
            delta=0.01,
        )


@settings(deadline=None)
@given(st.floats(), st.floats(), st.floats())
def test_bad_ranges_are_refused(limit: float, low: float, high: float) -> None:
    for search, price in ((largest_within, lambda x: x), (smallest_within, lambda x: -x)):
        try:
            found = search(price, limit=limit, low=low, high=high)
        except DpsqlError:
            continue
        assert price(found) <= limit
