"""The word PRIVATE before a query: read where it is meant, and a name everywhere else."""

import pytest

from dpsql.errors import DpsqlError
from dpsql.sql.parse import parse
from dpsql.sql.syntax import Derived, Name, PrivateValue
from tests.kits.cases import cases
from tests.kits.refusals import raised


def query(sql):
    return parse(sql, dialect="duckdb").query


def test_a_common_table():
    (one, two) = query("WITH a AS PRIVATE (SELECT 1 FROM t), b AS (SELECT 2 FROM a) SELECT 3 FROM b").with_
    assert (one.private, two.private) == (True, False)


def test_a_common_table_with_names_and_more_parentheses():
    (one,) = query("WITH a(x) AS private ((SELECT 1 FROM t)) SELECT x FROM a").with_
    assert one.private
    assert [name.name for name in one.columns] == ["x"]


def test_a_table_in_from():
    sql = "SELECT 1 FROM PRIVATE (SELECT 1 FROM t) AS u JOIN (SELECT 2 FROM t) AS v ON 1 = 1"
    joined = query(sql).from_
    assert isinstance(joined.left, Derived)
    assert (joined.left.private, joined.right.private) == (True, False)
    assert sql[slice(*joined.left.at)] == "PRIVATE (SELECT 1 FROM t) AS u"


@pytest.mark.parametrize(
    "inner",
    ["(SELECT AVG(x) FROM t)", "((SELECT AVG(x) FROM t))", "(WITH a AS (SELECT x FROM t) SELECT AVG(x) FROM a)"],
)
def test_a_value(inner):
    sql = f"SELECT COUNT(*) FROM t WHERE x > PRIVATE {inner}"
    compared = query(sql).where
    value = compared.arguments[1]
    assert isinstance(value, PrivateValue)
    assert sql[slice(*value.at)] == f"PRIVATE {inner}"
    assert sql[slice(*compared.at)] == f"x > PRIVATE {inner}"
    assert value.query.items[0].text == "AVG(x)"


def test_each_value_has_its_own_query():
    found = query(
        "SELECT PRIVATE (SELECT a FROM t) + PRIVATE (SELECT b FROM t), c FROM u "
        "WHERE PRIVATE (SELECT d FROM t) < PRIVATE (SELECT PRIVATE (SELECT f FROM t) + e FROM t)"
    )
    sums, column = found.items
    assert [value.query.items[0].text for value in sums.expression.arguments] == ["a", "b"]
    assert column.text == "c"
    smaller, larger = found.where.arguments
    assert smaller.query.items[0].text == "d"
    nested, plain = larger.query.items[0].expression.arguments
    assert nested.query.items[0].text == "f"
    assert isinstance(plain, Name)


def test_a_comment_and_a_line_break_between_the_word_and_its_query():
    assert isinstance(
        query("SELECT PRIVATE -- (SELECT\n /* x */ (SELECT a FROM t) FROM t").items[0].expression, PrivateValue
    )


@cases(__file__, "sql")
def test_it_belongs_nowhere_else(sql):
    raised(DpsqlError, lambda: query(sql))


@pytest.mark.parametrize(("word", "said"), [("", False), ("PRIVATE ", True)])
def test_a_value_remembers_whether_the_word_was_said(word, said):
    """About people it has to be; about public tables nothing is released."""
    sql = f"SELECT COUNT(*) FROM t WHERE x > /* really */ {word}(SELECT AVG(x) FROM t)"
    value = query(sql).where.arguments[1]
    assert value.said is said
    assert sql[slice(*value.at)] == f"{word}(SELECT AVG(x) FROM t)"
