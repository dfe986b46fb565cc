"""Advanced composition against 50-digit evaluations, and its inverses against the theorem they invert."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.accounting.advanced import (
    compose_advanced,
    corollary_epsilon,
    drift,
    epsilon_of,
    per_query_epsilon,
    tradeoff_table,
)
from dpsql.errors import BadParameter
from dpsql.privacy.events import Approximate, Composed, Event, Pure
from tests.kits.accountant_kit import AccountantKit
from tests.kits.digits import mp
from tests.kits.refusals import raised
from tests.oracles.curves import randomized_response_delta
from tests.vectors.errata import advanced_without_epsilon, per_query_without_two

F = Fraction
counts = st.one_of(st.integers(1, 1000), st.sampled_from([10**6, 10**12, 2**53]))
epsilons = st.floats(1e-9, 50)
slacks = st.floats(1e-300, 0.99)


class TestAdvanced(AccountantKit):
    events = (Pure(epsilon=F(1, 10)), Approximate(epsilon=F(1, 3), delta=F(1, 10**6)), Pure(epsilon=F(1, 7)))

    def price(self, event: Event) -> float:
        return epsilon_of(event, delta=F(1, 1000))


@given(counts, epsilons, slacks)
def test_dwork_roth_3_20_rounds_up_by_a_hair(k: int, epsilon: float, delta_prime: float) -> None:
    """C102: with the factor ε on the square root, and its tight variant, against 50 digits."""
    total = compose_advanced(k=k, epsilon=epsilon, delta=0, delta_prime=delta_prime)
    with mpmath.workdps(50):
        e, d = mp(epsilon), mp(delta_prime)
        deviation = e * mpmath.sqrt(2 * k * mpmath.log(1 / d))
        plain = deviation + k * e * mpmath.expm1(e)
        tight = deviation + k * e * mpmath.tanh(e / 2)
        assert plain <= total.dwork_roth <= plain * (1 + mpmath.mpf(10) ** -14)
        assert tight <= total.tight <= tight * (1 + mpmath.mpf(10) ** -14)
    assert total.tight <= total.dwork_roth
    assert total.basic == k * F(epsilon)


def test_the_total_delta_is_k_delta_plus_the_slack() -> None:
    """C102: exactly."""
    total = compose_advanced(k=7, epsilon=0.1, delta=F(1, 10**6), delta_prime=F(1, 10**5))
    assert total.delta == F(7, 10**6) + F(1, 10**5)


@pytest.mark.parametrize(("k", "epsilon", "delta_prime"), [(10, 0.3, 1e-3), (50, 0.1, 1e-6), (5, 2.0, 1e-2)])
def test_the_theorem_covers_the_worst_releases(k: int, epsilon: float, delta_prime: float) -> None:
    """C102: k randomized responses, exactly, need at most δ' at the tight ε; without the factor ε they need more."""
    total = compose_advanced(k=k, epsilon=epsilon, delta=0, delta_prime=delta_prime)
    assert randomized_response_delta(k=k, epsilon0=epsilon, epsilon=total.tight) <= delta_prime


def test_the_misprint_without_epsilon_understates_the_loss() -> None:
    """C102: above ε = 1 the misprinted bound falls below the theorem, and randomized response breaks it."""
    misprint = advanced_without_epsilon(k=30, epsilon=2.0, delta_prime=1e-5)
    assert misprint < compose_advanced(k=30, epsilon=2.0, delta=0, delta_prime=1e-5).dwork_roth
    # Far out, where e^ε is not in the way: only the square root matters.
    root_only = math.sqrt(2 * 30 * math.log(1e5)) + 30 * 2.0 * math.tanh(1.0)
    tight = compose_advanced(k=30, epsilon=2.0, delta=0, delta_prime=1e-5).tight
    assert root_only < tight


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 10**6), st.floats(0.01, 20), st.floats(1e-12, 0.5))
def test_the_inverses_are_the_largest_that_fit(k: int, total: float, delta_prime: float) -> None:
    """C103: put back into the theorem they fit; a millionth more does not."""
    try:
        found = per_query_epsilon(k=k, total_epsilon=total, delta_prime=delta_prime)
    except BadParameter:
        raised(BadParameter, lambda: corollary_epsilon(k=k, total_epsilon=total, delta_prime=delta_prime))
        return
    for value, name in ((found.dwork_roth, "dwork_roth"), (found.tight, "tight")):
        here = compose_advanced(k=k, epsilon=value, delta=0, delta_prime=delta_prime)
        above = compose_advanced(k=k, epsilon=value * (1 + 1e-6), delta=0, delta_prime=delta_prime)
        assert getattr(here, name) <= total < getattr(above, name)
    assert k * F(found.basic) <= F(total)
    assert found.corollary <= found.dwork_roth
    assert found.best == max(found.dwork_roth, found.tight, found.basic)


def test_dwork_roth_corollary_3_21() -> None:
    """C103: ε'/(2 sqrt(2k ln(1/δ'))), rounded down."""
    with mpmath.workdps(50):
        true = mp(0.5) / (2 * mpmath.sqrt(20 * mpmath.log(1 / mp(1e-5))))
        got = corollary_epsilon(k=10, total_epsilon=0.5, delta_prime=1e-5)
        assert true * (1 - mpmath.mpf(10) ** -15) <= got <= true


def test_the_misprinted_inverse_is_not_enough() -> None:
    """C103: from δ' = 0.35 on it buys more than the theorem sells."""
    each = per_query_without_two(k=30, total_epsilon=0.99, delta_prime=0.5)
    assert compose_advanced(k=30, epsilon=each, delta=0, delta_prime=0.5).dwork_roth > 0.99
    with pytest.raises(BadParameter):
        corollary_epsilon(k=1, total_epsilon=0.9, delta_prime=0.99)  # here not even the right closed form is


def test_the_trade_off_table_shows_what_a_smaller_slack_costs() -> None:
    """C111: ε falls as δ' grows; where the sum wins, no slack is spent."""
    rows = tradeoff_table(k=100, epsilon=0.1, delta=1e-9, delta_primes=[1e-12, 1e-9, 1e-6, 1e-3])
    assert [row.epsilon for row in rows] == sorted((row.epsilon for row in rows), reverse=True)
    assert all(row.theorem == "advanced" and row.delta_total > 1e-7 for row in rows)
    for row in rows:
        assert row.epsilon == compose_advanced(k=100, epsilon=0.1, delta=1e-9, delta_prime=row.delta_prime).best
    (few,) = tradeoff_table(k=3, epsilon=0.1, delta=1e-9, delta_primes=[1e-6])
    assert few.theorem == "basic"
    assert few.delta_total == pytest.approx(3e-9)


@given(st.floats(1e-15, 200))
def test_the_mean_loss_is_epsilon_tanh_half_epsilon(epsilon: float) -> None:
    with mpmath.workdps(120):
        true = mp(epsilon) * mpmath.tanh(mp(epsilon) / 2)
        assert true <= mp(drift(F(epsilon))) <= true * (1 + mpmath.mpf(10) ** -12) + mpmath.mpf(2) ** -90


def test_one_release_inside_a_history_is_the_same() -> None:
    history = Composed((Pure(epsilon=F(1, 10)),) * 100)
    assert epsilon_of(history, delta=1e-6) == compose_advanced(k=100, epsilon=F(1, 10), delta=0, delta_prime=1e-6).tight
