"""DuckDB's own parser is the oracle: what `parse` accepts, it reads as DuckDB does.

Both readings are those of `tests.oracles.readings`.
"""

from typing import Any

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpsql.errors import DpsqlError
from dpsql.sql.parse import parse
from tests.kits.refusals import raised
from tests.kits.rows import read_texts
from tests.oracles.readings import (
    CONNECTION,
    duckdb_expression,
    duckdb_query,
    duckdb_tree,
    our_expression,
    our_query,
    same,
)

# ---- expressions ----------------------------------------------------------------------------------------------------

OPERANDS = ["a", "b", "t.c", "1", "2.5", "'x'", "NULL", "f(a)", "(a)", "CASE WHEN a THEN b END", "TRUE"]
BETWEEN_OPERANDS = ["+", "-", "*", "/", "//", "%", "**", "^", "||", "=", "<>", "<", "<=", ">", ">=", "AND", "OR"]
BETWEEN_OPERANDS += ["LIKE", "NOT LIKE", "ILIKE", "IS DISTINCT FROM", "IS NOT DISTINCT FROM", "!=", "=="]
BEFORE = ["", "", "", "-", "NOT ", "+ ", "- - "]
AFTER = ["", "", "", "", " IS NULL", " IS NOT NULL", "::INT", " IN (1, 2)", " NOT IN (a)", " BETWEEN a AND b"]
AFTER += [" NOT BETWEEN 1 AND 2", " LIKE 'x' ESCAPE '!'"]

terms = st.tuples(st.sampled_from(BEFORE), st.sampled_from(OPERANDS), st.sampled_from(AFTER)).map("".join)
texts = st.tuples(terms, st.lists(st.tuples(st.sampled_from(BETWEEN_OPERANDS), terms), max_size=5)).map(
    lambda drawn: " ".join([drawn[0], *(f"{operator} {term}" for operator, term in drawn[1])])
)


def disagreement(text: str) -> tuple[Any, Any] | None:
    """Our tree and DuckDB's, where both read the text and they differ."""
    sql = f"SELECT {text} FROM t"
    try:
        mine = same(our_expression(parse(sql, dialect="duckdb").query.items[0].expression))
    except DpsqlError:
        return None
    node = duckdb_tree(sql)
    if node is None:
        return ("not SQL for DuckDB", mine)
    theirs = same(duckdb_expression(node["select_list"][0]))
    return None if mine == theirs else (mine, theirs)


@settings(max_examples=400, deadline=None)
@given(texts)
@example("NOT a = b")
@example("-a ** 2")
@example("2 ** 3 ** 2")
@example("a || b + c")
@example("-a::INT")
@example("a BETWEEN 1 AND 2 AND b")
@example("a = b IS NULL")
@example("NOT a IS NULL || b")
@example("a // b * c % d")
@example("a LIKE 'x' ESCAPE '!' || b")
def test_operators_bind_as_in_duckdb(text: str) -> None:
    """Where both read an expression they read the same one; DuckDB may refuse more."""
    found = disagreement(text)
    assert found is None or found[0] == "not SQL for DuckDB", found


def test_the_oracle_can_disagree() -> None:
    """Without this the test above might compare nothing."""
    node = duckdb_tree("SELECT a - (b - c)")
    assert node is not None
    mine = our_expression(parse("SELECT a - b - c", dialect="duckdb").query.items[0].expression)
    assert same(duckdb_expression(node["select_list"][0])) != same(mine)


def test_names_are_compared_as_duckdb_compares_them() -> None:
    for asked, there, known in (("A", "a", True), ("a", "A", True), ("Ä", "ä", False), ("ſ", "s", False)):
        try:
            CONNECTION.execute(f'SELECT "{asked}" FROM (SELECT 1 AS "{there}")')
            found = True
        except duckdb.BinderException:
            found = False
        items = parse(f'SELECT "{asked}", "{there}"', dialect="duckdb").query.items
        assert (found, our_expression(items[0].expression) == our_expression(items[1].expression)) == (known, known)


# ---- whole queries --------------------------------------------------------------------------------------------------

QUERIES = read_texts(__file__, "queries")  # fmt: skip


@pytest.mark.parametrize("sql", QUERIES)
def test_a_query_is_read_as_duckdb_reads_it(sql: str) -> None:
    node = duckdb_tree(sql)
    assert node is not None
    assert our_query(parse(sql, dialect="duckdb").query) == duckdb_query(node)


WORDS = [
    "SELECT", "FROM", "WHERE", "AND", "OR", "NOT", "AS", "ON", "JOIN", "LEFT", "USING", "IN", "IS", "NULL", "LIKE",
    "BETWEEN", "CASE", "WHEN", "THEN", "END", "GROUP", "BY", "ORDER", "HAVING", "LIMIT", "5", ",", "(", ")", ".", "*",
    "+", "-", "=", "<", "a", "b", "t", "'x'", "1", "DESC", "DISTINCT", "OVER", "FILTER", "WITH", "CAST", "ALL",
]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(QUERIES),
    st.lists(st.tuples(st.integers(0, 80), st.sampled_from(["", *WORDS])), min_size=1, max_size=3),
)
def test_a_mistyped_query_is_refused_or_read_as_duckdb_reads_it(sql: str, mistakes: list[tuple[int, str]]) -> None:
    """Words lost, changed or added: a text that both accept means the same to both."""
    words = sql.split(" ")
    for place, word in mistakes:
        words[place % len(words)] = word
    text = " ".join(words)
    try:
        mine = our_query(parse(text, dialect="duckdb").query)
    except DpsqlError:
        return
    node = duckdb_tree(text)
    if node is not None:
        assert mine == duckdb_query(node)


DANGLING = read_texts(__file__, "dangling")


@pytest.mark.parametrize("text", DANGLING)
def test_what_is_left_unfinished_is_refused(text: str) -> None:
    """A lenient parser would pass over the loose end and answer another question."""
    assert raised(DpsqlError, lambda: parse(text, dialect="duckdb")).code in ("DP100", "DP104")
