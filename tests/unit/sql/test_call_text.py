"""The parts of a call, against what a reader would point at."""

from dpsql.errors import DpsqlError
from dpsql.sql.clauses import call_text
from tests.kits.cases import cases
from tests.kits.refusals import raised

from stages import bounded


@cases(__file__, "call=", "argument=", "condition=")
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
