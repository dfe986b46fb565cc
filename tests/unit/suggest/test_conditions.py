"""CHECK constraints as DuckDB prints them: read where they say something about one column, silent where they do not."""

from decimal import Decimal

import duckdb
import pytest

from dpsql.engines.engine import Check
from dpsql.suggest.columns import Known, known
from tests.kits.cases import cases


def printed(kind, condition):
    with duckdb.connect() as database:
        database.execute(f'CREATE TABLE t (x {kind}, "two words" {kind}, CHECK ({condition}))')
        return database.execute(
            "SELECT expression FROM duckdb_constraints() WHERE constraint_type = 'CHECK'"
        ).fetchone()[0]


@cases(__file__, "kind", "condition", "said=")
def test_what_is_understood(kind, condition, said):
    assert known([Check(columns=("x",), text=printed(kind, condition))]) == {"x": said}


def test_two_constraints_are_the_two_ends_and_a_quoted_name_is_a_name():
    checks = [Check(columns=(), text='("two words" >= 1)'), Check(columns=(), text='("two words" <= 7)')]
    assert known(checks) == {"two words": Known(low=Decimal(1), high=Decimal(7))}


@cases(__file__, "kind", "condition")
def test_what_is_not_understood_says_nothing(kind, condition):
    assert known([Check(columns=("x",), text=printed(kind, condition))]) == {}


@pytest.mark.parametrize(
    "text", ["", "(", ")", "x", "((((", "x IN (", "AND AND", "x BETWEEN 1", "'", "x = (1", "CAST("]
)
def test_what_is_no_condition_is_no_error(text):
    known([Check(columns=(), text=text)])
