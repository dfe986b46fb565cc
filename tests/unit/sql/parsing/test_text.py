"""Statements are split where a semicolon ends them, and nowhere else. Reserved words are those of the DuckDB in use."""

import duckdb
import pytest

from dpsql.errors import DpsqlError, NotUnderstood
from dpsql.sql.parse import compared, parse, statements
from dpsql.sql.parsing.cursor import RESERVED
from dpsql.sql.parsing.refusals import excerpt
from dpsql.sql.parsing.text import MAX_CHARACTERS, prepared
from tests.kits.cases import cases
from tests.kits.refusals import raised


@cases(__file__, "text=", "found=")
def test_statements(text: str, found: list[tuple[int, str]]) -> None:
    assert list(statements(text)) == found
    assert all(text[offset : offset + len(one)] == one for offset, one in found)


def test_a_text_that_is_too_long_is_one_statement() -> None:
    text = "SELECT 1;" * (MAX_CHARACTERS // 9 + 1)
    assert statements(text) == ((0, text),)


def test_blanks_take_the_place_of_what_is_not_read() -> None:
    text = "EXPLAIN/* a\nb */ PRIVACY SELECT '--' -- x\r , \"/*\" ; ;"
    found = prepared(text)
    assert len(found.plain) == len(text)
    assert found.plain == " " * 11 + "\n" + " " * 13 + "SELECT '--'     \r , \"/*\"    "


def test_a_comparison_has_two_questions() -> None:
    assert compared("EXPLAIN PRIVACY DIFF SELECT ';'; -- and\n SELECT 2;") == ((21, "SELECT ';'"), (41, "SELECT 2"))
    assert compared("SELECT 'EXPLAIN PRIVACY DIFF a; b'") is None
    assert compared("EXPLAIN PRIVACY DIFFERENT") is None
    assert compared("EXPLAIN PRIVACY DIFF a; 'never ends") is None  # `parse` says what is wrong with it
    for text in ("EXPLAIN PRIVACY DIFF", "EXPLAIN PRIVACY DIFF a", "EXPLAIN PRIVACY DIFF a; b; c"):
        with pytest.raises(NotUnderstood, match="compares two questions"):
            compared(text)


def test_nothing_is_shown_of_what_has_no_place() -> None:
    assert excerpt("SELECT a FROM t", None) == ""
    assert excerpt("SELECT a FROM t", (7, 8)) == "a"


def test_reserved_words_are_those_of_duckdb() -> None:
    found = duckdb.execute(
        "SELECT upper(keyword_name) FROM duckdb_keywords() WHERE keyword_category IN ('reserved', 'type_function')"
    ).fetchall()
    assert {word for (word,) in found} == RESERVED


@pytest.mark.parametrize("word", sorted(RESERVED))
def test_a_reserved_word_is_no_name_unless_quoted(word: str) -> None:
    raised(DpsqlError, lambda: parse(f"SELECT a FROM {word}", dialect="duckdb"))
    parse(f'SELECT "{word}" FROM "{word}" AS "{word}"', dialect="duckdb")
