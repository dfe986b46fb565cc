"""What is counted by which keys, and what is done with the released rows."""

import pytest

from dpsql.sql.scalars import ColumnRef
from tests.kits.cases import cases

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
