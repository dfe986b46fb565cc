"""Clauses at the end of a statement: where they begin, where they do not, and what is left for the parser."""

from fractions import Fraction

import pytest

from dpsql.errors import DpsqlError
from dpsql.sql.parse import parse
from dpsql.sql.syntax import NO_OPTIONS
from tests.kits.cases import cases
from tests.kits.refusals import raised
from tests.kits.rows import read_texts


def options(sql):
    return parse(sql, dialect="duckdb").options


def values(sql):
    found = options(sql)
    names = ("epsilon", "within", "confidence", "rows_per_person")
    return {name: getattr(found, name).value for name in names if getattr(found, name) is not None}


@cases(__file__, "tail", "said=")
@pytest.mark.parametrize("question", read_texts(__file__, "questions"))
def test_a_clause_is_cut_off_and_the_rest_is_the_question(question, tail, said):
    found = parse(f"{question} {tail};", dialect="duckdb")
    assert values(f"{question} {tail};") == said
    assert found.query == parse(question, dialect="duckdb").query


@cases(__file__, "sql")
def test_words_that_are_not_reserved_are_names(sql):
    assert options(sql) == NO_OPTIONS


@cases(__file__, "sql", "marked")
def test_what_is_wrong_is_marked(sql, marked):
    error = raised(DpsqlError, lambda: options(sql))
    start, end = error.at
    assert sql[start:end] == marked, error


def test_listed_keys_keep_their_types():
    found = options("SELECT a FROM t GROUP BY a KEYS ('it''s', -3, 2.5, TRUE, DATE '2025-01-31')")
    expected = ["it's", -3, Fraction(5, 2), True, found.keys.value[4].value]
    assert [literal.value for literal in found.keys.value] == expected
    assert found.keys.value[4].value.isoformat() == "2025-01-31"
