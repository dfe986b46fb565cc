"""price: what a cost buys, and what it cannot; what accounts make of a cost."""

from dataclasses import replace
from fractions import Fraction

import pytest
from explain_plans import planned, told_again
from hypothesis import given
from hypothesis import strategies as st

from dpsql.accounting.account import Account
from dpsql.accounting.triple import FREE, triple
from dpsql.catalog.model import Defaults, Mode, Noise
from dpsql.errors import NeedsDelta
from dpsql.plan.price import as_if_unspent, coarser, epsilon_for, price, terms
from dpsql.plan.seal import seal
from dpsql.privacy.events import DiscreteGaussian, Pure
from tests.kits.refusals import raised

BY_DIAGNOSIS = "SELECT diagnosis, COUNT(*), SUM(charge) FROM visits GROUP BY diagnosis"


def test_a_missing_share_is_not_a_missing_delta():
    plan = planned(BY_DIAGNOSIS)
    error = raised(NeedsDelta, lambda: price(plan.recalled, replace(plan.terms, selection_share=None)))
    assert "selection_share" in error.fix
    assert "needs delta" not in error.what
    start, end = error.at
    assert BY_DIAGNOSIS[start:end] == "diagnosis"
    raised(NeedsDelta, lambda: price(plan.recalled, replace(plan.terms, delta=None)), match="needs delta")


def test_scaled_groups_are_found_in_the_currency_they_are_measured_in():
    """At this cost Laplace noise is narrower, which scaled groups cannot have: then keys are paid for in ρ as well."""
    chosen, scaled = (planned(BY_DIAGNOSIS, cost=Fraction(4), gaussian=True, mode=mode) for mode in Mode)
    assert (chosen.bounded.mode, chosen.rho) == (Mode.CHOOSE, None)
    assert (scaled.bounded.mode, scaled.rho) == (Mode.SCALE, scaled.terms.gaussian_rho * Fraction(3, 4))
    assert triple(scaled.event).rho <= scaled.terms.gaussian_rho


def test_what_is_charged_is_decided_in_one_place():
    plan = planned("SELECT COUNT(*) FROM patients")
    assert (plan.charged, plan.cost) == (plan.event, plan.terms.cost)
    again = told_again(plan)
    assert (again.charged, again.cost) == (None, 0)
    catalog = plan.bounded.query.catalog
    assert seal(plan, catalog).price == triple(plan.event) != FREE
    assert seal(again, catalog).price == FREE


def offered(*, cost=Fraction(1), pure=True, rho=Fraction(0)):
    return replace(planned("SELECT COUNT(*) FROM patients").terms, cost=cost, pure=pure, gaussian_rho=rho)


@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 4)])
def test_on_the_first_branch_the_cost_is_the_epsilon(share):
    assert epsilon_for(offered(cost=Fraction(3, 7)), share=share, parts=5) == Fraction(3, 7) * share
    assert epsilon_for(offered(pure=False), share=share) == share  # no ρ is granted: ε is all there is


@given(
    rho=st.fractions(min_value=Fraction(1, 10**6), max_value=100, max_denominator=10**6),
    share=st.sampled_from([Fraction(1), Fraction(1, 4), Fraction(1, 3)]),
    parts=st.integers(1, 1000),
)
def test_on_the_second_branch_equal_decisions_cost_their_share_of_rho(rho, share, parts):
    """`parts` decisions of ε/parts cost parts · (ε/parts)²/2, never more than the share and hardly less."""
    epsilon = epsilon_for(offered(pure=False, rho=rho), share=share, parts=parts)
    assert parts * (epsilon / parts) ** 2 / 2 <= rho * share
    finer = epsilon + Fraction(1, 2**40)
    assert parts * (finer / parts) ** 2 / 2 > rho * share


@given(value=st.fractions(min_value=Fraction(1, 10**30), max_value=10**30))
def test_coarser_is_never_less_and_hardly_more(value):
    found = coarser(value)
    assert value <= found <= value * (1 + Fraction(1, 2**22))
    assert found.denominator & (found.denominator - 1) == 0
    odd = found.numerator
    while odd % 2 == 0:
        odd //= 2
    assert odd <= 2**25


PROMISE = Account.opened(epsilon=Fraction(5), delta=Fraction(1, 10**6), delta_prime=Fraction(1, 2 * 10**6))
PURE = Account.opened(epsilon=Fraction(5), delta=Fraction(0), delta_prime=Fraction(0))
DEFAULTS = Defaults(selection_share=Fraction(1, 4), delta_per_query=Fraction(1, 10**9))


def granted(cost, *accounts, noise=None):
    return terms(Fraction(cost), confidence=Fraction(19, 20), noise=noise, defaults=DEFAULTS, accounts=accounts)


def test_a_cost_buys_the_same_share_of_rho_as_of_epsilon():
    found = granted(1, PROMISE)
    assert found.gaussian_rho == PROMISE.rho / 5
    assert found.pure
    assert (found.selection_share, found.delta) == (Fraction(1, 4), Fraction(1, 10**9))


def test_without_delta_there_is_no_gaussian():
    assert granted(1, PURE).gaussian_rho == 0
    assert granted(1, PROMISE, PURE).gaussian_rho == 0


def test_all_accounts_must_grant():
    small = PROMISE.grant(epsilon=Fraction(1))
    assert granted(2, PROMISE).pure
    assert not granted(2, PROMISE, small).pure
    assert granted(2, PROMISE, small).gaussian_rho == 0


def test_a_gaussian_that_makes_earlier_answers_dearer_is_not_granted():
    """ε = 1 weighs 1/2 in ρ: more than a fifth of ρ*, so that the first Gaussian would take it as well."""
    assert Fraction(1, 2) > PROMISE.rho / 5
    spent = PROMISE.charged(Pure(epsilon=Fraction(1)))
    assert granted(1, spent).gaussian_rho == 0
    assert as_if_unspent(granted(1, spent), (spent,)).gaussian_rho == PROMISE.rho / 5


def test_after_a_gaussian_everything_is_counted_in_rho():
    rho = PROMISE.rho / 5
    spent = PROMISE.charged(DiscreteGaussian(sigma_squared=1 / (2 * rho), l2_squared=Fraction(1)))
    found = granted(1, spent)
    assert not found.pure
    assert found.gaussian_rho == rho


@pytest.mark.parametrize("noise", [None, Noise.LAPLACE, Noise.GAUSSIAN])
def test_what_was_wished_for_is_kept(noise):
    assert granted(1, PROMISE, noise=noise).noise is noise
