"""Spending adds up to the last digit: ten tenths are 1, and so are ten million parts of one. How many counts fit under
a promise is really asked, through the analyst, until the ledger says no.

`make test` makes DPSQL_CHARGES charges to an account (20 000 unless set), `make audit` ten million.
"""

import os
from fractions import Fraction

import pytest

from dpsql.accounting.account import Account
from dpsql.errors import BudgetExhausted
from dpsql.privacy.events import Approximate, Composed, Pure
from tests.kits.owners import owner_of

CHARGES = int(os.environ.get("DPSQL_CHARGES", "20000"))


@pytest.mark.parametrize("written", [0.1, "0.1"], ids=["float", "SQL"])
def test_ten_tenths_are_one(tmp_path, written):
    """C063: in a ledger on disk, which says the same when it is opened again."""

    def opened():
        owner = owner_of(20, path=tmp_path / "ledger.db", epsilon=1)
        return owner, owner.grant("ana", budget=1)

    owner, ana = opened()
    for number in range(1, 11):
        sql = f"SELECT COUNT(*) FROM people WHERE age > {number}"
        answer = ana.sql(f"{sql} COST {written}") if isinstance(written, str) else ana.sql(sql, epsilon=written)
        assert (answer.cost.epsilon, ana.budget.spent) == (Fraction(1, 10), Fraction(number, 10))
    owner.close()
    owner, ana = opened()
    owner._ledger.verify()
    assert (ana.budget.spent, owner.budget.spent, ana.budget.left) == (1, 1, 0)
    with pytest.raises(BudgetExhausted):
        ana.sql("SELECT COUNT(*) FROM people", epsilon=Fraction(1, 10**12))


def test_many_charges_add_up_exactly():
    """Prices with denominators of many kinds; what they come to is told by counting them, not by adding them."""
    prices = [Fraction(1, 10), Fraction(1, 3), Fraction(7, 10**12), Fraction(0.1), Fraction(1, 97), Fraction(3, 2**40)]
    events = [Pure(epsilon=price) for price in prices]
    events.append(Approximate(epsilon=Fraction(1, 7), delta=Fraction(1, 10**15)))
    at_once = Composed(tuple(events) * 100)
    rounds = CHARGES // len(at_once.events)
    account = Account.opened(epsilon=10**6, delta=Fraction(1, 10), delta_prime=Fraction(0))
    for _ in range(rounds):
        account = account.charged(at_once)
    assert account.spent.epsilon == 100 * rounds * (sum(prices) + Fraction(1, 7))
    assert account.spent.delta == 100 * rounds * Fraction(1, 10**15)
    assert account.spent.rho == 100 * rounds * (sum(price**2 for price in prices) + Fraction(1, 49)) / 2


def test_the_last_of_many_equal_parts_fits_and_nothing_after_it():
    part = Pure(epsilon=Fraction(1, CHARGES))
    account = Account.opened(epsilon=1, delta=Fraction(0), delta_prime=Fraction(0))
    for _ in range(CHARGES // 1000):
        account = account.charged(Composed((part,) * 1000))
    assert account.spent.epsilon == 1
    assert not account.admits(Pure(epsilon=Fraction(1, 10**12)))


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
