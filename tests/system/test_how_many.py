"""How many counts fit under a promise: really asked, through the analyst, until the ledger says no."""

from fractions import Fraction

import pytest

from dpsql.errors import BudgetExhausted
from tests.kits.owners import owner_of


def answered(ana, *, at_most):
    """How many different counts of ε = 0.05 are answered before one is refused."""
    for asked in range(at_most):
        try:
            answer = ana.sql(f"SELECT COUNT(*) FROM people WHERE age > {asked}", epsilon=0.05, noise="laplace")
        except BudgetExhausted:
            return asked
        assert answer.cost.epsilon == Fraction(1, 20)
    raise AssertionError("nothing was ever refused")


@pytest.mark.parametrize(("epsilon", "least", "by_epsilon"), [(1, 20, 20), (5, 353, 100)])
def test_counts_of_a_twentieth(epsilon, least, by_epsilon):
    """At ε = 5 adding up ε alone would end after 100; ρ counts on: 353 · 0.05²/2 is the last sum below ρ*."""
    owner = owner_of(400, epsilon=epsilon, delta=1e-6)
    ana = owner.grant("ana", budget=epsilon)
    asked = answered(ana, at_most=2 * least)
    assert asked >= least >= by_epsilon
    spent = owner._ledger.account().spent
    assert spent.epsilon == asked * Fraction(1, 20)
    assert spent.rho == asked * Fraction(1, 800)
    assert ana.budget.left < Fraction(1, 20)
