"""Basic composition: exact sums, the sharper product of δ, and refusals."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.accounting.basic import compose_basic, epsilon_of, survival
from dpsql.accounting.spend import spends
from dpsql.errors import BadParameter, UnsupportedEvent
from dpsql.privacy.events import Approximate, Composed, DiscreteGaussian, Event, PoissonSampled, Pure
from tests.kits.accountant_kit import AccountantKit
from tests.kits.refusals import raised

F = Fraction


class TestBasic(AccountantKit):
    events = (
        Pure(epsilon=F(1, 10)),
        Approximate(epsilon=F(1, 3), delta=F(1, 10**6)),
        PoissonSampled(event=Pure(epsilon=F(1)), rate=F(1, 10)),
    )
    tolerance = 1e-15

    def price(self, event: Event) -> float:
        return epsilon_of(event, delta=F(1, 1000))


def test_dwork_roth_3_14_sequential_composition() -> None:
    """C098: pure losses add up exactly."""
    total = compose_basic(epsilons=[F(1, 10), F(2, 10), F(3, 10)], deltas=[0, 0, 0])
    assert (total.epsilon, total.delta_sum, total.delta_product) == (F(6, 10), 0, 0)


def test_k_fold_composition_of_approximate_releases() -> None:
    """C099: (Σε, Σδ), and δ = 1 − ∏(1 − δ_i), which is never larger."""
    deltas = [F(1, 10), F(1, 5), F(1, 4)]
    total = compose_basic(epsilons=[1, 2, 3], deltas=deltas)
    assert total.epsilon == 6
    assert total.delta_sum == F(11, 20)
    true = 1 - F(9, 10) * F(4, 5) * F(3, 4)
    assert true <= total.delta_product <= true + F(1, 2**200)


def test_both_losses_are_attained_by_confessing_randomized_response() -> None:
    """C099: the joint law of two such releases needs exactly this (ε, δ)."""
    epsilon, delta = mpmath.mpf(1), mpmath.mpf("0.1")
    truth = mpmath.exp(epsilon) / (1 + mpmath.exp(epsilon))
    one_p = {"yes": delta, 1: (1 - delta) * truth, 0: (1 - delta) * (1 - truth)}
    one_q = {"yes": mpmath.mpf(0), 1: (1 - delta) * (1 - truth), 0: (1 - delta) * truth}
    needed = mpmath.fsum(
        max(one_p[a] * one_p[b] - mpmath.exp(2) * one_q[a] * one_q[b], mpmath.mpf(0)) for a in one_p for b in one_p
    )
    total = compose_basic(epsilons=[1, 1], deltas=[0.1, 0.1])
    assert abs(needed - mpmath.mpf(float(total.delta_product))) < 1e-15


@given(st.lists(st.floats(0, 0.9), min_size=1, max_size=20))
def test_the_product_of_deltas_rounds_up(deltas: list[float]) -> None:
    total = compose_basic(epsilons=[1] * len(deltas), deltas=deltas)
    exactly = 1 - math.prod((1 - F(delta) for delta in deltas), start=F(1))
    assert exactly <= total.delta_product <= exactly + F(1, 2**200)
    assert total.delta_product <= total.delta_sum + F(1, 2**200)


@pytest.mark.parametrize("k", [1, 2, 7, 10**6, 2**53])
@pytest.mark.parametrize("delta", [0.0, 1e-300, 1e-9, 0.5])
def test_equal_releases_of_any_number_are_answered_at_once(k: int, delta: float) -> None:
    failed = 1 - survival([(F(delta), k)])
    with mpmath.workdps(400):
        true = 1 - (1 - mpmath.mpf(delta)) ** k
        got = mpmath.mpf(failed.numerator) / failed.denominator
        assert true * (1 - mpmath.mpf(10) ** -300) <= got <= true + mpmath.mpf(2) ** -190


def test_survival_never_exceeds_the_truth() -> None:
    assert survival([(F(1, 3), 5)]) <= F(2, 3) ** 5
    assert survival([(F(0), 2**53)]) == 1


def test_the_accountant_refuses_gaussian_noise_and_a_small_delta() -> None:
    with pytest.raises(UnsupportedEvent):
        epsilon_of(Composed((DiscreteGaussian(sigma_squared=F(1), l2_squared=F(1)),)), delta=0.1)
    raised(BadParameter, lambda: epsilon_of(Approximate(epsilon=F(1), delta=F(1, 10)), delta=0.05))


def test_a_sample_of_whom_nothing_is_released_costs_nothing() -> None:
    assert spends(PoissonSampled(event=Composed(()), rate=F(1, 10))) == []
