"""Every function of the allow-list, on DuckDB: equal to the plain expression where that has a value, NULL elsewhere.

Values stand in tables, so that nothing is folded before the engine meets the rows. The plain expression is run over
tidy values, and where it raises, on ever fewer rows; ours once, over all rows as they are, read through `clean`.
"""

import ast
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import duckdb
import pytest

from dpsql.catalog.types import SqlType
from dpsql.sql.functions import FUNCTIONS, apply, clean, print_scalar
from dpsql.sql.intervals import EVERYTHING, Interval
from dpsql.sql.scalars import ColumnRef, Constant, Scalar, columns_of
from tests.kits.rows import read_texts

DATES_AND_TIMES = (SqlType.DATE, SqlType.TIMESTAMP)
RAISED = (duckdb.InvalidInputException, duckdb.OutOfRangeException, duckdb.ConversionException)
MOST_ROWS = 100


@dataclass(frozen=True)
class Pool:
    """Values of two columns, `name` and `name`2; what `clean` must turn to NULL stands in `bad`."""

    type: SqlType
    engine_type: str
    values: list[object]
    bad: list[object] = field(default_factory=list)
    known: Interval = EVERYTHING


LAST = "9999-12-31 23:59:59.999999"
TEXTS: list[object] = [
    None,
    "",
    "a",
    "A",
    "  x ",
    "O'Reilly",
    "%_\\",
    "héllo",
    "ß",
    "👨‍👩‍👧",
    "abcabc",
    "12",
    "1e3",
    "-7.5",
]
TEXTS += ["nan", "inf", "1e999", "true", "no", "2024-02-29", "0044-03-15 (BC)", "infinity", "2020-01-01 10:30:00"]
TEXTS += ["99999-01-01", "2020-01-01 00:00:00 Europe/Nowhere", "2020-01-01T10:00:00+02:00", "0x1F", " 5 "]

POOLS = {
    "i": Pool(SqlType.INTEGER, "BIGINT", [None, 0, 1, -1, 7, -45, 2**63 - 1, -(2**63), -(2**63) + 1, 2**32, 2**53 + 1]),
    "k": Pool(
        SqlType.INTEGER,
        "BIGINT",
        [None, 0, 1, -1, 2, 7, -45, 1000, -1000],
        known=Interval(Fraction(-1000), Fraction(1000)),
    ),
    "x": Pool(
        SqlType.DOUBLE,
        "DOUBLE",
        [None, 0.0, -0.0, 1.0, -1.0, 0.1, 2.5, -3.5, 709.9, 5e-324, 1.7976931348623157e308, -1e300, 4503599627370497.5],
        [math.nan, math.inf, -math.inf],
    ),
    "s": Pool(SqlType.TEXT, "VARCHAR", TEXTS),
    "d": Pool(
        SqlType.DATE,
        "DATE",
        [None, "0001-01-01", "1969-12-31", "1970-01-01", "2020-02-29", "2021-01-03", "9999-12-31"],
        ["infinity", "-infinity", "0001-01-01 (BC)", "10000-01-01", "5881580-07-10"],
    ),
    "t": Pool(
        SqlType.TIMESTAMP,
        "TIMESTAMP",
        [
            None,
            "0001-01-01 00:00:00",
            "1969-12-31 23:59:59.999999",
            "1970-01-01 00:00:00",
            "2020-01-31 23:30:15.5",
            LAST,
        ],
        ["infinity", "-infinity", "0044-03-15 (BC) 00:00:00", "10000-01-01 00:00:00"],
    ),
    "b": Pool(SqlType.BOOLEAN, "BOOLEAN", [None, True, False]),
}
NAMES = [name + suffix for name in POOLS for suffix in ("", "2")]

UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
OPERATORS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
OPERATORS |= {"is_distinct": "IS DISTINCT FROM", "is_not_distinct": "IS NOT DISTINCT FROM"}

# function | arguments | the same in plain SQL
CASES = [
    *read_texts(__file__, "cases"),
    *(f"{name} | {v}, {v}2 | {v} {sign} {v}2" for name, sign in OPERATORS.items() for v in "ixsdtb"),
    *(f"{name} | i, x | i {sign} x" for name, sign in OPERATORS.items()),
    *(f"{name} | d, t | d {sign} t" for name, sign in OPERATORS.items()),
    *(f"{name} | d, '2020-02-29' | d {sign} '2020-02-29'" for name, sign in OPERATORS.items()),
    *(f"{name} | t, '1970-01-01' | t {sign} '1970-01-01'" for name, sign in OPERATORS.items()),
    *(f"{name} | x, None | x {sign} NULL" for name, sign in OPERATORS.items()),
    *(f"{part} | {v} | EXTRACT({part} FROM {v})" for part in (*UNITS, "dow", "isodow", "doy") for v in "dt"),
    *(f"date_trunc | '{unit}', {v} | date_trunc('{unit}', {v})" for unit in UNITS for v in "dt"),
    *(f"date_diff | '{unit}', {v}, {v}2 | date_diff('{unit}', {v}, {v}2)" for unit in UNITS for v in "dt"),
    *(f"date_add | '{unit}', k, d | d + INTERVAL (k) {unit}" for unit in UNITS),
    *(f"date_add | '{unit}', i, t | t + INTERVAL (i) {unit}" for unit in UNITS),
]


def argument(node: ast.expr) -> Scalar:
    """A column by its name, or a literal."""
    if isinstance(node, ast.Name):
        return ColumnRef(NAMES.index(node.id), POOLS[node.id[0]].type)
    value = ast.literal_eval(node)
    kinds = {int: SqlType.INTEGER, float: SqlType.DOUBLE, str: SqlType.TEXT, type(None): SqlType.TEXT}
    return Constant(Fraction(value) if isinstance(value, float) else value, kinds[type(value)])


def arguments(text: str) -> list[Scalar]:
    tuple_ = ast.parse(f"({text},)", mode="eval").body
    assert isinstance(tuple_, ast.Tuple)
    return [argument(node) for node in tuple_.elts]


def proved(scalar: Scalar) -> Interval:
    return POOLS[NAMES[scalar.id][0]].known if isinstance(scalar, ColumnRef) else EVERYTHING


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as connection:
        for name, pool in POOLS.items():
            kinds = {"tidy": pool.values + [None] * len(pool.bad), "raw": pool.values + pool.bad}
            for kind, values in kinds.items():
                connection.execute(f"CREATE TABLE {kind}_{name} (v {pool.engine_type}, n INTEGER)")
                rows = [(value, number) for number, value in enumerate(values)]
                connection.executemany(f"INSERT INTO {kind}_{name} VALUES (CAST(? AS {pool.engine_type}), ?)", rows)
        yield connection


def choose(con: duckdb.DuckDBPyConnection, numbers: frozenset[int], kind: str) -> int:
    """A table of all combinations of the values in use, or of a fixed sample of them; the number of its rows."""
    names = [NAMES[number] for number in sorted(numbers)]
    columns = ", ".join(f"p_{name}.v AS {name}" for name in names)
    tables = ", ".join(f"{kind}_{name[0]} AS p_{name}" for name in names)
    key = " || '-' || ".join(f"p_{name}.n" for name in names)
    total = math.prod(len(POOLS[name[0]].values + POOLS[name[0]].bad) for name in names)
    con.execute(
        f"CREATE OR REPLACE TEMP TABLE chosen AS SELECT {columns}, row_number() OVER (ORDER BY {key}) AS row "
        f"FROM {tables} WHERE hash({key}) % {total} < {MOST_ROWS}"
    )
    return int(con.execute("SELECT count(*) FROM chosen").fetchall()[0][0])


def ours(con: duckdb.DuckDBPyConnection, scalar: Scalar) -> list[object]:
    def column(number: int) -> str:
        raw = ColumnRef(number, POOLS[NAMES[number][0]].type)
        return print_scalar(clean(raw), dialect="duckdb", column=NAMES.__getitem__)

    text = print_scalar(scalar, dialect="duckdb", column=column)
    return [row[0] for row in con.execute(f"SELECT {as_text(text, scalar.type)} FROM chosen ORDER BY row").fetchall()]


def plain(con: duckdb.DuckDBPyConnection, sql: str, first: int, last: int) -> list[object]:
    """The plain expression; rows for which it raises are found by halving, and are NULL."""
    try:
        query = f"SELECT {sql} FROM chosen WHERE row BETWEEN {first} AND {last} ORDER BY row"
        return [tidy(row[0]) for row in con.execute(query).fetchall()]
    except RAISED:
        if first == last:
            return [None]
        middle = (first + last) // 2
        return plain(con, sql, first, middle) + plain(con, sql, middle + 1, last)


def tidy(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str) and value.startswith("when:") and ("(BC)" in value or "inf" in value or value[9] != "-"):
        return None
    return value


def as_text(sql: str, type_: SqlType) -> str:
    """Python has no dates beyond year 9999: they are compared as text."""
    return f"'when:' || CAST({sql} AS VARCHAR)" if type_ in DATES_AND_TIMES else sql


def test_every_function_has_a_case() -> None:
    assert {case.split(" | ")[0] for case in CASES} == FUNCTIONS.keys()


@pytest.mark.parametrize("case", CASES)
def test_equals_the_plain_expression(con: duckdb.DuckDBPyConnection, case: str) -> None:
    name, given, sql = case.split(" | ")
    scalar = apply(name, arguments(given), proved=proved)
    choose(con, columns_of(scalar), "raw")
    got = ours(con, scalar)
    rows = choose(con, columns_of(scalar), "tidy")
    assert got == plain(con, as_text(sql, scalar.type), 1, rows)
    assert rows > 2
    assert any(value is not None for value in got) or "NULL" in sql
