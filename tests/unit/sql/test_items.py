"""The SELECT list as it is written."""

import pytest

from dpsql.errors import BadName
from dpsql.sql.items import alias_of, has_aggregate, require_ordinal
from dpsql.sql.parse import parse
from tests.kits.cases import cases
from tests.kits.refusals import raised

from clinic import resolved


def items(sql: str):
    return parse(sql, dialect="duckdb").query.items


@pytest.mark.parametrize(
    ("written", "alias"),
    [("age AS A", "a"), ('age AS "Alter"', "alter"), ("p.AGE", "age"), ("COUNT(*)", "count(*)"), ("1 + 1", "1 + 1")],
)
def test_a_column_is_called_by_its_alias_its_name_or_its_text(written, alias):
    (item,) = items(f"SELECT {written} FROM people p")
    assert alias_of(item) == alias


@cases(__file__, "expression", "aggregates=")
def test_what_aggregates(expression, aggregates):
    (item,) = items(f"SELECT {expression} FROM people")
    assert has_aggregate(item.expression) is aggregates


@pytest.mark.parametrize("ordinal", [0, -1, 3])
def test_an_ordinal_is_the_number_of_a_column(ordinal):
    require_ordinal(1, 2, None)
    require_ordinal(2, 2, None)
    raised(BadName, lambda: require_ordinal(ordinal, 2, None), match=f"no column {ordinal} in")


def keys(sql: str):
    return [key.expression for key in resolved(sql).keys]


def test_group_by_means_a_column_before_an_alias():
    """`city` is a column of the table, although an item is called so too."""
    assert keys("SELECT age AS city, COUNT(*) FROM people GROUP BY city, age") == [
        *keys("SELECT COUNT(*) FROM people p GROUP BY p.city"),
        *keys("SELECT COUNT(*) FROM people p GROUP BY p.age"),
    ]


@pytest.mark.parametrize("by", ["1", "decade", "DECADE", "age // 10"])
def test_group_by_an_ordinal_an_alias_or_the_expression(by):
    plain = keys("SELECT COUNT(*) FROM people GROUP BY age // 10")
    assert keys(f"SELECT age // 10 AS decade, COUNT(*) FROM people GROUP BY {by}") == plain
