"""The allow-list: names, which types fit, what is converted, and how literals are written."""

from datetime import date, datetime, timedelta
from fractions import Fraction

import duckdb
import pytest

from dpsql.errors import BadName, BadParameter, BadType, DpsqlError
from dpsql.sql.functions import FUNCTIONS, apply, interval_between, interval_of, print_constant, print_scalar, refined
from dpsql.sql.intervals import EVERYTHING, INT64, Interval
from dpsql.sql.scalars import Apply, AwaitedValue, ColumnRef, Constant, Scalar
from tests.kits.cases import cases
from tests.kits.refusals import raised

from function_words import COLUMNS, DAY, TS, B, D, I, T, between, call, double, text, whole, written

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
    error = raised(BadName, lambda: apply(name, [COLUMNS[I]], proved=lambda _: EVERYTHING, at=(7, 12)))
    assert error.code == "DP401"
    assert error.at == (7, 12)


def test_a_near_miss_is_named() -> None:
    assert "SUBSTRING" in raised(BadName, lambda: call("substrin", COLUMNS[T], whole(1)), match="substrin").fix


# ---- types ----------------------------------------------------------------------------------------------------------


@cases(__file__, "expression")
def test_types_that_do_not_fit_are_refused(expression: str) -> None:
    error = raised(BadType, lambda: written(expression, at=(1, 2)))
    assert error.at == (1, 2)
    assert error.why
    assert error.fix


def test_reversed_limits_are_refused() -> None:
    raised(BadParameter, lambda: call("clamp", COLUMNS[I], whole(5), whole(3)), match="reversed")
    assert call("clamp", COLUMNS[I], whole(3), whole(3)).type is I


@cases(__file__, "expression", "expected")
def test_conversions_are_written_out(expression: str, expected: str) -> None:
    assert written(expression) == written(expected)


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


@cases(__file__, "constant", "expected")
def test_literals_are_written_with_their_type(constant: str, expected: str) -> None:
    assert print_constant(written(constant)) == expected


@cases(__file__, "constant=")
def test_what_is_no_literal_of_its_type_is_refused(constant: Constant) -> None:
    assert raised(DpsqlError, lambda: print_constant(constant)).code == "DP405"


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


# What is proved about expressions, by hand: ranges, and what conditions say about columns.

# ---- ranges ---------------------------------------------------------------------------------------------------------

RANGES = {1: between(0, 1), 2: between(-5, 100), 3: EVERYTHING, 4: EVERYTHING, 5: between(0, 30), 6: EVERYTHING}


def known(scalar: Scalar) -> Interval:
    return interval_of(scalar, RANGES.__getitem__)


def ranged(function: str, *arguments: Scalar) -> Interval:
    return known(call(function, *arguments, proved=known))


x = COLUMNS[D]
k = COLUMNS[I]


@cases(__file__, "expression", "expected=")
def test_ranges_by_hand(expression: str, expected: Interval) -> None:
    assert known(written(expression, proved=known)) == expected


def test_what_is_never_null_hides_what_stands_behind_it() -> None:
    awaited = AwaitedValue(0, B)
    assert ranged("coalesce", awaited, call("is_null", k)) == EVERYTHING
    assert ranged("coalesce", call("is_null", k), awaited) == between(0, 1)


@cases(__file__, "function", "low=", "high=", "lowest=", "highest=")
def test_ranges_of_roots_and_logarithms_are_tight(
    function: str, low: float, high: float, lowest: float, highest: float
) -> None:
    interval = ranged(function, call("clamp", x, double(low), double(high)))
    assert interval.contains(Fraction(lowest))
    assert interval.contains(Fraction(highest))
    assert interval.within(between(lowest - abs(lowest) * 1e-12, highest + abs(highest) * 1e-12))


def test_rounding_may_leave_the_ends_by_a_step() -> None:
    interval = ranged("round", call("clamp", x, double(0.004), double(0.996)), whole(2))
    assert interval.contains(0)
    assert interval.contains(1)
    assert ranged("round", call("clamp", x, whole(0), whole(100)), whole(2)).low == 0
    assert ranged("round", call("clamp", k, whole(4), whole(95)), whole(-1)) == between(0, 100)


def moment(*parts: int) -> Fraction:
    return Fraction((datetime(*parts) - datetime(1970, 1, 1)) // timedelta(microseconds=1))  # type: ignore[arg-type]


@cases(__file__, "scalar=", "low=", "high=")
def test_ranges_of_shifted_and_cut_times(scalar: Scalar, low: tuple[int, ...], high: tuple[int, ...] | None) -> None:
    times = Interval(moment(2021, 1, 30, 23), moment(2021, 1, 31, 1))
    assert interval_of(scalar, lambda _: times) == Interval(moment(*low), moment(*(high or low)))


def test_least_and_greatest_pass_over_null_so_a_column_limits_nothing() -> None:
    both = interval_of(
        call("least", ColumnRef(7, I), ColumnRef(8, I)), {7: between(0, 5), 8: between(0, 50)}.__getitem__
    )
    assert both == between(0, 50)


# ---- refinement -----------------------------------------------------------------------------------------------------


@cases(__file__, "condition", "expected=")
def test_what_a_condition_proves(condition: str, expected: dict[int, Interval]) -> None:
    assert refined(written(condition), {**RANGES, 9: between(0, 1)}.__getitem__) == expected


def test_far_whole_numbers_share_doubles_so_nothing_is_proved() -> None:
    condition = call("le", ColumnRef(7, I), double(2.0**53))
    assert refined(condition, lambda _: INT64) == {7: INT64}
    row = duckdb.sql(
        f"SELECT {print_scalar(condition, dialect='duckdb', column=lambda _: 'v')} FROM (SELECT {2**53 + 1} AS v)"
    )
    assert row.fetchall() == [(True,)]
