"""price: what a cost buys, and what it cannot."""

from dataclasses import replace
from fractions import Fraction

import pytest
from explain_plans import planned, told_again
from hypothesis import given
from hypothesis import strategies as st

from dpsql.accounting.triple import FREE, triple
from dpsql.catalog.model import Mode
from dpsql.errors import NeedsDelta
from dpsql.plan.price import coarser, epsilon_for, price
from dpsql.plan.seal import seal
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
