"""Subqueries that group by the person: what is known about their columns, and how many rows a person has."""

from fractions import Fraction

import duckdb
import pytest

from dpsql.errors import NotSupported, Unbounded
from dpsql.sql.emit import engine_text
from dpsql.sql.intervals import Interval
from tests.kits.cases import cases

from stages import TABLES, bounded, clinic, resolved, rewritten


def inner_column(expression: str, catalog=None) -> Interval:
    """What counts of an aggregate about each person: visits has 6 rows of one, points between -50 and 50."""
    sql = f"SELECT COUNT(x) FROM (SELECT person, {expression} AS x FROM visits GROUP BY person) t"
    query = resolved(sql) if catalog is None else resolved(sql, catalog)
    (column,) = (each for each in query.findings.columns.values() if each.id == query.aggregates[0].arguments[0].id)
    return column.declared


@cases(__file__, "expression", "low=", "high=")
def test_what_counts_follows_from_bounds_and_caps(expression, low, high):
    assert inner_column(expression) == Interval(Fraction(low), Fraction(high))


def test_without_a_cap_nothing_bounds_what_is_counted():
    assert inner_column("COUNT(*)", clinic(rows_per_person=None, rows_per_group=None)).high is None
    with pytest.raises(Unbounded):
        bounded(
            "SELECT SUM(n) FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person) t",
            clinic(rows_per_person=None, rows_per_group=None),
        )


def test_one_row_per_person_needs_no_cap():
    sql = "SELECT COUNT(*) FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person) t WHERE n > 3"
    plan = bounded(sql, clinic(rows_per_person=None, rows_per_group=None, groups_per_person=None))
    assert plan.one_row_each
    assert [placed.slot.high for placed in plan.slots] == [1]


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT person, ward, COUNT(*) AS n FROM visits GROUP BY person, ward",
        "SELECT DISTINCT person, ward, 1 AS n FROM visits",
    ],
)
def test_one_row_per_person_and_more_is_capped(inner):
    plan = bounded(f"SELECT COUNT(n) FROM ({inner}) t")
    assert not plan.one_row_each
    assert [placed.slot.high for placed in plan.slots] == [6]


def test_the_order_of_rows_changes_no_sum_of_fractions():
    """0.1 + 0.2 + 0.3 is another double than 0.3 + 0.2 + 0.1; in grains the sums are equal."""
    plain = duckdb.connect()
    plain.execute(f"CREATE TABLE visits ({TABLES['visits']})")
    statement = rewritten(
        "SELECT COUNT(*) FROM (SELECT person, SUM(price) AS s FROM visits GROUP BY person) t WHERE s <= 0.6"
    ).measurement
    text = engine_text(statement, dialect="duckdb").sql
    found = set()
    for prices in ((0.1, 0.2, 0.3), (0.3, 0.2, 0.1), (0.2, 0.3, 0.1)):
        plain.execute("DELETE FROM visits")
        for price in prices:
            plain.execute("INSERT INTO visits (person, price) VALUES (1, ?)", [price])
        found.add(plain.execute(text).fetchall()[0])
    assert len(found) == 1


@pytest.mark.parametrize(
    "expression", ["VAR_POP(points)", "MEDIAN(points)", "SUM(DISTINCT points)", "STRING_AGG(illness)"]
)
def test_what_has_no_rule_is_refused(expression):
    with pytest.raises(NotSupported):
        resolved(f"SELECT COUNT(*) FROM (SELECT person, {expression} AS x FROM visits GROUP BY person) t")


def test_what_is_computed_from_public_rows_is_public_and_has_no_owner():
    query = resolved(
        "SELECT n, region, COUNT(*) FROM (SELECT region, COUNT(*) AS n FROM wards GROUP BY region) t GROUP BY 1, 2"
    )
    assert not query.private
    assert query.owner == ()
    assert all(key.column.public for key in query.keys)
    beside = resolved(
        "SELECT MAX(n) FROM visits v JOIN (SELECT region, COUNT(*) AS n FROM wards GROUP BY region) t ON v.ward = t.n"
    )
    assert beside.private
    assert len(beside.owner) == 1


@pytest.mark.parametrize("expression", ["COUNT(*)", "SUM(points)", "AVG(points)", "MAX(points)"])
def test_what_is_computed_from_rows_of_people_is_not_public(expression):
    query = resolved(f"SELECT COUNT(x) FROM (SELECT person, {expression} AS x FROM visits GROUP BY person) t")
    assert not query.findings.columns[query.aggregates[0].arguments[0].id].public
