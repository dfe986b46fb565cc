"""Functions of one row: what is one, and what only looks like one. What is counted by which keys, and then released."""

from datetime import date

import pytest

from dpsql.catalog.types import SqlType
from dpsql.errors import DpsqlError, NotSupported
from dpsql.sql.expressions import constant
from dpsql.sql.relations import Filter
from dpsql.sql.scalars import Apply, ColumnRef, Constant, walk
from dpsql.sql.syntax import Star
from tests.kits.cases import cases
from tests.kits.refusals import raised

from clinic import resolved


def where(condition: str):
    relation = resolved(f"SELECT COUNT(*) FROM people WHERE {condition}").relation
    assert isinstance(relation, Filter)
    return relation.condition


def test_names_become_columns_and_literals_constants():
    condition = where("age > 3")
    assert isinstance(condition, Apply)
    column, literal = condition.arguments
    assert isinstance(column, ColumnRef)
    assert literal == Constant(3, SqlType.INTEGER)
    assert condition.type is SqlType.BOOLEAN


def test_today_is_a_literal():
    """The clock is an argument of `resolve`: no function of the engine is left."""
    found = [node for node in walk(where("CURRENT_DATE > DATE '2020-01-01'")) if isinstance(node, Constant)]
    assert {node.type for node in found} == {SqlType.DATE}
    assert len(found) == 2
    assert all(isinstance(node.value, date) for node in found)


@cases(__file__, "condition", "error=", "marked")
def test_what_is_no_function_of_one_row_is_refused_at_its_place(condition, error, marked):
    sql = f"SELECT COUNT(*) FROM people WHERE {condition}"
    with pytest.raises(DpsqlError) as caught:
        resolved(sql)
    assert isinstance(caught.value, error), caught.value
    assert sql[slice(*caught.value.at)] == marked


def test_a_whole_row_is_no_value():
    assert raised(NotSupported, lambda: constant(Star(at=(7, 8)))).at == (7, 8)


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
