"""Options in comments: read to the end, or refused; hints for others are comments."""

from fractions import Fraction

import pytest

from dpsql.catalog.model import Mode, Noise
from dpsql.errors import DpsqlError, NotUnderstood
from dpsql.sql.parse import parse
from dpsql.sql.syntax import NO_OPTIONS
from tests.kits.cases import cases
from tests.kits.refusals import raised
from tests.kits.rows import read_texts


def options(sql):
    return parse(sql, dialect="duckdb").options


@cases(__file__, "hint=")
@pytest.mark.parametrize("sql", read_texts(__file__, "places of a hint"))
def test_a_hint_says_what_a_clause_would(sql, hint):
    found = options(sql.format(hint))
    assert (found.epsilon.value, found.confidence.value) == (Fraction(1, 10), Fraction(9, 10))
    assert (found.noise.value, found.mode.value) == (Noise.GAUSSIAN, Mode.SCALE)


@cases(__file__, "comment")
def test_every_other_comment_is_one(comment):
    assert options(f"SELECT {comment} COUNT(*) FROM t") == NO_OPTIONS
    assert options(f"SELECT COUNT(*) {comment} FROM t") == NO_OPTIONS


def test_a_hint_in_quotes_is_text():
    assert options("SELECT COUNT(*) FROM t WHERE a = '/*+ dp(epsilon=1) */'") == NO_OPTIONS


@cases(__file__, "hint", "code")
def test_a_hint_that_cannot_be_read_is_refused(hint, code):
    error = raised(DpsqlError, lambda: options(f"SELECT {hint} COUNT(*) FROM t"))
    assert error.code == code, error
    start, end = error.at
    assert 7 <= start < end <= 7 + len(hint)


def test_a_clause_goes_before_a_hint():
    found = options("SELECT /*+ dp(epsilon=1, noise='laplace') */ COUNT(*) FROM t COST 2 CONFIDENCE 0.9")
    assert (found.epsilon.value, found.noise.value, found.confidence.value) == (2, Noise.LAPLACE, Fraction(9, 10))
    margin = options("SELECT /*+ dp(epsilon=1) */ COUNT(*) FROM t WITHIN 5")
    assert (margin.epsilon, margin.within.value) == (None, 5)


def test_a_hint_of_a_query_in_parentheses_is_refused():
    for sql in ("(SELECT /*+ dp(epsilon=1) */ COUNT(*) FROM t)", "(SELECT COUNT(*) FROM t) /*+ dp(epsilon=1) */"):
        error = raised(NotUnderstood, lambda text=sql: options(text))
        assert sql[slice(*error.at)] == "/*+ dp(epsilon=1) */"
