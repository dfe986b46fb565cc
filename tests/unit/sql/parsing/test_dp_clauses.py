"""What no other SQL has: clauses at the end of a statement, options in comments, the word PRIVATE before a query. Where
they are read, where they are names and comments like others, and what is left for the parser."""

from fractions import Fraction

import pytest

from dpsql.catalog.model import Mode, Noise
from dpsql.errors import DpsqlError, NotUnderstood
from dpsql.sql.parse import parse
from dpsql.sql.syntax import NO_OPTIONS, Derived, Name, PrivateValue
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


# Options in comments: read to the end, or refused; hints for others are comments.


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


# The word PRIVATE before a query: read where it is meant, and a name everywhere else.


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
