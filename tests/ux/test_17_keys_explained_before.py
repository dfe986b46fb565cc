"""Check 17: groups that everybody may know and groups that must be found: both work, and which is which is said before.

A system fails where an explanation does not say whether groups are listed or found with noise, what becomes of rare
ones and what finding costs; where it says so only afterwards; or where saying it costs anything.
"""

from functools import cache

import pytest

import dpsql

PUBLIC = "SELECT city, COUNT(*) AS n FROM patients GROUP BY city"
CALENDAR = "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY 1"
PRIVATE = "SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis"
LISTED = "SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis KEYS ('flu', 'plague')"


@cache
def ana() -> dpsql.Analyst:
    return dpsql.demo()


def explained(sql: str) -> str:
    """The explanation in one line, and nothing spent for it."""
    before = ana().budget
    told = " ".join(str(ana().explain(sql)).split())
    assert " ".join(str(ana().sql(f"EXPLAIN PRIVACY {sql}")).split()) == told
    assert ana().budget == before
    return told


@pytest.mark.parametrize(("sql", "number"), [(PUBLIC, 4), (CALENDAR, 12), (LISTED, 2)])
def test_public_groups_are_called_public_with_their_number(sql, number):
    told = explained(sql)
    assert f"{number} public groups, all of them appear" in told
    assert "find the private groups" not in told
    assert ana().query(sql).cost.delta == 0
    assert len(ana().sql(sql)) == number


def test_the_names_of_public_groups_are_told():
    assert "the groups of patients.city are public: Basel, Bern, Geneva, Aarau" in explained(PUBLIC)


def test_private_groups_are_called_private_with_what_is_hidden_and_what_it_costs():
    told = explained(PRIVATE)
    assert "find the private groups of diagnosis" in told
    assert "stay hidden" in told
    cost = ana().query(PRIVATE).cost
    assert cost.delta > 0
    assert "δ = 1e-9" in told
    assert "public groups" not in told


def test_a_group_of_one_person_is_not_shown():
    """Bob alone has Wilson disease; a group of one is shown with a probability of 1e-9 at most."""
    shown = ana().sql(PRIVATE)["diagnosis"]
    assert "flu" in shown
    assert "Wilson disease" not in shown


def test_which_columns_have_which_groups_is_a_table():
    rows = ana().sql("SELECT table_name, column_name, keys FROM dp.columns WHERE keys IS NOT NULL ORDER BY 1, 2").rows
    assert rows == (
        ("patients", "city", "public"),
        ("patients", "sex", "public"),
        ("visits", "day", "calendar"),
        ("visits", "diagnosis", "private"),
    )


def test_groups_nobody_declared_are_refused_before():
    with pytest.raises(dpsql.DpsqlError) as caught:
        ana().explain("SELECT name, COUNT(*) FROM patients GROUP BY name")
    assert "just by being listed" in caught.value.why
    assert "IN (" in caught.value.try_sql
