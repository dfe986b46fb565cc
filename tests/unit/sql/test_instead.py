"""Counts that are proposed can be read, whatever the names are."""

import pytest

from dpsql.sql.instead import counted
from dpsql.sql.parse import parse


@pytest.mark.parametrize("names", [("people",), ("people", "city"), ("order", "group"), ("two words",), ("t", 'a"b')])
def test_a_proposed_count_is_sql(names):
    parse(counted(*names), dialect="duckdb")


def test_plain_names_stand_without_quotes():
    assert counted("people", "city") == "SELECT city, COUNT(*) FROM people GROUP BY city"
