"""What a refusal offers instead: columns that stand beside the one it refuses, and names that are SQL."""

import pytest

from dpsql.catalog.check import checked
from dpsql.catalog.load import loads
from dpsql.errors import Hidden, OnePersonsValue
from dpsql.sql.check import check
from tests.kits.cases import cases
from tests.kits.refusals import raised

from clinic import POLICY, SCHEMA, resolved


def hidden(sql: str) -> str:
    return raised(Hidden, lambda: check(resolved(sql))).fix


@pytest.mark.parametrize("tables", ["people p JOIN visits v", "visits v JOIN people p"])
def test_public_groups_are_those_beside_the_hidden_one(tables):
    """`city` has keys and stands in people, whichever table is named first; visits has no column with keys."""
    sql = f"SELECT COUNT(*) FROM {tables} ON p.house = v.house AND p.number = v.number WHERE p.name = 'x'"
    assert hidden(sql).startswith("use another column; public groups here: city (2). ")


def test_nothing_stands_beside_a_computed_column():
    assert hidden("SELECT COUNT(*) FROM (SELECT house + 1 AS h FROM people) WHERE h = 3").startswith(
        "use another column. It may be counted"
    )


@pytest.mark.parametrize("items", ["label", "*", "code, UPPER(label) AS l"])
def test_a_hidden_column_of_public_rows_is_not_shown(items):
    """Of private rows nothing is shown anyway."""
    codes = "[table.codes]\npublic = true\n"
    policy = POLICY.replace(codes, f"{codes}[table.codes.columns]\ncode = {{}}\nlabel = {{ hidden = true }}\n")
    catalog = checked(loads(policy, name="dpsql.toml"), SCHEMA)
    check(resolved("SELECT code FROM codes", catalog))
    with pytest.raises(Hidden, match="showing label is not allowed"):
        check(resolved(f"SELECT {items} FROM codes", catalog))


# Aggregates of one person's value: the advice fits the value, and the rewrite keeps the question around it.


def refusal(sql: str) -> OnePersonsValue:
    return raised(OnePersonsValue, lambda: check(resolved(sql)))


def rewrites(sql: str) -> list[str]:
    error = refusal(sql)
    return [each for each in (error.try_sql, *error.or_else) if each is not None]


@cases(__file__, "call", "others=")
def test_it_is_asked_in_its_place(call, others):
    assert rewrites(f"SELECT {call} FROM people") == [f"SELECT {other} FROM people" for other in others]


@pytest.mark.parametrize("name", [" AS median_age", " median_age", ' AS "the median, of age"', "\n  as m "])
def test_its_name_is_not_given_to_another_statistic(name):
    asked = f"SELECT city, MEDIAN(age){name}, COUNT(*) AS n FROM people GROUP BY city ORDER BY n"
    assert rewrites(asked) == ["SELECT city, AVG(age), COUNT(*) AS n FROM people GROUP BY city ORDER BY n"]


@cases(__file__, "asked")
def test_another_statistic_is_not_compared_or_computed_with(asked):
    assert rewrites(asked) == []


def test_texts_are_counted_as_groups():
    assert rewrites("SELECT MODE(city) FROM people WHERE age > 3") == [
        "SELECT city, COUNT(*) FROM people WHERE age > 3 GROUP BY city"
    ]
    assert rewrites("SELECT age, MODE(city) AS usual FROM people GROUP BY age") == [
        "SELECT age, city, COUNT(*) FROM people GROUP BY age, city"
    ]


def test_all_of_them_are_replaced_together():
    assert rewrites("SELECT MIN(age), MAX(age) FROM people")[0] == (
        "SELECT COUNT(*) FILTER (WHERE age < 11), COUNT(*) FILTER (WHERE age > 99) FROM people"
    )
    assert rewrites("SELECT MIN(age), MODE(city) FROM people") == []
