"""What is proposed instead keeps the rows, the filter and the words of the question."""

import pytest

from dpsql.errors import Hidden
from dpsql.sql.check import check
from dpsql.sql.instead import of_listed_groups, per_person, public_groups, statistics_of_rows, with_key, without_hidden
from tests.kits.cases import cases
from tests.kits.planning import declared
from tests.kits.refusals import raised

from clinic import COLUMNS, POLICY, resolved


@cases(__file__, "sql", "first")
def test_rows_become_a_statistic_of_them(sql, first):
    assert next(iter(statistics_of_rows(resolved(sql)))) == first


@pytest.mark.parametrize(
    "sql",
    ["SELECT /*+ dp(epsilon=0.1) */ note FROM visits", "SELECT note, SUM(cost) OVER (PARTITION BY visit) FROM visits"],
)
def test_where_the_rows_or_the_statistic_are_unclear_nothing_is_proposed(sql):
    assert list(statistics_of_rows(resolved(sql))) == []


def without(sql):
    query = resolved(sql)
    use, column = next((use, column) for use in query.uses for column in use.columns if column.hidden)
    return list(without_hidden(use, column, query))


def test_a_hidden_group_gives_way_to_a_public_one():
    assert without("SELECT p.name AS who, AVG(age) FROM people p WHERE age > 3 GROUP BY p.name ORDER BY 1") == [
        "SELECT p.city, AVG(age) FROM people p WHERE age > 3 GROUP BY p.city ORDER BY 1"
    ]
    assert without("SELECT name, COUNT(DISTINCT name) AS people FROM people GROUP BY name") == [
        "SELECT city, COUNT(DISTINCT name) AS people FROM people GROUP BY city",  # the city of a city is one city
    ]
    assert public_groups("people", resolved("SELECT COUNT(*) FROM people")) == ["city (2)"]


def test_hidden_cells_of_a_public_table_give_way_to_its_groups():
    columns = "public = true\n[table.codes.columns]\nlabel = { hidden = true }\ncode = { keys = [1, 2] }"
    catalog = declared(POLICY.replace("[table.codes]\npublic = true", f"[table.codes]\n{columns}"), COLUMNS)
    error = raised(Hidden, lambda: check(resolved("SELECT UPPER(label), code FROM codes WHERE code > 1", catalog)))
    assert error.try_sql == "SELECT code, COUNT(*) FROM codes WHERE code > 1 GROUP BY code"


@cases(__file__, "sql")
def test_a_question_that_needs_the_hidden_column_is_not_turned_into_another(sql):
    assert without(sql) == []


def test_a_group_is_written_anew_where_it_is_a_group():
    """What aggregates and filters read of it is another question about it."""
    query = resolved(
        "SELECT cost, SUM(1 + cost), COUNT(*) FILTER (WHERE cost > 3.5) FROM visits GROUP BY cost ORDER BY cost"
    )
    assert with_key(query.keys[0], "CAST(cost AS INTEGER)", query) == (
        "SELECT CAST(cost AS INTEGER), SUM(1 + cost), COUNT(*) FILTER (WHERE cost > 3.5) FROM visits "
        "GROUP BY CAST(cost AS INTEGER) ORDER BY CAST(cost AS INTEGER)"
    )


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


def test_people_who_are_chosen_by_having_are_counted():
    query = resolved("SELECT visit, COUNT(*) FROM visits WHERE cost > 3 GROUP BY visit HAVING COUNT(*) > 2 LIMIT 5")
    assert per_person(query.keys[0], query) == (
        "SELECT COUNT(*) FROM (SELECT visit FROM visits WHERE cost > 3 GROUP BY visit HAVING COUNT(*) > 2) AS t"
    )


def test_the_price_in_a_hint_is_not_lost_in_a_proposal():
    query = resolved("SELECT /*+ dp(epsilon=0.1) */ cost, COUNT(*) FROM visits GROUP BY cost")
    assert with_key(query.keys[0], "CAST(cost AS INTEGER)", query) is None
    assert of_listed_groups(query.keys[0], query) is None
