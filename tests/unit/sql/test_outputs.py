"""What is counted by which keys, and what is done with the released rows."""

import pytest

from dpsql.errors import NotSupported, RowLevel
from dpsql.sql.scalars import ColumnRef
from tests.kits.cases import cases
from tests.kits.refusals import raised

from clinic import resolved


def test_an_aggregate_written_twice_is_asked_once_and_knows_its_places():
    sql = "SELECT SUM(age) AS s, sum( age ) + 1 FROM people HAVING s > 3 ORDER BY SUM(age)"
    query = resolved(sql)
    (aggregate,) = query.aggregates
    assert [sql[begin:end] for begin, end in aggregate.places] == ["SUM(age)", "sum( age )", "SUM(age)"]
    assert aggregate.at == aggregate.places[0]


@pytest.mark.parametrize(
    "second", ["SUM(cost)", "AVG(age)", "SUM(DISTINCT age)", "SUM(age) FILTER (WHERE age > 3)", "SUM(age + 1)"]
)
def test_what_differs_is_another_aggregate(second):
    query = resolved(f"SELECT SUM(age), {second} FROM people JOIN visits USING (house, number)")
    assert len(query.aggregates) == 2


def test_the_same_key_twice_is_one_key():
    query = resolved("SELECT city, COUNT(*) FROM people GROUP BY city, people.city, 1")
    assert len(query.keys) == 1


@cases(__file__, "aggregate", "type_=")
def test_the_type_of_a_released_number(aggregate, type_):
    (output,) = resolved(f"SELECT {aggregate} FROM people").finish.outputs
    assert isinstance(output.expression, ColumnRef)
    assert output.expression.type is type_


def test_columns_are_named_as_they_are_written():
    outputs = resolved('SELECT CITY, COUNT(*), SUM(age) AS "My Sum" FROM people GROUP BY city').finish.outputs
    assert [output.name for output in outputs] == ["CITY", "COUNT(*)", "My Sum"]


@pytest.mark.parametrize("sql", ["SELECT age, COUNT(*) FROM people", "SELECT COUNT(*) + age FROM people GROUP BY city"])
def test_a_column_beside_aggregates_is_grouped(sql):
    error = raised(RowLevel, lambda: resolved(sql), match="age is neither grouped nor aggregated")
    assert sql[slice(*error.at)] == "age"


def test_distinct_rows_are_sorted_by_what_they_show():
    resolved("SELECT DISTINCT COUNT(*) AS n FROM people GROUP BY city ORDER BY n")
    with pytest.raises(NotSupported, match="sorted by something it does not show"):
        resolved("SELECT DISTINCT COUNT(*) FROM people GROUP BY city ORDER BY city")


def test_windows_do_not_nest_and_do_not_filter():
    with pytest.raises(NotSupported, match="inside a window"):
        resolved("SELECT RANK() OVER (ORDER BY RANK() OVER (ORDER BY COUNT(*))) FROM people GROUP BY city")
    with pytest.raises(NotSupported, match="in HAVING"):
        resolved("SELECT city FROM people GROUP BY city HAVING RANK() OVER (ORDER BY COUNT(*)) = 1")
