"""What is written is read back by DuckDB as the same name, text or type."""

import duckdb
import pytest

from dpsql.catalog.spelling import ENGINE_TYPES, literal, quoted
from dpsql.catalog.types import SqlType
from dpsql.errors import InternalError
from tests.kits.refusals import raised

ODD = ["a", 'a"b', '"', "a b", "a.b", "'", "''; DROP TABLE t; --", "ü", "SELECT", "\n", "$1", "?"]


@pytest.mark.parametrize("name", ODD)
def test_names(name):
    with duckdb.connect() as database:
        assert database.execute(f"SELECT 1 AS {quoted(name)}").description[0][0] == name


@pytest.mark.parametrize("text", [*ODD, "", "\\", "\\'"])
def test_texts(text):
    with duckdb.connect() as database:
        assert database.execute(f"SELECT {literal(text)}").fetchall() == [(text,)]


def test_a_name_with_a_nul_is_no_name():
    raised(InternalError, lambda: quoted("a\0b"))


def test_every_type_has_a_word_the_engine_knows():
    assert set(ENGINE_TYPES) == set(SqlType)
    with duckdb.connect() as database:
        for word in ENGINE_TYPES.values():
            assert str(database.execute(f"SELECT CAST(NULL AS {word})").description[0][1]) == word
