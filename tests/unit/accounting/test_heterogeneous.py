"""Optimal composition of unequal releases against enumeration of all outcomes."""

import itertools
import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.accounting.heterogeneous import epsilon_of, heterogeneous_epsilon
from dpsql.errors import BadParameter
from dpsql.privacy.events import Approximate, Composed, Event, Pure
from tests.kits.accountant_kit import AccountantKit
from tests.kits.digits import mp
from tests.kits.samples import examples
from tests.oracles.accounting import heterogeneous_delta
from tests.oracles.curves import randomized_response_delta

F = Fraction


class TestOptimal(AccountantKit):
    events = (Pure(epsilon=F(1, 10)), Approximate(epsilon=F(1, 3), delta=F(1, 10**6)), Pure(epsilon=F(1, 7)))
    tolerance = 1e-12

    def price(self, event: Event) -> float:
        return epsilon_of(event, delta=F(1, 1000))


def true_delta(epsilons: list[float], deltas: list[float], total: float) -> mpmath.mpf:
    """The hockey-stick divergence of confessing randomized responses, outcome by outcome."""
    needed = mpmath.mpf(0)
    for outcome in itertools.product(("truth", "lie", "confess"), repeat=len(epsilons)):
        p = q = mpmath.mpf(1)
        for what, epsilon, delta in zip(outcome, epsilons, deltas, strict=True):
            truth = 1 / (1 + mpmath.exp(-mp(epsilon)))
            p *= {"truth": (1 - mp(delta)) * truth, "lie": (1 - mp(delta)) * (1 - truth), "confess": mp(delta)}[what]
            q *= {"truth": (1 - mp(delta)) * (1 - truth), "lie": (1 - mp(delta)) * truth, "confess": mpmath.mpf(0)}[
                what
            ]
        needed += max(mpmath.mpf(0), p - mpmath.exp(mp(total)) * q)
    return needed


@examples(12, every=40)
@given(
    st.lists(st.tuples(st.floats(1e-4, 10), st.sampled_from([0.0, 1e-6, 0.1])), min_size=1, max_size=5), st.floats(0, 1)
)
def test_murtagh_vadhan_is_the_exact_divergence(pairs: list[tuple[float, float]], share: float) -> None:
    """C107: subset sums against all 3^k outcomes at 60 digits."""
    epsilons, deltas = [e for e, _ in pairs], [d for _, d in pairs]
    total = share * sum(epsilons)
    with mpmath.workdps(60):
        true = true_delta(epsilons, deltas, total)
        got = heterogeneous_delta(epsilons=epsilons, deltas=deltas, epsilon_total=total)
        assert true * (1 - mpmath.mpf(10) ** -50) <= got <= true * (1 + mpmath.mpf(10) ** -11) + mpmath.mpf(10) ** -60


def test_equal_releases_agree_with_the_homogeneous_theorem() -> None:
    """C107: many equal releases have few subset sums, so they are not refused."""
    one = heterogeneous_delta(epsilons=[0.1] * 200, deltas=[1e-9] * 200, epsilon_total=5)
    two = randomized_response_delta(k=200, epsilon0=0.1, delta0=1e-9, epsilon=5)
    assert one == pytest.approx(float(two), rel=1e-10)


def test_the_inverse_fits_and_a_little_less_does_not() -> None:
    """C107: for a target δ."""
    epsilons, deltas = [0.1, 0.2, 0.3, 0.7], [0.0, 1e-7, 0.0, 1e-7]
    found = heterogeneous_epsilon(epsilons=epsilons, deltas=deltas, target_delta=1e-3)
    assert heterogeneous_delta(epsilons=epsilons, deltas=deltas, epsilon_total=found) <= 1e-3
    assert heterogeneous_delta(epsilons=epsilons, deltas=deltas, epsilon_total=found * (1 - 1e-6)) > 1e-3


def test_too_many_unequal_releases_are_refused() -> None:
    """C107: exact composition is #P-hard; 40 unequal releases would take 2^40 sums."""
    epsilons = [1 / math.sqrt(prime) for prime in range(2, 42)]
    with pytest.raises(BadParameter, match="more than"):
        heterogeneous_delta(epsilons=epsilons, deltas=[0] * 40, epsilon_total=1)


def test_a_history_is_read_as_its_parts() -> None:
    history = Composed((Pure(epsilon=F(1, 10)), Composed((Pure(epsilon=F(1, 5)), Pure(epsilon=F(3, 10))))))
    found = epsilon_of(history, delta=0.05)
    assert found == heterogeneous_epsilon(epsilons=[F(1, 10), F(1, 5), F(3, 10)], deltas=[0, 0, 0], target_delta=0.05)
