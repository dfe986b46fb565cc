"""The words DuckDB keeps for itself are those of the version in use."""

import duckdb
import pytest

from dpsql.errors import DpsqlError
from dpsql.sql.parse import parse
from dpsql.sql.parsing.cursor import RESERVED
from tests.kits.refusals import raised


def test_reserved_words_are_those_of_duckdb() -> None:
    found = duckdb.execute(
        "SELECT upper(keyword_name) FROM duckdb_keywords() WHERE keyword_category IN ('reserved', 'type_function')"
    ).fetchall()
    assert {word for (word,) in found} == RESERVED


@pytest.mark.parametrize("word", sorted(RESERVED))
def test_a_reserved_word_is_no_name_unless_quoted(word: str) -> None:
    raised(DpsqlError, lambda: parse(f"SELECT a FROM {word}", dialect="duckdb"))
    parse(f'SELECT "{word}" FROM "{word}" AS "{word}"', dialect="duckdb")
