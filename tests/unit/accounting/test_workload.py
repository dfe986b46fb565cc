"""Repeating a question, and how many questions fit."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.accounting.advanced import per_query_epsilon
from dpsql.accounting.workload import max_queries, repeat_cost

F = Fraction


@given(st.integers(1, 10**6), st.fractions(F(1, 1000), 10), st.fractions(F(1, 10), 100))
def test_repeating_and_averaging_loses_a_factor_m(m: int, epsilon: Fraction, l1: Fraction) -> None:
    """C112: m answers of ε cost mε; their mean has variance 2(l1/ε)²/m, one answer of mε has 2(l1/mε)²."""
    cost = repeat_cost(m=m, epsilon=epsilon, l1=l1)
    assert cost.total_epsilon == m * epsilon
    assert cost.variance_of_average == 2 * (l1 / epsilon) ** 2 / m
    assert cost.variance_of_single == 2 * (l1 / cost.total_epsilon) ** 2
    assert cost.variance_of_average == m * cost.variance_of_single


def test_nearly_n_squared_questions_have_non_trivial_answers() -> None:
    """C113: with n a hundred times larger, close to ten thousand times as many questions fit."""
    small = max_queries(n=10_000, epsilon=1, delta=1e-6, alpha=0.1, beta=0.05)
    large = max_queries(n=1_000_000, epsilon=1, delta=1e-6, alpha=0.1, beta=0.05)
    assert 2_000 < large / small < 10_000
    basic = max(k for k in range(1, 1000) if k * math.log(k / 0.05) <= 0.1 * 10_000)
    assert small > 3 * basic


@pytest.mark.parametrize("n", [300, 5_000, 100_000])
def test_the_number_is_the_largest_that_fits(n: int) -> None:
    """C113: at k the error bound ln(k/β)/ε₀ is within αn, at k + 1 percent it is not; by the independent inverse."""
    k = max_queries(n=n, epsilon=1, delta=1e-6, alpha=0.1, beta=0.05)
    assert k >= 1

    def error(questions: int) -> float:
        each = per_query_epsilon(k=questions, total_epsilon=1, delta_prime=1e-6)
        return math.log(questions / 0.05) / each.best

    assert error(k) <= 0.1 * n * (1 + 1e-9)
    assert error(k + k // 100 + 1) > 0.1 * n


def test_a_tiny_table_answers_nothing() -> None:
    """C113: 0 where not even one question is accurate enough."""
    assert max_queries(n=1, epsilon=0.01, delta=1e-6, alpha=0.1, beta=0.05) == 0
