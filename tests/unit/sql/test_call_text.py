"""The parts of a call, against what a reader would point at."""

import pytest

from dpsql.errors import DpsqlError
from dpsql.sql.clauses import call_text
from tests.kits.cases import cases
from tests.kits.refusals import raised

from stages import bounded


@pytest.mark.parametrize(
    ("call", "argument", "condition"),
    [
        ("SUM(charge)", "charge", ""),
        ("SUM( (a + b) * 2 )", "(a + b) * 2", ""),
        ("SUM(1 / age) FILTER (WHERE city='a')", "1 / age", "city='a'"),
        ("count_if(x > 3) filter(where (y) and z)", "x > 3", "(y) and z"),
        ("SUM(CASE WHEN t = 'a)''(' THEN 1 END)", "CASE WHEN t = 'a)''(' THEN 1 END", ""),
        ('SUM("od)d (") FILTER (WHERE "(" > 1)', '"od)d ("', '"(" > 1'),
        ("SUM(x -- all (of them\n)", "x", ""),
        ("SUM(/* ) */ x) FILTER (WHERE y /* ( */)", "x", "y"),
        ("COUNT(*)", "*", ""),
        ("SUM(x + 1, contribution_bounds_per_group => (0, 9)) FILTER (WHERE y)", "x + 1", "y"),
        ("", "", ""),
        ("COUNT", "", ""),
    ],
)
def test_the_argument_and_the_filter(call, argument, condition):
    found = call_text(call)
    assert (found.argument, found.filter) == (argument, condition)
    assert found.argument in call[slice(*found.span)]


def refusal(sql: str) -> DpsqlError:
    return raised(DpsqlError, lambda: bounded(sql))


@cases(__file__, "sql", "proposal=")
def test_a_rewrite_compiles_or_there_is_none(sql, proposal):
    error = refusal(sql)
    assert error.try_sql == proposal
    if proposal is not None:
        bounded(proposal)
    assert "needs limits for code" in error.what or "needs limits for 1 / code" in error.what


@cases(__file__, "sql", "instead")
def test_other_words_are_sql(sql, instead):
    assert refusal(sql).fix == f"write {instead}"
    bounded(f"SELECT {instead} FROM visits")
