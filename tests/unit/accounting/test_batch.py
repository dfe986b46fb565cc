"""A planned batch costs what its accountant proves, and no less."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpsql.accounting.account import Account
from dpsql.accounting.batch import planned_batch
from dpsql.accounting.optimal import optimal_epsilon
from dpsql.errors import BadParameter, DpsqlError
from dpsql.privacy.events import Approximate, Event, Pure

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
