"""The PLD accountant against closed forms and against the other accountants. Importing the library takes seconds."""

import math
import sys
from collections.abc import Iterator
from fractions import Fraction

import mpmath
import pytest

from dpsql.accounting import heterogeneous, rdp, zcdp
from dpsql.accounting.optimal import optimal_epsilon
from dpsql.accounting.pld import _composed, _grouped, _slack, epsilon_of
from dpsql.errors import BadParameter, DpsqlError, MissingExtra, UnsupportedEvent
from dpsql.privacy.events import (
    Approximate,
    BoundedRange,
    Composed,
    ContinuousGaussian,
    ContinuousLaplace,
    DiscreteGaussian,
    Event,
    GaussianThreshold,
    KeySelection,
    PoissonSampled,
    Pure,
)
from tests.kits.accountant_kit import AccountantKit, one_of_each
from tests.kits.digits import digits
from tests.kits.refusals import raised
from tests.kits.samples import some
from tests.oracles.curves import (
    composed_laplace_delta,
    gaussian_delta,
    laplace_and_gaussian_delta,
    randomized_response_delta,
    sampled_gaussian_delta,
)

F = Fraction
many_digits = digits(60)


def delta_of(event: Event, *, epsilon: float) -> float:
    """The δ at ε of the distributions that `epsilon_of` composes, with the same slack."""
    counts = _grouped(event)
    return max(0.0, float(_composed(counts).get_delta_for_epsilon(epsilon))) + 2 * _slack(counts)


class TestPld(AccountantKit):
    events = (
        *one_of_each(without={DiscreteGaussian, GaussianThreshold}),
        DiscreteGaussian(sigma_squared=F(100), l2_squared=F(4)),  # a vector has no single worst pair
        GaussianThreshold(sigma_squared=F(100), delta=F(1, 10**6), keys=1),
    )
    tolerance = 1e-4  # the library rounds losses to a grid, in an order of its own

    def price(self, event: Event) -> float:
        return epsilon_of(event, delta=F(1, 1000))


def test_randomized_responses_have_their_exact_curve() -> None:
    """C109: pure releases enter as randomized response; the grid costs at most 1e-4 per release."""
    history = Composed((Pure(epsilon=F(1, 2)),) * 6)
    true = randomized_response_delta(epsilon0=0.5, k=6, epsilon=1.0)
    assert true * (1 - 1e-9) <= delta_of(history, epsilon=1) <= true + 6e-4


def test_laplace_releases_have_their_exact_curve() -> None:
    """C109: through the library, against the closed form."""
    history = Composed((ContinuousLaplace(epsilon=F(1, 5)),) * 8)
    true = composed_laplace_delta(epsilon0=0.2, k=8, epsilon=1.0)
    assert true * (1 - 1e-9) <= delta_of(history, epsilon=1) <= true * 1.01


def test_gaussian_releases_have_their_exact_curve() -> None:
    """C109: through the library, against Balle and Wang."""
    history = Composed((ContinuousGaussian(noise_multiplier=F(10)),) * 30)
    true = gaussian_delta(mpmath.sqrt(30) / 10, mpmath.mpf(2))
    assert true * (1 - 1e-9) <= delta_of(history, epsilon=2) <= true * 1.01


def test_a_mixture_of_noises_has_its_exact_curve() -> None:
    """C109: one Laplace with one Gaussian."""
    history = Composed((ContinuousLaplace(epsilon=F(1, 2)), ContinuousGaussian(noise_multiplier=F(2))))
    true = laplace_and_gaussian_delta(epsilon0=0.5, mu=0.5, epsilon=1)
    assert true * (1 - 1e-8) <= delta_of(history, epsilon=1) <= true * 1.01


def test_the_sampled_gaussian_has_its_exact_curve() -> None:
    """C109: the larger of both directions."""
    event = PoissonSampled(event=ContinuousGaussian(noise_multiplier=F(1)), rate=F(1, 10))
    true = max(sampled_gaussian_delta(rate=0.1, sigma=1, epsilon=0.5))
    assert true * (1 - 1e-9) <= delta_of(event, epsilon=0.5) <= true * 1.01


def test_sampled_laplace_noise_has_its_exact_curve() -> None:
    """C109: with γ = e^ε, δ = q·(1 − e^((t − ε₀)/2)) where e^t = (γ − 1 + q)/q; the other direction is 0 here."""
    event = PoissonSampled(event=ContinuousLaplace(epsilon=F(1)), rate=F(1, 10))
    true = 0.1 * (1 - math.exp((math.log((math.exp(0.1) - 0.9) / 0.1) - 1) / 2))
    assert true * (1 - 1e-9) <= delta_of(event, epsilon=0.1) <= true * 1.01


@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_never_worse_than_the_other_theories(delta: float) -> None:
    """C109: on one history, PLD <= RDP and PLD <= zCDP, up to the grid; and not below the exact optimum."""
    history = Composed((Pure(epsilon=F(1, 10)), DiscreteGaussian(sigma_squared=F(100), l2_squared=F(1))) * 10)
    best = epsilon_of(history, delta=delta)
    assert best <= rdp.epsilon_of(history, delta=delta) + 2e-3
    assert best <= zcdp.epsilon_of(history, delta=delta) + 2e-3
    pure = Composed((Pure(epsilon=F(1, 10)), Pure(epsilon=F(1, 5)), Pure(epsilon=F(1, 3))))
    exactly = heterogeneous.epsilon_of(pure, delta=delta)
    assert exactly * (1 - 1e-6) <= epsilon_of(pure, delta=delta) <= exactly + 5e-4


def test_other_events_enter_as_randomized_response() -> None:
    """C109: a bounded-range selection, one of (ε, δ) and a sampled pure release, by their (ε, δ)."""
    for event, epsilon in (
        (BoundedRange(epsilon=F(1, 4)), 0.25),
        (Approximate(epsilon=F(1, 3), delta=F(1, 10**6)), 1 / 3),
        (PoissonSampled(event=Pure(epsilon=F(1)), rate=F(1, 10)), math.log1p(0.1 * math.expm1(1))),
    ):
        assert 0.99 * epsilon < epsilon_of(event, delta=2e-6) <= epsilon + 1e-4


def test_vector_noise_has_no_pair_and_is_refused() -> None:
    for event in (
        DiscreteGaussian(sigma_squared=F(1), l2_squared=F(2), dimensions=2),
        GaussianThreshold(sigma_squared=F(9), delta=F(1, 1000), keys=2),
    ):
        with pytest.raises(UnsupportedEvent):
            epsilon_of(Composed((event,)), delta=0.01)


def test_what_would_not_end_is_refused() -> None:
    raised(BadParameter, lambda: epsilon_of(KeySelection(epsilon=F(1), delta=F(1, 10**6), keys=10**9), delta=0.01))
    raised(BadParameter, lambda: epsilon_of(Pure(epsilon=F(10**5)), delta=0.01))
    raised(BadParameter, lambda: epsilon_of(Pure(epsilon=F(1)), delta=1e-30))
    raised(BadParameter, lambda: epsilon_of(Approximate(epsilon=F(1), delta=F(1, 10)), delta=0.01))


@pytest.mark.parametrize("size", [F(1, 10**400), F(1, 10**9), F(10**9), F(10**400)])
def test_extreme_noise_is_refused_or_priced(size: Fraction) -> None:
    for event in (
        Pure(epsilon=size),
        ContinuousLaplace(epsilon=size),
        ContinuousGaussian(noise_multiplier=size),
        DiscreteGaussian(sigma_squared=size, l2_squared=F(1)),
        DiscreteGaussian(sigma_squared=F(1), l2_squared=size),
    ):
        try:
            assert 0 <= epsilon_of(event, delta=1e-6) < 100
        except DpsqlError:
            continue


@pytest.fixture
def without_library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in sys.modules if name.split(".")[0] == "dp_accounting"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    return


@pytest.mark.usefixtures("without_library")
def test_without_the_library_the_pip_command_is_named() -> None:
    assert "pip install dp-accounting" in raised(MissingExtra, lambda: epsilon_of(Pure(epsilon=F(1)), delta=0.01)).fix


@pytest.mark.parametrize(
    ("k", "epsilon", "delta"), some([(10_000, 0.005, 2e-11), (1000, 0.01, 2e-12), (50_000, 0.02, 1e-10)], step=3)
)
def test_many_releases_are_never_priced_below_the_optimum(k: int, epsilon: float, delta: float) -> None:
    """C109: for equal pure releases the optimal theorem is exact, and the convolution must not pass below it."""
    history = Composed((Pure(epsilon=epsilon),) * k)
    exact_epsilon = optimal_epsilon(k=k, epsilon=epsilon, delta=0, target_delta=delta)
    assert epsilon_of(history, delta=delta) >= exact_epsilon * (1 - 1e-12)
    assert delta_of(history, epsilon=exact_epsilon) >= delta * (1 - 1e-6)


def test_the_convolution_never_gives_a_negative_delta() -> None:
    history = Composed((Pure(epsilon=0.01),) * 100_000)
    assert delta_of(history, epsilon=27) >= 5.28e-13  # the exact value, by the optimal theorem
    raised(BadParameter, lambda: epsilon_of(history, delta=1e-12))
