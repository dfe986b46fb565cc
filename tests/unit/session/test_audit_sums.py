"""What a report adds up: payments to what is spent of the promise, and of every grant."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.ledger.facts import Granted
from dpsql.session.auditing import Walk
from dpsql.session.digits import shown_up
from tests.kits.owners import owner_of

COUNT = "SELECT COUNT(*) FROM people"


@pytest.fixture
def owner():
    with owner_of(60, epsilon=2, delta=1e-3) as owner:
        yield owner


def row_of(report, receipt):
    """The cells of a payment in Markdown, without its escapes."""
    (line,) = (line for line in report.splitlines() if line.startswith(f"| {receipt} |"))
    return [cell.strip().replace("\\", "") for cell in line.strip("|").split("|")]


def test_payments_add_up_to_what_is_spent_where_their_costs_do_not(owner):
    ana = owner.grant("ana", budget=2)
    ana.sql(COUNT + " WHERE age < 50", epsilon=Fraction(1, 10), noise="gaussian")
    ana.sql(COUNT, epsilon=Fraction(1, 4), noise="laplace")
    found, account = owner.audit(), owner._ledger.account()
    costs, spent = sum(each.cost for each in found), found.promises[0].spent
    assert abs(costs - Fraction("0.35")) < Fraction(1, 10**4)
    assert found[1].of_promise == Fraction(1, 32) / account.rho * 2  # ε²/2 of ρ*, in ε = 2
    assert sum(each.of_promise for each in found) == spent
    assert sum(each.of_grant for each in found) == found.grants[0].spent
    assert spent != costs
    for report in (str(found), found.html()):
        assert f"told to cost {shown_up(costs)}" in report
        assert f"in one of the two, ρ, as shares of its limit: {shown_up(spent)}" in report


def test_nothing_is_explained_where_costs_add_up(owner):
    owner.grant("ana", budget=2).sql(COUNT, epsilon=1, noise="laplace")
    found = owner.audit()
    assert "told to cost" not in str(found)
    assert [each.of_promise for each in found] == [1]


def test_a_grant_that_was_used_up_is_not_shown_as_passed(owner):
    """What Gaussian noise is told to cost is rounded up."""
    bob = owner.grant("bob", budget=Fraction(3, 10))
    bob.sql(COUNT, epsilon=Fraction(3, 10), noise="gaussian")
    found = owner.audit()
    assert found.grants[0].spent <= Fraction(3, 10)
    assert "bob: ε ≤ 0.3 · kept: 0.3 spent" in str(found)
    assert "bob: 1 payment, 0.3 in all" in str(found)
    assert "| bob | 1 | 0.3 | 0.3 | yes |" in found.markdown().replace("\\", "")


def test_a_limit_below_what_is_spent_is_no_breach(owner):
    owner.grant("bob", budget=1).sql(COUNT, epsilon=1, noise="laplace")
    owner.grant("bob", budget=Fraction(1, 2))
    found = owner.audit()
    assert found.holds
    assert "bob: ε ≤ 0.5 · kept: 1, before the limit was lowered, spent" in str(found)


def test_a_payment_above_its_grant_is_found(owner):
    """The ledger itself does not verify then; what an audit adds up does not lean on that."""
    owner.grant("bob", budget=1).sql(COUNT, epsilon=1, noise="laplace")
    walk = Walk(since=None, texts=True)
    for entry in owner._ledger.entries():
        small = isinstance(entry.fact, Granted)
        walk.past(replace(entry, fact=replace(entry.fact, epsilon=Fraction(1, 2))) if small else entry)
    walk.end_period()
    ((grant,), promise) = walk.grants_told, walk.promises[-1]
    assert (grant.kept, grant.spent, promise.kept) == (False, 1, True)


def test_a_report_with_a_passed_grant_does_not_hold(owner):
    owner.grant("bob", budget=1).sql(COUNT, epsilon=1, noise="laplace")
    found = owner.audit()
    bad = replace(found, grants=tuple(replace(each, kept=False) for each in found.grants))
    assert (found.holds, bad.holds) == (True, False)
    assert "NOT KEPT: 1 spent" in str(bad)


def test_the_grants_of_every_period_are_told():
    with owner_of(60, epsilon=2, per="month") as owner:
        owner.grant("ana", budget=1).sql(COUNT, epsilon=1)
        owner.renew()
        found = owner.audit()
    assert [(each.period, each.spent) for each in found.grants] == [(1, 1), (2, 0)]
    assert [each.of_promise for each in found] == [1]


def test_payments_name_who_paid_and_what_they_are(owner):
    owner.grant("class", budget=2)
    owner.keeper.admit("mia", role="analyst", grant="class")
    mia = owner.analyst("mia")
    mia.sql(COUNT, epsilon=Fraction(1, 10), noise="gaussian")
    mia.sql(COUNT, epsilon=Fraction(2, 10), noise="gaussian")
    found = owner.audit()
    rows = [row_of(found.markdown(), each.receipt)[2:5] for each in found]
    assert rows == [["mia", "class", "fresh"], ["mia", "class", f"top-up of {found[0].receipt}"]]
    assert found.holds
