"""A planned batch costs what its accountant proves, and no less."""

from __future__ import annotations

import sys
from fractions import Fraction

import pytest

from dpsql.accounting.account import Account
from dpsql.accounting.batch import finer, finest, planned_batch, proven
from dpsql.accounting.optimal import optimal_delta, optimal_epsilon
from dpsql.errors import BadParameter, DpsqlError, UnsupportedEvent
from dpsql.privacy.events import (
    Approximate,
    BoundedRange,
    Composed,
    DiscreteGaussian,
    Event,
    GaussianThreshold,
    KeySelection,
    Pure,
)
from tests.oracles.curves import gaussian_exact_epsilon

TENTH = Pure(epsilon=Fraction(1, 10))


def test_a_batch_is_charged_at_the_optimal_price() -> None:
    """C104, C109: a hundred tenths together cost less than half of their sum, and the account takes that price."""
    batch = planned_batch([TENTH] * 100, delta=1e-6, by="optimal")
    proven = optimal_epsilon(k=100, epsilon=0.1, delta=0, target_delta=1e-6)
    assert proven <= batch.epsilon <= Fraction(proven) * (1 + Fraction(1, 10**9))
    account = Account.opened(epsilon=5, delta=1e-5, delta_prime=Fraction(1, 10**6))
    assert account.charged(batch).spent.epsilon == batch.epsilon
    assert not account.admits(planned_batch([TENTH] * 100, delta=1e-6, by="basic"))


@pytest.mark.parametrize(
    ("events", "delta", "by"),
    [
        ([TENTH], 1e-6, "guess"),
        ([TENTH], 2.0, "optimal"),
        ([Approximate(epsilon=1, delta=1e-3)] * 2, 1e-4, "basic"),
        (["a release"], 1e-6, "basic"),
        ([], 1e-6, "basic"),
    ],
)
def test_what_has_no_price_is_no_batch(events: list[Event], delta: float, by: str) -> None:
    with pytest.raises(DpsqlError):
        planned_batch(events, delta=delta, by=by)


def test_a_negative_price_cannot_be_written_down() -> None:
    """A refund would let a conversation go on for ever."""
    with pytest.raises(BadParameter):
        Pure(epsilon=Fraction(-1))


HUNDREDTH = Composed((Pure(epsilon=Fraction(1, 100)),))
ONE_NUMBER = DiscreteGaussian(sigma_squared=Fraction(10_000), l2_squared=Fraction(1))
VECTOR = DiscreteGaussian(sigma_squared=Fraction(10_000), l2_squared=Fraction(4), dimensions=2)


@pytest.mark.parametrize(
    ("events", "by"),
    [
        ([HUNDREDTH] * 100, "optimal"),
        ([HUNDREDTH] * 50 + [TENTH] * 2, "pld"),
        ([ONE_NUMBER] * 100, "pld"),
        ([ONE_NUMBER, HUNDREDTH], "pld"),
        ([VECTOR, HUNDREDTH], "zcdp"),
        ([KeySelection(epsilon=Fraction(1, 10), delta=Fraction(1, 10**9), keys=2)], "pld"),
    ],
)
def test_a_batch_is_priced_by_the_theorem_that_knows_its_releases(events: list[Event], by: str) -> None:
    proof = proven(events, delta=Fraction(1, 10**6))
    assert proof.by == by
    assert proof.batch.events == tuple(events)
    assert proof.batch == planned_batch(events, delta=Fraction(1, 10**6), by=by)


def test_without_the_library_a_batch_is_priced_in_rho(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting.pld.common", None)
    assert proven([ONE_NUMBER] * 10, delta=1e-6).by == "zcdp"


def test_a_hundred_counts_for_one_epsilon_are_nearly_twice_as_fine() -> None:
    """By optimal composition: the factor that fits, and not a hundredth more, by the curve itself."""
    factor = finest([HUNDREDTH] * 100, epsilon=1, delta=Fraction(1, 10**9))
    assert factor is not None
    assert factor > Fraction(18, 10)
    assert optimal_delta(k=100, epsilon=factor / 100, delta=0, epsilon_total=1) <= 1e-9
    assert optimal_delta(k=100, epsilon=factor * Fraction(101, 100) / 100, delta=0, epsilon_total=1) > 1e-9


def test_a_hundred_gaussian_numbers_are_as_fine_as_the_curve_allows() -> None:
    """The exact curve of the continuous law, which a discrete one of this width follows closely."""
    factor = finest([ONE_NUMBER] * 100, epsilon=1, delta=Fraction(1, 10**7))
    assert factor is not None
    assert 0.99 < gaussian_exact_epsilon(sigma=100 / factor, l2=1, k=100, delta=1e-7) <= 1.0


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1), Fraction(50)])
def test_what_is_found_is_within_the_price_and_close_to_it(epsilon: Fraction) -> None:
    for events in ([HUNDREDTH] * 10, [VECTOR] * 3):
        factor = finest(events, epsilon=epsilon, delta=1e-6)
        assert factor is not None
        fitting, beyond = (
            [finer(event, factor=f) for event in events] for f in (factor, factor * Fraction(1003, 1000))
        )
        assert proven(fitting, delta=1e-6).batch.epsilon <= epsilon < proven(beyond, delta=1e-6).batch.epsilon


def test_the_exceptional_delta_is_not_made_smaller() -> None:
    factor = Fraction(3)
    keys = KeySelection(epsilon=Fraction(1, 10), delta=Fraction(1, 10**9), keys=2)
    threshold = GaussianThreshold(sigma_squared=Fraction(90), delta=Fraction(1, 10**9), keys=2)
    assert finer(keys, factor=factor) == KeySelection(epsilon=Fraction(3, 10), delta=Fraction(1, 10**9), keys=2)
    assert finer(threshold, factor=factor) == GaussianThreshold(
        sigma_squared=Fraction(10), delta=Fraction(1, 10**9), keys=2
    )


def test_a_delta_that_the_releases_have_spent_already_leaves_no_batch() -> None:
    keys = KeySelection(epsilon=Fraction(1, 10), delta=Fraction(1, 10**6), keys=2)
    assert finest([keys] * 3, epsilon=1, delta=Fraction(2, 10**6)) is None
    with pytest.raises(UnsupportedEvent):
        proven([keys] * 3, delta=Fraction(2, 10**6))


def test_what_has_no_scale_is_not_made_finer() -> None:
    with pytest.raises(UnsupportedEvent):
        finer(BoundedRange(epsilon=Fraction(1)), factor=Fraction(2))
