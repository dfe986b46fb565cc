"""CHECK constraints as DuckDB prints them: read where they say something about one column, silent where they do not."""

from datetime import date
from decimal import Decimal

import duckdb
import pytest

from dpsql.catalog.constraints import Check
from dpsql.suggest.conditions import Known, known


def printed(kind, condition):
    with duckdb.connect() as database:
        database.execute(f'CREATE TABLE t (x {kind}, "two words" {kind}, CHECK ({condition}))')
        return database.execute(
            "SELECT expression FROM duckdb_constraints() WHERE constraint_type = 'CHECK'"
        ).fetchone()[0]


@pytest.mark.parametrize(
    ("kind", "condition", "said"),
    [
        ("INTEGER", "x BETWEEN -5 AND 10", Known(low=Decimal(-5), high=Decimal(10))),
        ("INTEGER", "x > 3 AND 10 > x", Known(low=Decimal(3), above=True, high=Decimal(10), below=True)),
        ("INTEGER", "x >= 0", Known(low=Decimal(0))),
        ("DECIMAL(5,2)", "x <= 99.50", Known(high=Decimal("99.50"))),
        ("INTEGER", "x IN (1, 2, -3)", Known(values=(Decimal(1), Decimal(2), Decimal(-3)))),
        ("INTEGER", "x = 1 OR x = 2", Known(values=(Decimal(1), Decimal(2)))),
        ("VARCHAR", "x IN ('a', 'it''s')", Known(values=("a", "it's"))),
        ("DATE", "x >= DATE '2020-01-01'", Known(low=date(2020, 1, 1))),
        ("BOOLEAN", "x = true", Known(values=(True,))),
    ],
)
def test_what_is_understood(kind, condition, said):
    assert known([Check(columns=("x",), text=printed(kind, condition))]) == {"x": said}


def test_two_constraints_are_the_two_ends_and_a_quoted_name_is_a_name():
    checks = [Check(columns=(), text='("two words" >= 1)'), Check(columns=(), text='("two words" <= 7)')]
    assert known(checks) == {"two words": Known(low=Decimal(1), high=Decimal(7))}


@pytest.mark.parametrize(
    ("kind", "condition"),
    [
        ("VARCHAR", "length(x) < 5"),
        ("INTEGER", "x > 0 OR x IS NULL"),
        ("INTEGER", "NOT (x > 3)"),
        ("INTEGER", "x * 2 < 5"),
        ("INTEGER", 'x < "two words"'),
        ("INTEGER", "x <> 4"),
        ("INTEGER", "x = 1 OR x > 5"),
        ("VARCHAR", "x LIKE 'a%'"),
    ],
)
def test_what_is_not_understood_says_nothing(kind, condition):
    assert known([Check(columns=("x",), text=printed(kind, condition))]) == {}


@pytest.mark.parametrize(
    "text", ["", "(", ")", "x", "((((", "x IN (", "AND AND", "x BETWEEN 1", "'", "x = (1", "CAST("]
)
def test_what_is_no_condition_is_no_error(text):
    known([Check(columns=(), text=text)])
