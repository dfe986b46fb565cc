"""FROM and WHERE: what a filter says, and what it does not protect."""

import duckdb
import pytest

from dpsql.catalog.types import SqlType
from dpsql.sql.functions import print_scalar
from dpsql.sql.resolve import Resolved
from dpsql.sql.scalars import Scalar

from stages import resolved

EXTREMES = (None, -(2**63), -(2**63) + 1, -1, 0, 1, 7, 2**62, 2**63 - 1)

ARITHMETIC = ["code * 2", "code + code", "code - 1", "1 - code", "code * code * 10 + 3", "-(code * 3)", "code * 2 // 3"]


def expressions(query: Resolved) -> list[Scalar]:
    """Everything the query computes of its rows above the filter."""
    keys = [key.expression for key in query.keys]
    return keys + [argument for aggregate in query.aggregates for argument in aggregate.arguments]


def computed_first(scalar: Scalar) -> list[object]:
    """The values of an expression on rows that no filter has dropped yet, as an engine may compute them."""
    sql = print_scalar(scalar, dialect="duckdb", column=lambda _: "c")
    rows = ", ".join(f"({'NULL' if value is None else value})" for value in EXTREMES)
    return [
        row[0]
        for row in duckdb.sql(f"SELECT {sql} FROM (SELECT CAST(c AS BIGINT) AS c FROM (VALUES {rows}) v(c))").fetchall()
    ]


@pytest.mark.parametrize("expression", ARITHMETIC)
def test_what_a_filter_makes_small_cannot_fail_on_the_rows_it_drops(expression: str) -> None:
    query = resolved(f"SELECT SUM({expression}) FROM visits WHERE code BETWEEN 0 AND 9 GROUP BY {expression}")
    for scalar in expressions(query):
        assert scalar.type is SqlType.INTEGER, "a filter keeps whole numbers whole"
        values = computed_first(scalar)
        for value in (0, 1, 7):  # rows the filter keeps have the value plain SQL gives them
            sql = expression.replace("code", f"CAST({value} AS BIGINT)")
            assert values[EXTREMES.index(value)] == duckdb.sql(f"SELECT {sql}").fetchall()[0][0]


def test_filters_of_subqueries_do_not_protect_what_is_computed_above_them() -> None:
    sql = "SELECT SUM(c) FROM (SELECT code * 4 AS c FROM visits WHERE code < 5 AND code > -5) t WHERE c > 0"
    query = resolved(sql)
    project = query.relation.input  # type: ignore[union-attr]
    computed = project.expressions[-1]
    assert computed.type is SqlType.INTEGER
    assert len(computed_first(computed)) == len(EXTREMES)


def test_a_released_key_is_shown_as_it_is_whatever_the_filter_says() -> None:
    """Listed keys appear with nobody behind them, also those that no row can have."""
    query = resolved("SELECT code + 1, COUNT(*) FROM visits WHERE code < 5 AND code > 0 GROUP BY code")
    shown = query.finish.outputs[0].expression
    sql = print_scalar(shown, dialect="duckdb", column=lambda _: "c")
    assert duckdb.sql(f"SELECT {sql} FROM (SELECT CAST(1000 AS BIGINT) AS c)").fetchall() == [(1001,)]
