"""What was left of a budget after each payment."""

from fractions import Fraction

import pandas
import pytest

from dpsql.ledger.facts import Entry, Renewed
from dpsql.session.margin_curve import payments_of
from tests.kits.ledger_cases import asking
from tests.kits.owners import owner_of


@pytest.fixture
def owner():
    rows = pandas.DataFrame({"id": [1, 2], "x": [1, 2]})
    words = {"person": "id", "unique": True, "bounds": {"x": (0, 9)}}
    with owner_of(rows, "t", **words, epsilon=2, cost_per_query=Fraction(1, 10)) as owner:
        yield owner


def levels(picture):
    return [point.mark.value for point in picture.chart.series[0].points]


def test_each_payment_is_a_step_and_a_repeat_is_none(owner):
    ana = owner.grant("ana", budget=1)
    assert levels(ana.burn_down()) == [1, 1]
    assert "1 of 1 left" in str(ana.burn_down())
    ana.sql("SELECT COUNT(*) FROM t")
    ana.sql("SELECT COUNT(*) FROM t")
    ana.sql("SELECT SUM(x) FROM t", epsilon=Fraction(1, 2))
    picture = ana.burn_down()
    assert levels(picture) == pytest.approx([1, 0.9, 0.4, 0.4])
    assert picture.chart.title == "Budget of ana: 0.4 of 1 left"
    assert picture.chart.series[0].points[1].mark.label.startswith("1 · 20")
    assert picture.chart.notes == (ana.budget.outlook,)


def test_the_promise_shows_what_everybody_paid_and_an_analyst_their_own(owner):
    ana, bob = owner.grant("ana", budget=1), owner.grant("bob", budget=1)
    ana.sql("SELECT COUNT(*) FROM t")
    bob.sql("SELECT SUM(x) FROM t")
    assert levels(owner.keeper.burn_down()) == pytest.approx([2, 1.9, 1.8, 1.8])
    assert levels(ana.burn_down()) == pytest.approx([1, 0.9, 0.9])
    assert "bob" not in str(ana.burn_down())


def test_what_others_paid_from_the_same_grant_is_the_last_step(owner):
    owner.grant("team", budget=1)
    for name in ("ana", "bob"):
        owner.keeper.admit(name, role="analyst", grant="team")
    ana, bob = owner.analyst("ana"), owner.analyst("bob")
    ana.sql("SELECT COUNT(*) FROM t")
    bob.sql("SELECT SUM(x) FROM t", epsilon=Fraction(1, 2))
    assert levels(ana.burn_down()) == pytest.approx([1, 0.9, 0.4, 0.4])
    assert "others paid" in ana.burn_down().chart.notes[0]


def test_payments_from_another_budget_and_of_an_earlier_period_are_left_out():
    facts = (asking(), asking(grant="team"), Renewed(period=2), asking("later"))
    entries = [Entry(number=n, fact=fact, time=0) for n, fact in enumerate(facts)]
    assert [len(payments_of(entries[:2], holder=holder)) for holder in ("ana", "team", "bob", None)] == [1, 1, 0, 2]
    assert len(payments_of([entries[0], *entries[2:]])) == 1
