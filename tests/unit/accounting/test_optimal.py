"""Optimal homogeneous composition against exact enumeration of k-fold randomized response at high precision."""

import math
import time
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.accounting.advanced import compose_advanced
from dpsql.accounting.optimal import LARGEST_K, _Response, _theta, _whole, compose_optimal, optimal_epsilon
from dpsql.errors import BadParameter
from tests.kits.digits import mp
from tests.kits.refusals import raised
from tests.oracles.curves import randomized_response_delta

F = Fraction


def optimal_delta(*, k: int, epsilon: float, delta: float, epsilon_total: float) -> float:
    """The curve that `optimal_epsilon` inverts, at one ε."""
    return _whole(k, F(delta), _Response(k, F(epsilon)).delta(_theta(k, F(epsilon), F(epsilon_total))))


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 60), st.floats(1e-6, 20), st.floats(0, 1))
def test_kov_curve_is_the_hockey_stick_of_randomized_response(k: int, epsilon: float, share: float) -> None:
    """C104: the exact curve, rounded up by a hair."""
    total = share * k * epsilon
    with mpmath.workdps(120):
        true = randomized_response_delta(k=k, epsilon0=epsilon, epsilon=total)
        got = optimal_delta(k=k, epsilon=epsilon, delta=0, epsilon_total=total)
        assert true * (1 - mpmath.mpf(10) ** -60) <= got <= true * (1 + mpmath.mpf(10) ** -11) + mpmath.mpf(10) ** -280


@pytest.mark.parametrize(("k", "epsilon"), [(1, 1.0), (4, 0.5), (9, 2.0), (30, 0.1)])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.01])
def test_kov_theorem_3_3_by_its_own_formula(k: int, epsilon: float, delta: float) -> None:
    """C104: ε_i = (k − 2i)ε, δ_i and the total of Theorem 3.3, at every i."""
    for i in range(k // 2 + 1):
        point = compose_optimal(k=k, epsilon=epsilon, delta=delta, i=i)
        with mpmath.workdps(80):
            e = mp(epsilon)
            true = (
                mpmath.fsum(
                    mpmath.binomial(k, lies) * (mpmath.exp((k - lies) * e) - mpmath.exp((k - 2 * i + lies) * e))
                    for lies in range(i)
                )
                / (1 + mpmath.exp(e)) ** k
            )
            total = 1 - (1 - mp(delta)) ** k * (1 - true)
            assert true * (1 - mpmath.mpf(10) ** -40) <= point.delta_i <= true * (1 + mpmath.mpf(10) ** -12)
            assert total <= point.delta <= total * (1 + mpmath.mpf(10) ** -12) + mpmath.mpf(10) ** -300
        assert point.epsilon >= F(epsilon) * (k - 2 * i)


@pytest.mark.parametrize(
    ("k", "epsilon", "delta", "target"), [(30, 0.2, 1e-7, 1e-5), (101, 0.1, 0.0, 1e-6), (7, 3.0, 0.0, 0.1)]
)
def test_the_smallest_epsilon_for_a_target(k: int, epsilon: float, delta: float, target: float) -> None:
    """C104: on the exact curve; the value fits, a millionth less does not."""
    exactly = optimal_epsilon(k=k, epsilon=epsilon, delta=delta, target_delta=target)
    assert optimal_delta(k=k, epsilon=epsilon, delta=delta, epsilon_total=exactly) <= target
    assert optimal_delta(k=k, epsilon=epsilon, delta=delta, epsilon_total=exactly * (1 - 1e-6)) > target


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 300), st.floats(0.001, 3), st.floats(1e-9, 0.3))
def test_optimal_is_never_worse_than_advanced_or_basic(k: int, epsilon: float, slack: float) -> None:
    best = optimal_epsilon(k=k, epsilon=epsilon, delta=0, target_delta=slack)
    bound = compose_advanced(k=k, epsilon=epsilon, delta=0, delta_prime=slack)
    assert best <= bound.best * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("deviations", [0.5, 6, 20])
def test_many_releases_round_up_too(epsilon: float, deviations: float) -> None:
    """C104: k = 3000, from the middle of the curve to its far tail."""
    k = 3000
    total = min(0.999 * k * epsilon, k * epsilon * math.tanh(epsilon / 2) + deviations * epsilon * math.sqrt(k))
    got = optimal_delta(k=k, epsilon=epsilon, delta=0, epsilon_total=total)
    with mpmath.workdps(60):
        true = randomized_response_delta(k=k, epsilon0=epsilon, epsilon=total)
        assert true <= got <= true * (1 + mpmath.mpf(10) ** -10) + mpmath.mpf(10) ** -280


def test_a_target_that_does_not_cover_the_deltas_is_refused() -> None:
    raised(BadParameter, lambda: optimal_epsilon(k=100, epsilon=0.1, delta=1e-3, target_delta=1e-3))
    assert optimal_epsilon(k=3, epsilon=1, delta=0, target_delta=0) == pytest.approx(3)


def test_large_k_is_quick_and_huge_k_is_refused() -> None:
    start = time.perf_counter()
    assert 4 < optimal_epsilon(k=LARGEST_K, epsilon=0.001, delta=0, target_delta=1e-5) < 5
    assert time.perf_counter() - start < 10
    for k in (LARGEST_K + 1, 10**12):
        with pytest.raises(BadParameter):
            optimal_epsilon(k=k, epsilon=0.1, delta=0, target_delta=0.1)
