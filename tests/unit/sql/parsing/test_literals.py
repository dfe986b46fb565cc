"""Constants are what DuckDB takes them for."""

from datetime import date, datetime
from fractions import Fraction

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpsql.errors import DpsqlError, NotSupported
from dpsql.sql.parse import parse
from dpsql.sql.parsing.literals import number
from dpsql.sql.syntax import Call, Literal
from tests.kits.refusals import raised
from tests.kits.rows import read_texts
from tests.kits.samples import examples

CONNECTION = duckdb.connect()


def value(text: str) -> object:
    """The constant `parse` finds."""
    found = parse(f"SELECT {text}", dialect="duckdb").query.items[0].expression
    assert isinstance(found, Literal)
    return found.value


def in_duckdb(text: str) -> object:
    row = CONNECTION.execute(f"SELECT {text}").fetchone()
    assert row is not None
    return row[0]


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.characters(blacklist_characters="\x00", blacklist_categories=["Cs"]), max_size=20))
@example("it's")
@example("\\'")
@example("--")
@example("/* */")
@example("\r\n\t")
@example("{{ x }} {% y %} {# z #}")
@example("$$")
@example(";")
def test_a_text_is_exactly_what_is_between_the_quotes(text: str) -> None:
    quoted = "'" + text.replace("'", "''") + "'"
    assert value(quoted) == text
    assert in_duckdb(quoted) == text


@settings(max_examples=200, deadline=None)
@given(st.integers(-(2**63), 2**63 - 1))
def test_whole_numbers(drawn: int) -> None:
    assert value(str(drawn)) == drawn == in_duckdb(str(drawn))


@examples(100, every=300)
@given(st.from_regex(r"-?[0-9]{1,12}\.[0-9]{0,12}|-?[0-9]{1,5}(\.[0-9]{0,5})?[eE][+-]?[0-9]{1,2}", fullmatch=True))
@example("1.e5")
@example("5.")
@example("0.1")
@example("1e308")
@example("4.9e-324")
def test_broken_numbers_are_exact(drawn: str) -> None:
    found = value(drawn)
    assert isinstance(found, Fraction)
    assert found == Fraction(drawn)
    assert float(found) == in_duckdb(f"CAST({drawn} AS DOUBLE)")


@pytest.mark.parametrize("text", ["1_000", "1_2.5", "00012", "000", "0.50"])
def test_ways_to_write_a_number(text: str) -> None:
    found = value(text)
    assert isinstance(found, int | Fraction)
    assert float(found) == float(str(in_duckdb(text)))


@pytest.mark.parametrize(
    "written", ["1e309", "1e-325", "9" * 401 + ".5", "1e1000000000", "1e-" + "9" * 50, "0." + "0" * 400 + "1"]
)
def test_numbers_beyond_a_double_are_refused_without_computing_them(written: str) -> None:
    raised(NotSupported, lambda: number(written, at=None))


@pytest.mark.parametrize("written", ["9223372036854775808", "9" * 5000, "0" * 30 + "9" * 20])
def test_numbers_beyond_64_bits_are_refused(written: str) -> None:
    raised(NotSupported, lambda: number(written, at=None))
    assert number("0" * 5000 + "7", at=None).value == 7
    assert number("9223372036854775808", negative=True, at=None).value == -(2**63)


DATES = ["2020-02-29", "2021-02-29", "0001-01-01", "9999-12-31", "2020-13-01", "2020-1-1", "20200101", " 2020-01-01"]
DATES += ["2020-01-01 ", "infinity", "epoch", "", "2020/01/01", "2020-01-01 00:00:00", "٢٠٢٠-٠١-٠١", "-2020-01-01"]


@pytest.mark.parametrize("text", DATES)
def test_a_plain_date_is_a_constant_and_others_are_left_to_the_cast(text: str) -> None:
    found = parse(f"SELECT DATE '{text}'", dialect="duckdb").query.items[0].expression
    if isinstance(found, Literal):
        assert isinstance(found.value, date)
        assert found.value == in_duckdb(f"DATE '{text}'")
    else:
        assert isinstance(found, Call)
        assert found.function == "to_date"
        assert text not in ("2020-02-29", "0001-01-01", "9999-12-31")


TIMES = read_texts(__file__, "times")
OTHER_TIMES = ["2020-01-02 03:04:05.1234567", "2020-01-02 03:04:05Z", "2020-01-02 03:04:05+01", "2020-01-02 3:4:5"]
OTHER_TIMES += ["2020-01-02 24:00:00", "2020-02-30 00:00:00", "2020-01-02 03:04:60", "2020-01-02  03:04:05", "now"]


@pytest.mark.parametrize("text", TIMES)
def test_a_plain_timestamp_is_a_constant(text: str) -> None:
    found = value(f"TIMESTAMP '{text}'")
    assert isinstance(found, datetime)
    assert found == in_duckdb(f"TIMESTAMP '{text}'")


@pytest.mark.parametrize("text", OTHER_TIMES)
def test_other_timestamps_are_left_to_the_cast(text: str) -> None:
    found = parse(f"SELECT TIMESTAMP '{text}'", dialect="duckdb").query.items[0].expression
    assert isinstance(found, Call)
    assert found.function == "to_timestamp"


@pytest.mark.parametrize("text", ['""', "a'b'", "1a", "$a", "a-b", "//"])
def test_what_is_no_name(text: str) -> None:
    raised(DpsqlError, lambda: parse(f"SELECT {text} FROM {text}", dialect="duckdb"))
