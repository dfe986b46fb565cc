"""What is written is read back, by DuckDB and by TOML, as the same name, text, type or value, and steers nobody who
looks at it; names fold as the engine folds them."""

import tomllib
from datetime import date, datetime
from decimal import Decimal

import duckdb
import pytest

from dpsql.catalog.names import did_you_mean, dotted, folded
from dpsql.catalog.spelling import ENGINE_TYPES, literal, quoted, toml, toml_key
from dpsql.catalog.types import SqlType
from dpsql.errors import InternalError
from tests.kits.cases import cases
from tests.kits.refusals import raised

ODD_NAMES = ["a", 'a"b', '"', "a b", "a.b", "'", "''; DROP TABLE t; --", "ü", "SELECT", "\n", "$1", "?"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_names(name):
    with duckdb.connect() as database:
        assert database.execute(f"SELECT 1 AS {quoted(name)}").description[0][0] == name


@pytest.mark.parametrize("text", [*ODD_NAMES, "", "\\", "\\'"])
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


ODD = ["a", "a.b", "", 'a"]\nx = [1', "\x1b[31m", "back\\slash", "\u202ebidi", "\u2028", "\x85", "\x7f", "😀é", "a b"]


@pytest.mark.parametrize("text", ODD)
def test_texts_and_keys_of_toml(text):
    written = f"{toml_key(text)} = {toml(text)}"
    assert tomllib.loads(written) == {text: text}
    assert written.isprintable()


@pytest.mark.parametrize(
    "value", [True, False, 0, -5, 10**15, 0.1, Decimal("0.10"), date(2024, 2, 1), datetime(2024, 2, 1, 8, 30)]
)
def test_values_of_toml(value):
    read = tomllib.loads(f"x = {toml((value, 'a'))}", parse_float=type(value) if isinstance(value, Decimal) else float)
    assert read["x"] == [value, "a"]
    assert type(read["x"][0]) is type(value)


@cases(__file__, "one", "other")
def test_two_names_are_one_exactly_where_duckdb_says_so(one, other):
    """`str.lower` would take é and É for one name: two columns of an engine, of which one may be hidden."""
    with duckdb.connect() as connection:
        connection.execute(f'CREATE TABLE "{one}x" (x INTEGER)')
        try:
            connection.execute(f'CREATE TABLE "{other}x" (x INTEGER)')
            same = False
        except duckdb.CatalogException:
            same = True
    assert (folded(one) == folded(other)) == same


def test_every_ascii_letter_and_nothing_else():
    everything = "".join(map(chr, range(0x500)))
    assert folded(everything) == "".join(chr(c + 32) if 65 <= c <= 90 else chr(c) for c in range(0x500))


def test_suggestions():
    assert did_you_mean("Dianosis", ["charge", "diagnosis"]) == ". Did you mean diagnosis?"
    assert did_you_mean("x", ["charge", "diagnosis"]) == ""


def test_places_as_people_read_them():
    assert dotted(("table", "visits", "columns", "charge")) == "table.visits.columns.charge"
    assert dotted(("grant", 0, "budget")) == "grant[1].budget"
    assert dotted(("table", "my table", "rows")) == 'table."my table".rows'
