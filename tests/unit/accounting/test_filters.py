"""Filters: admitted exactly up to their limits, and sound against adaptive choices."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.accounting.filters import AdvancedFilter, BasicFilter, RdpFilter, ZcdpFilter, epsilon_of
from dpsql.accounting.rdp import rdp_at
from dpsql.errors import BadParameter, BudgetExhausted, UnsupportedEvent
from dpsql.privacy.events import Approximate, DiscreteGaussian, Event, Pure
from tests.kits.accountant_kit import AccountantKit
from tests.kits.digits import mp
from tests.kits.refusals import raised

F = Fraction


class TestAdvancedFilter(AccountantKit):
    events = (Pure(epsilon=F(1, 10)), Approximate(epsilon=F(1, 3), delta=F(1, 10**6)), Pure(epsilon=F(1, 7)))

    def price(self, event: Event) -> float:
        return epsilon_of(event, delta=F(1, 1000))


@given(st.lists(st.floats(1e-6, 5), min_size=1, max_size=12), st.floats(1e-200, 0.9))
def test_whitehouse_advanced_filter_is_the_zcdp_conversion(epsilons: list[float], slack: float) -> None:
    """sqrt(2 ln(1/δ') Σε²) + ½ Σε² is ρ + 2 sqrt(ρ ln(1/δ')) at ρ = ½ Σε²: one formula, two papers."""
    from dpsql.privacy.events import Composed

    history = Composed(tuple(Pure(epsilon=F(e)) for e in epsilons))
    got = epsilon_of(history, delta=slack)
    with mpmath.workdps(50):
        squares = mpmath.fsum(mp(e) ** 2 for e in epsilons)
        true = mpmath.sqrt(2 * mpmath.log(1 / mp(slack)) * squares) + squares / 2
        assert true <= got <= true * (1 + mpmath.mpf(10) ** -15)


def test_the_advanced_filter_stops_exactly_where_its_formula_does() -> None:
    limit = AdvancedFilter(epsilon=F(2), delta=F(1, 10**6), delta_prime=F(1, 10**6))
    step, count = Pure(epsilon=F(1, 10)), 0
    while limit.admits(step):
        limit, count = limit.charged(step), count + 1
    formula = [math.sqrt(2 * math.log(1e6) * k * 0.01) + k * 0.005 for k in (count, count + 1)]
    assert formula[0] <= 2 < formula[1]
    raised(BudgetExhausted, lambda: limit.charged(step))


def worst(
    limit: AdvancedFilter | ZcdpFilter,
    epsilon: float,
    menu: dict[Pure, float],
    depth: int,
    p: float = 1.0,
    q: float = 1.0,
) -> float:
    """The largest Σ (P − e^ε Q)₊ over all adaptive choices among randomized responses."""
    best = max(0.0, p - math.exp(epsilon) * q)
    if depth == 0:
        return best
    for event, size in menu.items():
        if limit.admits(event):
            truth, after = 1 / (1 + math.exp(-size)), limit.charged(event)
            best = max(
                best,
                worst(after, epsilon, menu, depth - 1, p * truth, q * (1 - truth))
                + worst(after, epsilon, menu, depth - 1, p * (1 - truth), q * truth),
            )
    return best


@pytest.mark.parametrize("slack", [0.3, 0.05])
def test_no_adaptive_analyst_beats_the_advanced_filter(slack: float) -> None:
    """Sizes chosen after every answer: the δ needed at ε stays within δ'."""
    limit = AdvancedFilter(epsilon=F(1), delta=F(0), delta_prime=F(slack))
    menu = {Pure(epsilon=F(1, 5)): 0.2, Pure(epsilon=F(2, 5)): 0.4}
    assert worst(limit, 1.0, menu, depth=7) <= slack


def test_a_filter_without_the_square_root_term_is_caught() -> None:
    """The search can fail: ½ Σε² alone is not enough."""
    limit = ZcdpFilter(rho=F(1), delta=F(0))  # converts to ρ + 2 sqrt(ρ ln(1/δ)) > 1 at any δ
    menu = {Pure(epsilon=F(2, 5)): 0.4}
    assert worst(limit, 1.0, menu, depth=11) > 0.05


def test_basic_filter_is_exact() -> None:
    limit = BasicFilter(epsilon=F(1), delta=F(1, 10))
    limit = limit.charged(Approximate(epsilon=F(1, 2), delta=F(1, 20)))
    assert limit.admits(Approximate(epsilon=F(1, 2), delta=F(1, 20)))
    assert not limit.admits(Pure(epsilon=F(1, 2) + F(1, 10**9)))
    assert not limit.admits(Approximate(epsilon=F(1, 10), delta=F(1, 10)))
    raised(BudgetExhausted, lambda: limit.charged(Pure(epsilon=F(1))))
    raised(UnsupportedEvent, lambda: limit.admits(DiscreteGaussian(sigma_squared=F(1), l2_squared=F(1))))


def test_zcdp_filter_is_exact() -> None:
    limit = ZcdpFilter(rho=F(1), delta=F(1, 100))
    half = DiscreteGaussian(sigma_squared=F(1), l2_squared=F(1))
    limit = limit.charged(half).charged(half)
    assert not limit.admits(Pure(epsilon=F(1, 10**6)))
    assert not ZcdpFilter(rho=F(1), delta=F(0)).admits(Approximate(epsilon=F(1), delta=F(1, 100)))
    raised(BudgetExhausted, lambda: limit.charged(half))


def test_rdp_filter_adds_up_at_one_order() -> None:
    event = Pure(epsilon=F(1, 2))
    price = rdp_at(event, order=8.0).rdp
    assert price is not None
    limit = RdpFilter(order=8.0, rdp=3 * price, delta=F(0))
    for _ in range(3):
        limit = limit.charged(event)
    assert not limit.admits(event)
    raised(BudgetExhausted, lambda: limit.charged(event))
    assert not RdpFilter(order=8.0, rdp=F(100), delta=F(0)).admits(Approximate(epsilon=F(1), delta=F(1, 9)))


@pytest.mark.parametrize("order", [0.5, 1.0, -2.0, 5000.0, float("nan")])
def test_an_order_without_a_theorem_is_refused(order: float) -> None:
    raised(BadParameter, lambda: RdpFilter(order=order, rdp=F(1), delta=F(0)))
    raised(BadParameter, lambda: rdp_at(DiscreteGaussian(sigma_squared=F(1), l2_squared=F(1)), order=order))


def test_more_delta_than_offered_is_refused() -> None:
    raised(BadParameter, lambda: epsilon_of(Approximate(epsilon=F(1), delta=F(1, 100)), delta=F(1, 100)))
