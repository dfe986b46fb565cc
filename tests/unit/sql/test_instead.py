"""What is proposed instead keeps the rows, the filter and the words of the question."""

import pytest

from dpsql.sql.instead import counted, of_listed_groups, per_person, public_groups, statistics_of_rows, without_hidden
from dpsql.sql.parse import parse

from clinic import resolved


@pytest.mark.parametrize("names", [("people",), ("people", "city"), ("order", "group"), ("two words",), ("t", 'a"b')])
def test_a_proposed_count_is_sql(names):
    parse(counted(*names), dialect="duckdb")


def test_plain_names_stand_without_quotes():
    assert counted("people", "city") == "SELECT city, COUNT(*) FROM people GROUP BY city"


@pytest.mark.parametrize(
    ("sql", "first"),
    [
        ("SELECT * FROM people", "SELECT city, COUNT(*) FROM people GROUP BY city"),
        ("SELECT age, city FROM people WHERE age > 3", "SELECT city, AVG(age) FROM people WHERE age > 3 GROUP BY city"),
        ("SELECT age FROM people", "SELECT AVG(age) FROM people"),
        ("SELECT UPPER(city) FROM people", "SELECT city, COUNT(*) FROM people GROUP BY city"),
        ("SELECT note FROM visits WHERE cost > 3", "SELECT COUNT(*) FROM visits WHERE cost > 3"),
    ],
)  # fmt: skip
def test_rows_become_a_statistic_of_them(sql, first):
    assert next(iter(statistics_of_rows(resolved(sql)))) == first


def test_a_text_that_cannot_be_cut_leaves_the_table():
    assert list(statistics_of_rows(resolved("SELECT /*+ dp(epsilon=0.1) */ note FROM visits"))) == [
        "SELECT COUNT(*) FROM visits"
    ]


def test_a_hidden_group_gives_way_to_a_public_one():
    query = resolved("SELECT p.name AS who, AVG(age) FROM people p WHERE age > 3 GROUP BY p.name ORDER BY 1")
    hidden = next(column for use in query.uses for column in use.columns if column.hidden)
    assert list(without_hidden(hidden, query)) == [
        "SELECT p.city AS who, AVG(age) FROM people p WHERE age > 3 GROUP BY p.city",
        "SELECT city, COUNT(*) FROM people GROUP BY city",
    ]
    assert public_groups("people", query) == ["city (2)"]


def test_groups_are_listed_beside_the_filter():
    query = resolved("SELECT note, COUNT(*) FROM visits WHERE cost > 3 OR cost < 1 GROUP BY note HAVING COUNT(*) > 5")
    assert of_listed_groups(query.keys[0], query) == (
        "SELECT note, COUNT(*) FROM visits WHERE (cost > 3 OR cost < 1) AND note IN ('a', 'b') GROUP BY note "
        "HAVING COUNT(*) > 5"
    )


def test_a_row_for_each_person_becomes_an_average_over_people():
    query = resolved(
        "SELECT visit, SUM(cost) AS total FROM visits WHERE cost > 3 GROUP BY visit ORDER BY total COST 0.1"
    )
    assert per_person(query.keys[0], query) == (
        "SELECT AVG(total) FROM (SELECT visit, SUM(cost) AS total FROM visits WHERE cost > 3 GROUP BY visit) AS t "
        "COST 0.1"
    )
