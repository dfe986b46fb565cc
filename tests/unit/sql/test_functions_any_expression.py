"""Laws of every expression, tried on random ones over ugly rows on DuckDB.

Rule 6: it never raises, and is never NaN, infinite or outside of the calendar. Ranges: each value lies in
`interval_of`. Refinement: the rows a condition keeps lie in `refined`. Size: the text grows linearly.
"""

import math
from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from fractions import Fraction

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.catalog.types import SqlType
from dpsql.errors import DpsqlError
from dpsql.sql.functions import FUNCTIONS, apply, clean, interval_of, print_constant, print_scalar, refined
from dpsql.sql.intervals import EVERYTHING, Interval
from dpsql.sql.scalars import ColumnRef, Constant, Scalar, walk
from tests.kits.rows import listed

B, I, D, T, DAY, TS = SqlType.BOOLEAN, SqlType.INTEGER, SqlType.DOUBLE, SqlType.TEXT, SqlType.DATE, SqlType.TIMESTAMP
NAN, INF = math.nan, math.inf
ENGINE = {B: "BOOLEAN", I: "BIGINT", D: "DOUBLE", T: "VARCHAR", DAY: "DATE", TS: "TIMESTAMP"}

# What a row may hold, two columns of each type: anything the engine can store, and a small range.
LARGEST = 1.7976931348623157e308
TEXTS: list[object] = [
    None,
    "",
    "a",
    "A",
    " x ",
    "O'Reilly",
    "%_",
    "héllo",
    "ß",
    "👨‍👩‍👧",
    "12",
    "-7.5",
    "1e400",
    "nan",
    "-inf",
]
TEXTS += ["true", "2024-02-29", "infinity", "0044-03-15 (BC)", "2020-01-01 10:30:00", "9" * 40, "a" * 3000]
DATES: list[object] = [None, "0001-01-01", "0001-01-02", "1969-12-31", "1970-01-01", "2020-02-29", "2021-01-31"]
DATES += ["9999-12-31", "infinity", "-infinity", "0044-03-15 (BC)", "5881580-07-10"]
TIMES: list[object] = [None, "0001-01-01 00:00:00", "1969-12-31 23:59:59.999999", "1970-01-01 00:00:00"]
TIMES += ["2020-01-31 23:30:15.5", "9999-12-31 23:59:59.999999"]
TIMES += ["infinity", "-infinity", "0044-03-15 (BC) 00:00:00", "20000-01-01 00:00:00"]
WILD: Mapping[SqlType, list[object]] = {
    B: [None, True, False],
    I: [None, 0, 1, -1, 2, -7, 10, 2**63 - 1, -(2**63), -(2**63) + 1, 2**32, 2**53, 2**53 + 1, -(10**18)],
    D: [None, 0.0, -0.0, 1.0, -1.0, 0.1, 2.5, -3.5, 100.0, 1e-300, 5e-324, LARGEST, -LARGEST, 1e154, NAN, INF, -INF],
    T: TEXTS,
    DAY: DATES,
    TS: TIMES,
}
TAME: Mapping[SqlType, list[object]] = {
    B: [None, True],
    I: [None, 0, 3, 17, 100, -5],
    D: [None, 0.5, 2.0, 3.75, 0.001],
    T: [None, "x", "yy"],
    DAY: [None, "2019-12-30", "2020-01-31", "2020-12-31"],
    TS: [None, "2020-01-30 23:00:00", "2020-01-31 01:00:00", "2020-06-15 12:00:00.000001"],
}
TYPES = list(ENGINE)
WILD_NUMBERS = {type_: index + 1 for index, type_ in enumerate(TYPES)}
TAME_NUMBERS = {type_: index + 11 for index, type_ in enumerate(TYPES)}
OF_TYPE = {number: type_ for numbers in (WILD_NUMBERS, TAME_NUMBERS) for type_, number in numbers.items()}
ROWS = 60


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as connection:
        columns = ", ".join(f"c{number} {ENGINE[type_]}" for number, type_ in OF_TYPE.items())
        connection.execute(f"CREATE TABLE ugly ({columns})")
        casts = ", ".join(f"CAST(? AS {ENGINE[type_]})" for type_ in OF_TYPE.values())
        pools = [(WILD if number < 11 else TAME)[type_] for number, type_ in OF_TYPE.items()]
        # steps that share no factor with most pool sizes: columns meet in many combinations
        rows = [[pool[(row * step) % len(pool)] for step, pool in enumerate(pools, 1)] for row in range(ROWS)]
        connection.executemany(f"INSERT INTO ugly VALUES ({casts})", rows)
        yield connection


def read(number: int) -> str:
    return print_scalar(clean(ColumnRef(number, OF_TYPE[number])), dialect="duckdb", column=lambda n: f"c{n}")


def number(value: object) -> Fraction:
    match value:
        case datetime():
            return Fraction((value - datetime(1970, 1, 1)) // timedelta(microseconds=1))
        case date():
            return Fraction((value - date(1970, 1, 1)).days)
        case bool() | int() | float():
            return Fraction(value)
    raise TypeError(value)


def _hull(values: list[object], type_: SqlType) -> Interval:
    """The range of a pool, without what `clean` turns to NULL."""
    if type_ is T:
        return EVERYTHING
    there: list[object] = [v for v in values if v is not None and (not isinstance(v, float) or math.isfinite(v))]
    if type_ in (DAY, TS):
        written = [str(v) for v in there if str(v)[4:5] == "-" and "(" not in str(v)]
        read_as = date if type_ is DAY else datetime
        there = [read_as.fromisoformat(v.ljust(26, "0") if "." in v else v) for v in written]
    numbers = list(map(number, there))
    return Interval(min(numbers), max(numbers))


RANGES = {n: _hull((WILD if n < 11 else TAME)[type_], type_) for n, type_ in OF_TYPE.items()}


def proved(scalar: Scalar) -> Interval:
    return interval_of(scalar, RANGES.__getitem__)


WHOLE = st.one_of(st.integers(-10, 10), st.sampled_from([2**63 - 1, -(2**63), 2**40, None]))
LITERALS: Mapping[SqlType, st.SearchStrategy[Constant]] = {
    B: st.sampled_from([True, False, None]).map(lambda v: Constant(v, B)),
    I: WHOLE.map(lambda v: Constant(v, I)),
    D: st.sampled_from([0.0, 0.5, -2.25, 1e300, 1e-300, 3.0, 2.0**53]).map(lambda v: Constant(Fraction(v), D)),
    T: st.sampled_from(["", "a", "é'", "2020-01-01", None]).map(lambda v: Constant(v, T)),
    DAY: st.dates(date(1, 1, 1), date(9999, 12, 31)).map(lambda v: Constant(v, DAY)),
    TS: st.datetimes(datetime(1, 1, 1), datetime.max).map(lambda v: Constant(v, TS)),
}


def leaf(type_: SqlType) -> st.SearchStrategy[Scalar]:
    columns = st.sampled_from([ColumnRef(WILD_NUMBERS[type_], type_), ColumnRef(TAME_NUMBERS[type_], type_)])
    return st.one_of(columns, columns, LITERALS[type_])


def _text(*values: object) -> st.SearchStrategy[Constant]:
    return st.sampled_from(values).map(lambda v: Constant(v, T))


def _whole(low: int, high: int) -> st.SearchStrategy[Constant]:
    return st.integers(low, high).map(lambda v: Constant(v, I))


LITERAL_ARGUMENTS: Mapping[str, st.SearchStrategy[Constant]] = {
    "unit": _text("year", "quarter", "month", "week", "day", "hour", "minute", "second"),
    "pattern": _text("%", "a%", "_", "%é%", ""),
    "old": _text("a", "", "é"),
    "new": _text("b", "", "long'er"),
    "digits": _whole(-20, 20),
    "power": _whole(-3, 4),
    "low": _whole(-9, 3),
    "high": _whole(3, 60),
}
KINDS = {"B": B, "I": I, "D": D, "T": T, "DAY": DAY, "TS": TS}
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "is_distinct", "is_not_distinct")
PARTS = ("year", "quarter", "month", "week", "day", "dow", "isodow", "doy", "hour", "minute", "second")

# the functions that give each type, with what they take
RECIPES: Mapping[SqlType, list[str]] = {
    I: listed("""
        add I I, sub I I, mul I I, intdiv I I, mod I I, coalesce I I, nullif I I, least I I, greatest I I, neg I,
        abs I, sign I, sign D, round I digits, length T, to_integer D, to_integer T, to_integer B, case B I B I I,
        sub DAY DAY, date_diff unit TS TS, date_diff unit DAY DAY, date_diff unit DAY TS, clamp I low high
    """)
    + [f"{part} {kind}" for part in PARTS for kind in ("DAY", "TS")],
    D: listed("""
        add D D, sub D D, mul D D, div D D, mod D D, power D D, coalesce D D, nullif D D, least D D, greatest D D,
        add I D, mul I D, div I D, power I D, div I I, neg D, abs D, floor D, ceil D, sqrt D, ln D, log10 D, log2 D,
        exp D, round D, round D digits, power D power, to_double I, to_double T, to_double B, case B D D, case B D,
        clamp D low high
    """),
    T: listed("""concat T T, concat T I, lower T, upper T, trim T, ltrim T, rtrim T, trim T T, substring T I,
        substring T I I, left T I, right T I, replace T old new, to_text B, to_text I, to_text D, to_text DAY,
        to_text TS, coalesce T T, nullif T T, least T T, greatest T T, case B T T"""),
    B: listed("""lt I D, ge DAY TS, is_null D, is_not_null T, is_true B, is_false B, and B B, or B B B, not B, in I I I,
        in T T T, like T pattern, ilike T pattern, starts_with T T, ends_with T T, contains T T, to_boolean I,
        to_boolean D, to_boolean T, coalesce B B""")
    + [f"{name} {kind} {kind}" for name in COMPARISONS for kind in KINDS],
    DAY: listed("""
        to_date TS, to_date T, coalesce DAY DAY, case B DAY DAY, least DAY DAY, add DAY I, sub DAY I, nullif DAY DAY
    """),
    TS: listed("""to_timestamp DAY, to_timestamp T, date_trunc unit DAY, date_trunc unit TS, date_add unit I DAY,
        date_add unit I TS, coalesce TS DAY, greatest TS TS, case B TS DAY"""),
}


def test_every_function_has_a_recipe() -> None:
    assert {recipe.split()[0] for recipes in RECIPES.values() for recipe in recipes} == FUNCTIONS.keys()


@st.composite
def expressions(draw: st.DrawFn, type_: SqlType, depth: int = 3) -> Scalar:
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        return draw(leaf(type_))
    name, *words = draw(st.sampled_from(RECIPES[type_])).split()
    arguments = [
        draw(expressions(KINDS[word], depth=depth - 1)) if word in KINDS else draw(LITERAL_ARGUMENTS[word])
        for word in words
    ]
    if any(isinstance(argument, Constant) and argument.value is None for argument in arguments):
        return draw(leaf(type_))  # NULL takes any type, perhaps not the wanted one
    scalar = apply(name, arguments, proved=proved)
    return scalar if scalar.type is type_ else apply(f"to_{type_.value}", [scalar], proved=proved)


def values(con: duckdb.DuckDBPyConnection, scalar: Scalar) -> list[object]:
    text = print_scalar(scalar, dialect="duckdb", column=lambda n: f"({read(n)})")
    return [row[0] for row in con.execute(f"SELECT {text} FROM ugly").fetchall()]


@pytest.mark.parametrize("type_", TYPES)
@given(data=st.data())
def test_an_expression_is_total_and_lies_in_its_range(
    con: duckdb.DuckDBPyConnection, type_: SqlType, data: st.DataObject
) -> None:
    scalar = data.draw(expressions(type_))
    known = interval_of(scalar, RANGES.__getitem__)
    for value in values(con, scalar):
        if value is None or scalar.type is T:
            continue
        assert not isinstance(value, float) or math.isfinite(value)
        assert not isinstance(value, str), "a date outside of the calendar"
        assert known.contains(number(value)), f"{value} not in {known}"


def require_in_range(con: duckdb.DuckDBPyConnection, scalars: list[Scalar]) -> None:
    texts = [print_scalar(scalar, dialect="duckdb", column=read) for scalar in scalars]
    (row,) = con.execute(f"SELECT {', '.join(texts)}").fetchall()
    for scalar, value in zip(scalars, row, strict=True):
        assert value is None or proved(scalar).contains(number(value)), (scalar, value)


NUMBERS = st.one_of(st.floats(-1000, 1000), st.floats(allow_nan=False, allow_infinity=False)).map(
    lambda v: Constant(Fraction(v), D)
)
UNARY = ["neg", "abs", "floor", "ceil", "sqrt", "ln", "log10", "log2", "exp", "round"]
BINARY = ["add", "sub", "mul", "div", "mod", "power"]


@given(x=NUMBERS, y=NUMBERS, digits=_whole(-20, 20))
def test_functions_of_points_lie_in_their_range(
    con: duckdb.DuckDBPyConnection, x: Constant, y: Constant, digits: Constant
) -> None:
    """The narrowest ranges: nothing but the rounding of the engine's library is inside."""
    scalars = [apply(name, [x], proved=proved) for name in UNARY] + [apply("round", [x, digits], proved=proved)]
    scalars += [apply(name, [x, y], proved=proved) for name in BINARY]
    require_in_range(con, scalars)


@given(a=st.datetimes(datetime(1, 1, 1), datetime.max), days=st.integers(-40, 40), months=st.integers(-30, 30))
def test_differences_and_shifts_of_points_lie_in_their_range(
    con: duckdb.DuckDBPyConnection, a: datetime, days: int, months: int
) -> None:
    near = Constant(datetime.fromordinal(min(max(a.toordinal() + days, 1), date.max.toordinal())), TS)
    units = [Constant(unit, T) for unit in ("year", "quarter", "month", "week", "day", "hour", "minute", "second")]
    scalars = [apply("date_diff", [unit, Constant(a, TS), near], proved=proved) for unit in units]
    scalars += [apply("date_add", [unit, Constant(months, I), near], proved=proved) for unit in units]
    scalars += [apply("date_trunc", [unit, Constant(a, TS)], proved=proved) for unit in units]
    require_in_range(con, scalars)


COMPARED_WITH = {I: (I, D), D: (D,), DAY: (DAY, TS), TS: (TS, DAY)}


@st.composite
def comparisons(draw: st.DrawFn) -> Scalar:
    """A column, perhaps converted, compared with a literal."""
    type_ = draw(st.sampled_from(list(COMPARED_WITH)))
    column: Scalar = ColumnRef(draw(st.sampled_from([WILD_NUMBERS, TAME_NUMBERS]))[type_], type_)
    literal = draw(LITERALS[draw(st.sampled_from(COMPARED_WITH[type_]))])
    if type_ is TS and draw(st.booleans()):
        column = apply("to_date", [column], proved=proved)
    sides = [column, literal] if draw(st.booleans()) else [literal, column]
    return apply(draw(st.sampled_from([*COMPARISONS, "in"])), sides, proved=proved)


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3) -> Scalar:
    """Comparisons of columns with literals, under AND, OR, NOT and their kin."""
    kind = draw(st.sampled_from(["compare", "compare", "column", "and", "or", "not", "is_true", "is_false"]))
    if depth == 0 or kind == "compare":
        return draw(comparisons())
    if kind == "column":
        return ColumnRef(WILD_NUMBERS[B], B)
    inner = [draw(conditions(depth=depth - 1)) for _ in range(2 if kind in ("and", "or") else 1)]
    return apply(kind, inner, proved=proved)


@given(condition=conditions())
def test_rows_that_a_condition_keeps_lie_in_the_refined_ranges(
    con: duckdb.DuckDBPyConnection, condition: Scalar
) -> None:
    known = refined(condition, RANGES.__getitem__)
    text = print_scalar(condition, dialect="duckdb", column=lambda n: f"({read(n)})")
    for column, interval in known.items():
        for (value,) in con.execute(f"SELECT {read(column)} FROM ugly WHERE {text}").fetchall():
            assert value is None or interval.contains(number(value))


@given(condition=conditions(depth=2), branch=st.sampled_from([I, D, DAY, TS]).flatmap(leaf), other=st.data())
def test_a_case_is_seen_under_its_conditions(
    con: duckdb.DuckDBPyConnection, condition: Scalar, branch: Scalar, other: st.DataObject
) -> None:
    otherwise = other.draw(leaf(branch.type))
    scalar = apply("case", [condition, branch, otherwise], proved=proved)
    known = interval_of(scalar, RANGES.__getitem__)
    assert all(known.contains(number(value)) for value in values(con, scalar) if value is not None)


@given(value=st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.decimals(-(10**20), 10**20, places=8)))
def test_a_decimal_is_read_back_as_the_nearest_double(con: duckdb.DuckDBPyConnection, value: object) -> None:
    exact = Fraction(value)  # type: ignore[arg-type]
    ((back,),) = con.execute(f"SELECT {print_constant(Constant(exact, D))}").fetchall()
    assert isinstance(back, float)
    assert back == float(exact)


@given(value=st.text())
def test_text_is_read_back_as_it_is(con: duckdb.DuckDBPyConnection, value: str) -> None:
    try:
        text = print_constant(Constant(value, T))
    except DpsqlError:
        assert "\0" in value or any("\ud800" <= character <= "\udfff" for character in value)
        return
    assert con.execute(f"SELECT {text}").fetchall() == [(value,)]


@pytest.mark.parametrize("name", ["nullif", "add", "div", "abs", "power", "concat", "clamp", "substring", "neg"])
def test_text_grows_linearly_with_the_expression(con: duckdb.DuckDBPyConnection, name: str) -> None:
    extra: Mapping[str, list[Scalar]] = {
        "clamp": [Constant(Fraction(1), D), Constant(Fraction(5), D)],
        "neg": [],
        "abs": [],
        "substring": [Constant(1, I)],
    }
    type_ = T if name in ("concat", "substring") else D

    def nested(depth: int) -> Scalar:
        scalar: Scalar = ColumnRef(WILD_NUMBERS[type_], type_)
        for _ in range(depth):
            if name == "substring":
                position = apply("length", [scalar], proved=proved)
                scalar = apply(name, [scalar, position], proved=proved)
                break
            scalar = apply(name, [scalar, *extra.get(name, [ColumnRef(TAME_NUMBERS[type_], type_)])], proved=proved)
        return scalar

    texts = [print_scalar(nested(depth), dialect="duckdb", column=lambda n: f"c{n}") for depth in (20, 40)]
    assert len(texts[1]) <= 2.2 * len(texts[0]) + 400
    assert len(values(con, nested(12))) == ROWS
    assert len(list(walk(nested(5)))) >= 2
