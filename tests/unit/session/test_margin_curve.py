"""What a margin costs, from plans alone."""

import math
from fractions import Fraction
from functools import partial

import pandas
import pytest

from dpsql.errors import BadName, BadParameter
from dpsql.ledger.facts import Entry, Renewed
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.session.margin_curve import guessed_right, payments_of
from tests.kits.ledger_cases import asking
from tests.kits.owners import owner_of
from tests.kits.refusals import raised


def told(picture):
    return {point.mark.label: point.mark.value for point in picture.chart.series[0].points}


def test_each_point_is_the_margin_of_a_plan_at_this_price(ana):
    sql = "SELECT city, COUNT(*) AS n FROM patients GROUP BY city"
    curve = told(ana.curve(sql))
    assert list(curve) == ["0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1"]  # ana may spend 1
    for price, margin in curve.items():
        assert margin == ana.query(sql, epsilon=Fraction(price), fresh=True).margins["n"]
    assert list(curve.values()) == sorted(curve.values(), reverse=True)


def test_pictures_and_prices_are_free_and_ask_no_engine(ana, monkeypatch):
    for way in ("run", "run_public"):
        monkeypatch.setattr(type(ana.place.engine), way, lambda *_, **__: pytest.fail("the engine was asked"))
    sql, before = "SELECT COUNT(*) AS n FROM patients WHERE flu", ana.budget.spent
    query = ana.query(sql)
    for picture in (query.curve(), query.two_worlds(), ana.burn_down()):
        assert picture.svg()
    assert query._repr_html_()
    assert query.explain()._repr_html_()
    assert ana.budget.spent == before
    raised(pytest.fail.Exception, lambda: ana.sql(sql))


def test_a_price_in_the_text_is_one_point_of_it(ana):
    curve = ana.curve("SELECT COUNT(*) AS n FROM patients COST 0.07")
    assert "0.07" in told(curve)
    assert len(set(told(curve).values())) > 3
    assert "it costs 0.07" in curve.chart.notes[0]


def test_what_is_stored_does_not_flatten_it(ana):
    sql = "SELECT COUNT(*) AS n FROM patients WHERE age > 30"
    before = told(ana.curve(sql))
    ana.sql(sql, epsilon=0.2)
    after = told(ana.curve(sql))
    assert after["0.01"] == before["0.01"] > after["0.1"] == before["0.1"] > before["0.2"]


def test_the_limit_of_a_query_ends_it():
    with owner_of(1, "t", epsilon=5, cost_per_query=Fraction(1, 10)) as owner:
        bob = owner.grant("bob", budget=2, max_per_query=Fraction(3, 20))
        assert list(told(bob.curve("SELECT COUNT(*) AS n FROM t"))) == ["0.01", "0.02", "0.05", "0.1"]


def test_no_margin(ana):
    raised(BadParameter, lambda: ana.curve("SELECT ward FROM wards"), match="has no margin")
    raised(BadParameter, lambda: ana.curve("SELECT SQRT(ABS(COUNT(*))) AS r FROM patients"), match="not known before")
    raised(BadName, lambda: ana.curve("SELECT COUNT(*) AS n FROM patients", y="m"), match="choose one of: n")
    curve = ana.curve("SELECT AVG(age) AS age FROM patients")
    assert "in a group of" in curve.chart.title


# How often the best guess between two worlds is right, and which questions have two worlds.

LAWS = [DiscreteLaplaceLaw(scale=Fraction(3, 2)), DiscreteGaussianLaw(sigma_squared=Fraction(7))]


@pytest.mark.parametrize("reach", [1, 2, 3, 6, 40])
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_the_best_guess_by_its_definition(law, reach):
    """At each place the likelier world is guessed: half the sum of the larger probabilities."""
    brute = math.fsum(max(law.pmf(x), law.pmf(x + reach)) for x in range(-150, 151)) / 2
    assert guessed_right(law, reach) == pytest.approx(brute, abs=1e-9)


def test_the_worlds_of_a_count_are_one_person_apart_and_free(ana):
    before = ana.budget.spent
    chart = ana.two_worlds("SELECT city, COUNT(*) AS n FROM patients GROUP BY city").chart
    here, there = ({point.at: point.mark.value for point in series.points} for series in chart.series)
    assert max(here, key=here.get) == 0
    assert all(there[x] == here[x + 1] for x in there if x + 1 in here)
    assert ana.budget.spent == before


def test_several_rows_of_a_person_move_it_further(ana):
    chart = ana.two_worlds("SELECT COUNT(*) AS n FROM visits COST 1").chart
    there = {point.at: point.mark.value for point in chart.series[1].points}
    assert max(there, key=there.get) == -6
    assert "at most 6" in chart.notes[0]


def test_no_count_no_worlds(ana):
    for sql in ("SELECT SUM(age) AS a FROM patients", "SELECT ward FROM wards"):
        raised(BadParameter, partial(ana.two_worlds, sql), match="no count")
    sql = "SELECT COUNT(*) AS n, AVG(age) AS a FROM patients"
    raised(BadName, lambda: ana.two_worlds(sql, y="a"), match="choose one of: n")


# What was left of a budget after each payment.


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
