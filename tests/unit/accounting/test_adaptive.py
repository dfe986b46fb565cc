"""The minimum of three against 50 digits, and against the exact composition it must not undercut."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.accounting.adaptive import compose_adaptive, compose_adaptive_het, epsilon_of
from dpsql.accounting.basic import compose_basic
from dpsql.errors import BadParameter
from dpsql.privacy.events import Approximate, Event, Pure
from tests.kits.accountant_kit import AccountantKit
from tests.kits.digits import mp
from tests.kits.refusals import raised
from tests.oracles.accounting import heterogeneous_delta
from tests.oracles.curves import randomized_response_delta
from tests.vectors.errata import adaptive_delta_without_slack

F = Fraction


class TestAdaptive(AccountantKit):
    events = (Pure(epsilon=F(1, 10)), Approximate(epsilon=F(1, 3), delta=F(1, 10**6)), Pure(epsilon=F(1, 7)))

    def price(self, event: Event) -> float:
        return epsilon_of(event, delta=F(1, 1000))


def three(epsilons: list[float], slack: float) -> list[mpmath.mpf]:
    mean = mpmath.fsum(mp(e) * mpmath.tanh(mp(e) / 2) for e in epsilons)
    squares = mpmath.fsum(mp(e) ** 2 for e in epsilons)
    return [
        mpmath.fsum(mp(e) for e in epsilons),
        mean + mpmath.sqrt(2 * squares * mpmath.log(1 / mp(slack))),
        mean + mpmath.sqrt(2 * squares * mpmath.log(mpmath.e + mpmath.sqrt(squares) / mp(slack))),
    ]


@settings(deadline=None)
@given(st.lists(st.floats(1e-6, 20), min_size=1, max_size=10), st.floats(1e-200, 0.9))
def test_kov_theorem_3_5_rounds_up_by_a_hair(epsilons: list[float], slack: float) -> None:
    """C106: the three bounds of unequal releases, and which of them wins."""
    found = compose_adaptive_het(epsilons=epsilons, deltas=[0] * len(epsilons), slack_delta=slack)
    with mpmath.workdps(50):
        for got, true in zip(found.terms, three(epsilons, slack), strict=True):
            assert true * (1 - mpmath.mpf(10) ** -45) <= got <= true * (1 + mpmath.mpf(10) ** -14)
    assert found.epsilon == min(found.terms)
    assert found.terms[("sum", "ln_1_over_delta", "ln_e_plus").index(found.which)] == found.epsilon


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(0.01, 4), min_size=1, max_size=8), st.floats(1e-8, 0.9))
def test_each_of_the_three_holds_for_the_worst_releases(epsilons: list[float], slack: float) -> None:
    """C106: exact composition of randomized responses needs at most the slack at every one of the three."""
    found = compose_adaptive_het(epsilons=epsilons, deltas=[0] * len(epsilons), slack_delta=slack)
    for term in found.terms:
        needed = heterogeneous_delta(epsilons=epsilons, deltas=[0] * len(epsilons), epsilon_total=term)
        assert needed <= slack


@pytest.mark.parametrize("k", [1, 40, 400])
@pytest.mark.parametrize("slack", [1e-6, 0.05])
def test_kov_theorem_3_4_is_the_equal_case(k: int, slack: float) -> None:
    """C105: k equal releases, and their exact δ."""
    found = compose_adaptive(k=k, epsilon=0.02, delta=1e-10, slack_delta=slack)
    same = compose_adaptive_het(epsilons=[0.02] * k, deltas=[1e-10] * k, slack_delta=slack)
    assert found == same
    needed = randomized_response_delta(k=k, epsilon0=0.02, delta0=1e-10, epsilon=found.epsilon)
    assert needed <= found.delta * (1 + 1e-12)


def test_the_sum_spends_no_slack() -> None:
    """C105: where basic composition wins, δ is 1 − ∏(1 − δ_i); else the slack is in it."""
    few = compose_adaptive(k=2, epsilon=0.1, delta=1e-6, slack_delta=1e-5)
    assert few.which == "sum"
    assert few.delta == few.delta_without_slack
    assert F(few.delta) >= compose_basic(epsilons=[0.1] * 2, deltas=[1e-6] * 2).delta_product - F(1, 2**190)
    many = compose_adaptive(k=1000, epsilon=0.01, delta=1e-9, slack_delta=1e-5)
    assert many.which != "sum"
    assert many.delta == many.delta_with_slack == pytest.approx(1 - (1 - 1e-9) ** 1000 * (1 - 1e-5), rel=1e-9)


def test_the_misprinted_total_delta_forgets_the_slack() -> None:
    """C105: with another theorem's δ_i in the place of δ' the total claims less than is spent."""
    found = compose_adaptive(k=1000, epsilon=0.01, delta=1e-9, slack_delta=1e-5)
    assert adaptive_delta_without_slack(k=1000, delta=1e-9, delta_i=0.0) < found.delta


def test_a_huge_number_of_releases_is_answered_at_once() -> None:
    """C105: closed forms do not care about k."""
    found = compose_adaptive(k=10**12, epsilon=1e-6, delta=0, slack_delta=1e-6)
    assert found.which == "ln_1_over_delta"
    assert found.epsilon == pytest.approx(0.5 + math.sqrt(2 * math.log(1e6)), rel=1e-6)


def test_the_accountant_needs_a_delta_that_covers_its_events() -> None:
    raised(BadParameter, lambda: epsilon_of(Approximate(epsilon=F(1), delta=F(1, 100)), delta=F(1, 200)))
    assert epsilon_of(Approximate(epsilon=F(1), delta=F(1, 100)), delta=F(1, 100)) == 1
