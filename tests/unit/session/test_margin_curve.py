"""What a margin costs, from plans alone."""

from fractions import Fraction

import pytest

from dpsql.errors import BadName, BadParameter
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
