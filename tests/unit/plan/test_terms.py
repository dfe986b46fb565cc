"""What accounts make of a cost."""

from fractions import Fraction

import pytest

from dpsql.accounting.account import Account
from dpsql.catalog.model import Defaults, Noise
from dpsql.plan.price import as_if_unspent, terms
from dpsql.privacy.events import DiscreteGaussian, Pure

PROMISE = Account.opened(epsilon=Fraction(5), delta=Fraction(1, 10**6), delta_prime=Fraction(1, 2 * 10**6))
PURE = Account.opened(epsilon=Fraction(5), delta=Fraction(0), delta_prime=Fraction(0))
DEFAULTS = Defaults(selection_share=Fraction(1, 4), delta_per_query=Fraction(1, 10**9))


def offered(cost, *accounts, noise=None):
    return terms(Fraction(cost), confidence=Fraction(19, 20), noise=noise, defaults=DEFAULTS, accounts=accounts)


def test_a_cost_buys_the_same_share_of_rho_as_of_epsilon():
    found = offered(1, PROMISE)
    assert found.gaussian_rho == PROMISE.rho / 5
    assert found.pure
    assert (found.selection_share, found.delta) == (Fraction(1, 4), Fraction(1, 10**9))


def test_without_delta_there_is_no_gaussian():
    assert offered(1, PURE).gaussian_rho == 0
    assert offered(1, PROMISE, PURE).gaussian_rho == 0


def test_all_accounts_must_grant():
    small = PROMISE.grant(epsilon=Fraction(1))
    assert offered(2, PROMISE).pure
    assert not offered(2, PROMISE, small).pure
    assert offered(2, PROMISE, small).gaussian_rho == 0


def test_a_gaussian_that_makes_earlier_answers_dearer_is_not_granted():
    """ε = 1 weighs 1/2 in ρ: more than a fifth of ρ*, so that the first Gaussian would take it as well."""
    assert Fraction(1, 2) > PROMISE.rho / 5
    spent = PROMISE.charged(Pure(epsilon=Fraction(1)))
    assert offered(1, spent).gaussian_rho == 0
    assert as_if_unspent(offered(1, spent), (spent,)).gaussian_rho == PROMISE.rho / 5


def test_after_a_gaussian_everything_is_counted_in_rho():
    rho = PROMISE.rho / 5
    spent = PROMISE.charged(DiscreteGaussian(sigma_squared=1 / (2 * rho), l2_squared=Fraction(1)))
    found = offered(1, spent)
    assert not found.pure
    assert found.gaussian_rho == rho


@pytest.mark.parametrize("noise", [None, Noise.LAPLACE, Noise.GAUSSIAN])
def test_what_was_wished_for_is_kept(noise):
    assert offered(1, PROMISE, noise=noise).noise is noise
