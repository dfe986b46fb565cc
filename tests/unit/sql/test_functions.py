"""The allow-list: names, which types fit, what is converted, and how literals are written."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from fractions import Fraction

import duckdb
import pytest

from dpsql.errors import BadName, BadParameter, BadType, DpsqlError
from dpsql.sql.functions import (
    FUNCTIONS,
    apply,
    interval_between,
    print_constant,
)
from dpsql.sql.intervals import EVERYTHING, INT64
from dpsql.sql.scalars import Apply, Constant, Scalar

from function_words import COLUMNS, DAY, NULL, TS, B, D, I, T, between, call, double, text, whole

# ---- names ----------------------------------------------------------------------------------------------------------

CANONICAL = """add sub mul div intdiv mod neg concat eq ne lt le gt ge is_null is_not_null is_distinct is_not_distinct
is_true is_false and or not in like ilike case coalesce nullif least greatest clamp abs round floor ceil sign sqrt ln
log10 log2 exp power to_integer to_double to_text to_date to_timestamp to_boolean lower upper trim ltrim rtrim length
substring left right replace starts_with ends_with contains year quarter month week day dow isodow doy hour minute
second date_trunc date_diff date_add"""


def test_the_list_is_exactly_this() -> None:
    assert set(FUNCTIONS) == set(CANONICAL.split())
    assert all(name == entry.name and entry.summary and entry.usage for name, entry in FUNCTIONS.items())


@pytest.mark.parametrize("name", ["random", "now", "error", "clean", "query", "getenv", "md5", "repeat", "DROP", ""])
def test_rule_5_an_unknown_function_is_refused(name: str) -> None:
    with pytest.raises(BadName) as caught:
        apply(name, [COLUMNS[I]], proved=lambda _: EVERYTHING, at=(7, 12))
    assert caught.value.code == "DP401"
    assert caught.value.at == (7, 12)


def test_a_near_miss_is_named() -> None:
    with pytest.raises(BadName, match="substrin") as caught:
        call("substrin", COLUMNS[T], whole(1))
    assert "SUBSTRING" in caught.value.fix


# ---- types ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("add", [COLUMNS[T], whole(1)]),
        ("add", [COLUMNS[I]]),
        ("add", [COLUMNS[TS], whole(1)]),
        ("add", [COLUMNS[DAY], COLUMNS[DAY]]),
        ("sub", [COLUMNS[TS], COLUMNS[TS]]),
        ("mul", [COLUMNS[B], COLUMNS[B]]),
        ("intdiv", [COLUMNS[D], whole(2)]),
        ("eq", [COLUMNS[T], whole(1)]),
        ("eq", [COLUMNS[B], whole(1)]),
        ("eq", [COLUMNS[DAY], COLUMNS[T]]),
        ("eq", [COLUMNS[DAY], text("yesterday")]),
        ("eq", [COLUMNS[DAY], text("2020-02-30")]),
        ("eq", [COLUMNS[DAY], text("2020-01-01 10:00:00")]),
        ("eq", [COLUMNS[I], text("5")]),
        ("and", [COLUMNS[I], COLUMNS[B]]),
        ("not", [COLUMNS[T]]),
        ("is_true", [COLUMNS[I]]),
        ("case", [COLUMNS[I], whole(1), whole(2)]),
        ("case", [COLUMNS[B], whole(1), text("a")]),
        ("case", [COLUMNS[B]]),
        ("coalesce", []),
        ("coalesce", [COLUMNS[I], text("a")]),
        ("concat", [COLUMNS[I], COLUMNS[I]]),
        ("like", [COLUMNS[T], COLUMNS[T]]),
        ("like", [COLUMNS[T], text("a!"), text("!")]),
        ("like", [COLUMNS[T], text("a!!!"), text("!")]),
        ("like", [COLUMNS[T], text("a"), text("!!")]),
        ("like", [COLUMNS[T], text("a"), text("é")]),
        ("like", [COLUMNS[I], text("1%")]),
        ("replace", [COLUMNS[T], COLUMNS[T], text("a")]),
        ("clamp", [COLUMNS[I], COLUMNS[I], whole(3)]),
        ("clamp", [COLUMNS[I], NULL, whole(3)]),
        ("clamp", [COLUMNS[T], text("a"), text("b")]),
        ("round", [COLUMNS[D], COLUMNS[I]]),
        ("round", [COLUMNS[D], whole(301)]),
        ("sqrt", [COLUMNS[T]]),
        ("year", [COLUMNS[I]]),
        ("year", [text("soon")]),
        ("date_trunc", [text("fortnight"), COLUMNS[DAY]]),
        ("date_trunc", [COLUMNS[T], COLUMNS[DAY]]),
        ("date_add", [text("day"), COLUMNS[D], COLUMNS[DAY]]),
        ("to_date", [COLUMNS[I]]),
        ("to_integer", [COLUMNS[DAY]]),
        ("substring", [COLUMNS[T], COLUMNS[D]]),
        ("length", [COLUMNS[T], COLUMNS[T]]),
        ("add", [Constant(10**400, I), whole(1)]),
    ],
)
def test_types_that_do_not_fit_are_refused(function: str, arguments: Sequence[Scalar]) -> None:
    with pytest.raises(BadType) as caught:
        apply(function, arguments, proved=lambda _: EVERYTHING, at=(1, 2))
    assert caught.value.at == (1, 2)
    assert caught.value.why
    assert caught.value.fix


def test_reversed_limits_are_refused() -> None:
    with pytest.raises(BadParameter, match="reversed"):
        call("clamp", COLUMNS[I], whole(5), whole(3))
    assert call("clamp", COLUMNS[I], whole(3), whole(3)).type is I


@pytest.mark.parametrize(
    ("scalar", "expected"),
    [
        (call("lt", COLUMNS[I], COLUMNS[D]), Apply("lt", (Apply("to_double", (COLUMNS[I],), D), COLUMNS[D]), B)),
        (call("lt", COLUMNS[D], whole(5)), Apply("lt", (COLUMNS[D], double(5)), B)),
        (
            call("ge", COLUMNS[DAY], COLUMNS[TS]),
            Apply("ge", (Apply("to_timestamp", (COLUMNS[DAY],), TS), COLUMNS[TS]), B),
        ),
        (call("eq", COLUMNS[DAY], text("2020-1-31")), Apply("eq", (COLUMNS[DAY], Constant(date(2020, 1, 31), DAY)), B)),
        (
            call("in", COLUMNS[TS], text("2020-01-31"), text("2020-01-31 10:30:00.25")),
            Apply(
                "in",
                (
                    COLUMNS[TS],
                    Constant(datetime(2020, 1, 31), TS),
                    Constant(datetime(2020, 1, 31, 10, 30, 0, 250000), TS),
                ),
                B,
            ),
        ),
        (call("coalesce", NULL, COLUMNS[DAY]), Apply("coalesce", (Constant(None, DAY), COLUMNS[DAY]), DAY)),
        (call("case", COLUMNS[B], COLUMNS[I]), Apply("case", (COLUMNS[B], COLUMNS[I], Constant(None, I)), I)),
        (call("case", COLUMNS[B], whole(1), COLUMNS[D]), Apply("case", (COLUMNS[B], double(1), COLUMNS[D]), D)),
        (call("neg", whole(5)), whole(-5)),
        (call("neg", Constant(2**63, I)), whole(-(2**63))),
        (call("neg", Constant(2**64, I)), Constant(Fraction(-(2**64)), D)),
        (call("neg", whole(-(2**63))), Apply("neg", (whole(-(2**63)),), I)),
        (call("neg", Constant(Fraction(1, 10), D)), Constant(Fraction(-1, 10), D)),
        (
            call("eq", COLUMNS[I], Constant(2**63, I)),
            Apply("eq", (Apply("to_double", (COLUMNS[I],), D), double(2.0**63)), B),
        ),
        (call("round", COLUMNS[I], whole(2)), COLUMNS[I]),
        (call("and", COLUMNS[B]), COLUMNS[B]),
        (call("to_integer", COLUMNS[I]), COLUMNS[I]),
        (call("to_date", NULL), Constant(None, DAY)),
        (call("floor", COLUMNS[I]), Apply("floor", (Apply("to_double", (COLUMNS[I],), D),), D)),
        (call("concat", COLUMNS[T], COLUMNS[I]), Apply("concat", (COLUMNS[T], Apply("to_text", (COLUMNS[I],), T)), T)),
        (call("date_trunc", text("Months"), COLUMNS[DAY]), Apply("date_trunc", (text("month"), COLUMNS[DAY]), TS)),
        (
            call("sub", COLUMNS[DAY], text("2020-01-01")),
            Apply("date_diff", (text("day"), Constant(date(2020, 1, 1), DAY), COLUMNS[DAY]), I),
        ),
    ],
)
def test_conversions_are_written_out(scalar: Scalar, expected: Scalar) -> None:
    assert scalar == expected


@pytest.mark.parametrize("function", ["add", "sub", "mul"])
def test_rule_6_whole_numbers_that_might_overflow_are_doubles(function: str) -> None:
    edge = {"add": 2**62, "sub": 2**62 - 1, "mul": 2**31}[function]
    fits = call(function, COLUMNS[I], COLUMNS[I], proved=lambda _: between(-edge + 1, edge - 1))
    assert fits == Apply(function, (COLUMNS[I], COLUMNS[I]), I)
    for unproved in (EVERYTHING, INT64, between(-edge * 2, edge * 2), between(-1, None)):
        scalar = call(function, COLUMNS[I], COLUMNS[I], proved=lambda _, known=unproved: known)  # type: ignore[misc]
        assert scalar == Apply(function, (Apply("to_double", (COLUMNS[I],), D),) * 2, D)


def test_rule_6_the_exact_edge_of_64_bits() -> None:
    known = {whole(1): between(1, 1), COLUMNS[I]: between(None, 2**63 - 2)}
    proved = known.__getitem__
    assert call("add", COLUMNS[I], whole(1), proved=proved).type is I
    known[COLUMNS[I]] = between(None, 2**63 - 1)
    assert call("add", COLUMNS[I], whole(1), proved=proved).type is D


# ---- literals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("constant", "expected"),
    [
        (whole(-5), "CAST(-5 AS BIGINT)"),
        (Constant(True, B), "TRUE"),
        (text("O'Re'illy"), "'O''Re''illy'"),
        (Constant(Fraction(1, 10), D), "0.1e0"),
        (double(-2.5), "(-2.5e0)"),
        (double(1e23), "1e+23"),
        (Constant(3, D), "3.0e0"),
        (Constant(date(1, 2, 3), DAY), "DATE '0001-02-03'"),
        (Constant(datetime(2020, 1, 31, 10, 30, 0, 5), TS), "TIMESTAMP '2020-01-31 10:30:00.000005'"),
        (Constant(None, DAY), "CAST(NULL AS DATE)"),
    ],
)
def test_literals_are_written_with_their_type(constant: Constant, expected: str) -> None:
    assert print_constant(constant) == expected


@pytest.mark.parametrize(
    "constant",
    [
        text("\ud800"),
        text("\0\udfff"),
        whole(2**63),
        Constant(True, I),
        Constant(1, B),
        Constant("1", I),
        Constant(Fraction(2) ** 1024, D),
        Constant(datetime(2020, 1, 1), DAY),
        Constant(date(2020, 1, 1), TS),
    ],
)
def test_what_is_no_literal_of_its_type_is_refused(constant: Constant) -> None:
    with pytest.raises(DpsqlError) as caught:
        print_constant(constant)
    assert caught.value.code == "DP405"


@pytest.mark.parametrize("value", ["a\0b", "\0", "\0" * 50_000, "'\0''é\0\U0001f600", "", "'", "\\", "$1", "x" * 10**6])
def test_the_engine_reads_back_every_text(value: str) -> None:
    """Also one with the character NUL, which no statement can hold: a key that was released may have it."""
    printed = print_constant(text(value))
    assert "\0" not in printed
    assert duckdb.sql(f"SELECT {printed} AS v, typeof(v)").fetchall() == [(value, "VARCHAR")]


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 0, 2147483648])
def test_whole_literals_have_64_bits_in_the_engine(value: int) -> None:
    rows = duckdb.sql(f"SELECT {print_constant(whole(value))} AS v, typeof(v)").fetchall()
    assert rows == [(value, "BIGINT")]


def test_bounds_of_dates_among_timestamps_are_midnights() -> None:
    day = Constant(date(1970, 1, 2), TS)
    assert interval_between(day, day) == between(86_400_000_000, 86_400_000_000)
    assert interval_between(Constant(date(1970, 1, 2), DAY), Constant(date(1970, 1, 3), DAY)) == between(1, 2)
