"""How expressions are printed for DuckDB: guards, names, columns as they are read, windows."""

from collections.abc import Callable, Sequence

import duckdb
import pytest

from dpsql.catalog.types import SqlType
from dpsql.errors import BadName, BadType, InternalError, NotSupported
from dpsql.sql.functions import WINDOW_FUNCTIONS, clean, print_scalar, windowed
from dpsql.sql.scalars import ColumnRef, Scalar, Sorted, Windowed
from tests.kits.cases import cases
from tests.kits.refusals import raised

from function_words import COLUMNS, DAY, TS, B, D, I, T, call, double, printed, text, whole

# ---- printing -------------------------------------------------------------------------------------------------------


def test_guards_appear_only_where_something_could_go_wrong() -> None:
    quotient = call("div", COLUMNS[D], COLUMNS[D])
    assert printed(quotient) == "CASE WHEN isfinite((c3 / c3)) THEN (c3 / c3) END"
    assert printed(call("mul", COLUMNS[D], double(0.5))) == "(c3 * 0.5e0)"
    assert printed(call("div", COLUMNS[D], whole(2))) == "(c3 / 2.0e0)"
    assert printed(call("mod", COLUMNS[I], whole(10))) == "(c2 % CAST(10 AS BIGINT))"
    assert "CASE" in printed(call("mod", COLUMNS[I], COLUMNS[I]))
    assert printed(call("sqrt", call("abs", COLUMNS[D]))) == "sqrt((abs(c3)))"


def test_one_guard_is_enough_for_a_sum() -> None:
    total = call("add", call("add", call("mul", COLUMNS[D], COLUMNS[D]), COLUMNS[D]), COLUMNS[D])
    assert printed(total) == "CASE WHEN isfinite((((c3 * c3) + c3) + c3)) THEN (((c3 * c3) + c3) + c3) END"


@pytest.mark.parametrize(
    "outer",
    [
        lambda inner: call("div", whole(1), inner),
        lambda inner: call("exp", call("neg", inner)),
        lambda inner: call("case", call("gt", inner, whole(0)), double(1), inner),
        lambda inner: call("clamp", inner, whole(0), whole(1)),
        lambda inner: call("sign", inner),
        lambda inner: call("power", inner, whole(0)),
        lambda inner: call("coalesce", call("nullif", inner, inner), inner),
    ],
)
def test_rule_6_an_infinity_on_the_way_is_null_and_not_a_number_again(outer: Callable[[Scalar], Scalar]) -> None:
    scalar = outer(call("mul", x := COLUMNS[D], x))
    rows = duckdb.sql(f"SELECT {printed(scalar)} FROM (VALUES (1e300::DOUBLE), (2)) t(c3)").fetchall()
    assert rows[0] == (None,)


def test_a_name_for_a_long_text_is_not_one_of_the_columns() -> None:
    scalar = call("nullif", call("concat", COLUMNS[T], text("x" * 150)), COLUMNS[T])
    sql = print_scalar(scalar, dialect="duckdb", column=lambda _: "v1")
    assert "lambda v1" not in sql
    assert duckdb.sql(f"SELECT {sql} FROM (SELECT 'a' AS v1)").fetchall() == [("a" + "x" * 150,)]


def test_an_unknown_dialect_is_refused() -> None:
    raised(NotSupported, lambda: print_scalar(call("not", COLUMNS[B]), dialect="oracle", column=str), match="oracle")


def test_the_length_of_a_chain_of_texts_is_looked_at_on_the_way() -> None:
    scalar: Scalar = COLUMNS[T]
    for _ in range(63):
        scalar = call("concat", scalar, COLUMNS[T])
    assert print_scalar(call("concat", COLUMNS[T], COLUMNS[T]), dialect="duckdb", column=str).count("strlen") == 1
    assert 8 <= printed(scalar).count("strlen") <= 10


def test_text_cannot_grow_without_end() -> None:
    scalar: Scalar = COLUMNS[T]
    for _ in range(40):
        scalar = call("concat", scalar, scalar) if len(printed(scalar)) < 3000 else scalar
    for _ in range(12):
        scalar = call("replace", scalar, text("a"), text("aaaaaaaa"))
    sql = print_scalar(scalar, dialect="duckdb", column=lambda _: "s")
    assert duckdb.sql(f"SELECT {sql} FROM (VALUES ('a'), (NULL), ('')) t(s)").fetchall() == [(None,), (None,), ("",)]


@cases(__file__, "engine_type", "values", "type_=", "expected=")
def test_columns_are_read_as_one_of_six_types(
    engine_type: str, values: str, type_: SqlType, expected: list[object]
) -> None:
    sql = printed(clean(ColumnRef(1, type_)))
    rows = duckdb.sql(f"SELECT {sql}, typeof({sql}) FROM (SELECT unnest([{values}]::{engine_type}[]) AS c1)").fetchall()
    names = {D: "DOUBLE", I: "BIGINT", DAY: "DATE", TS: "TIMESTAMP"}
    assert [row[0] for row in rows] == expected
    assert {row[1] for row in rows} == {names[type_]}


def test_text_is_compared_by_its_bytes_whatever_the_collation() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (c1 VARCHAR COLLATE NOCASE)")
        connection.execute("INSERT INTO t VALUES ('A'), ('a')")
        assert connection.execute("SELECT count(*) FROM t WHERE c1 = 'a'").fetchall() == [(2,)]
        sql = f"SELECT count(*) FROM (SELECT {printed(clean(ColumnRef(1, T)))} AS c FROM t) WHERE c = 'a'"
        assert connection.execute(sql).fetchall() == [(1,)]


# ---- windows --------------------------------------------------------------------------------------------------------


def test_window_functions_are_exactly_these() -> None:
    names = (
        "row_number rank dense_rank ntile lag lead first_value last_value sum avg count min max percent_rank cume_dist"
    )
    assert set(WINDOW_FUNCTIONS) == set(names.split())


VALUES = "(1, 5::BIGINT, 2.5::DOUBLE), (1, NULL, NULL), (2, 9223372036854775807, 1.7e308), (2, 9, 1.7e308)"


@pytest.mark.parametrize(
    ("window", "plain"),
    [
        (windowed("row_number", (), order_by=[Sorted(by=COLUMNS[I])]), "row_number() OVER (ORDER BY c2)"),
        (windowed("count", ()), "count(*) OVER ()"),
        (windowed("count", (COLUMNS[I],)), "count(c2) OVER ()"),
        (
            windowed("rank", (), partition_by=[ColumnRef(1, I)], order_by=[Sorted(by=COLUMNS[I], descending=True)]),
            "rank() OVER (PARTITION BY c1 ORDER BY c2 DESC NULLS LAST)",
        ),
        (
            windowed("sum", (COLUMNS[I],), partition_by=[ColumnRef(1, I)]),
            "CASE WHEN c1 = 1 THEN sum(c2) OVER (PARTITION BY c1) END",
        ),
        (
            windowed("avg", (COLUMNS[D],), partition_by=[ColumnRef(1, I)]),
            "CASE WHEN c1 = 1 THEN avg(c3) OVER (PARTITION BY c1) END",
        ),
        (
            windowed("lag", (COLUMNS[I], whole(1), whole(0)), order_by=[Sorted(by=COLUMNS[I], nulls_first=True)]),
            "lag(c2, 1, 0) OVER (ORDER BY c2 NULLS FIRST)",
        ),
        (windowed("ntile", (whole(2),), order_by=[Sorted(by=COLUMNS[I])]), "ntile(2) OVER (ORDER BY c2)"),
        (
            windowed(
                "last_value",
                (COLUMNS[I],),
                order_by=[Sorted(by=COLUMNS[I])],
                frame="ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
            ),
            "last_value(c2) OVER (ORDER BY c2 ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
        ),
        *(
            (windowed(name, (), order_by=[Sorted(by=COLUMNS[I])]), f"{name}() OVER (ORDER BY c2)")
            for name in ("dense_rank", "percent_rank", "cume_dist")
        ),
        *((windowed(name, (COLUMNS[I],)), f"{name}(c2) OVER ()") for name in ("min", "max", "first_value")),
        (windowed("lead", (COLUMNS[I],), order_by=[Sorted(by=COLUMNS[I])]), "lead(c2) OVER (ORDER BY c2)"),
    ],
)
def test_windows_equal_plain_ones(window: Windowed, plain: str) -> None:
    query = "SELECT {}, c1, c2 FROM (VALUES " + VALUES + ") t(c1, c2, c3) ORDER BY c1, c2"
    assert duckdb.sql(query.format(printed(window))).fetchall() == duckdb.sql(query.format(plain)).fetchall()


@cases(__file__, "name", "arguments=")
def test_windows_that_do_not_fit_are_refused(name: str, arguments: Sequence[Scalar]) -> None:
    raised(BadType, lambda: windowed(name, arguments))


def test_a_window_from_outside_the_list_is_never_printed() -> None:
    raised(BadName, lambda: windowed("nth_value", [COLUMNS[I]]))
    raised(BadType, lambda: windowed("count", [], frame="ROWS BETWEEN 99999999999 PRECEDING AND CURRENT ROW"))
    for function, frame in (("count", "ROWS 1 PRECEDING) FROM t --"), ("random", "")):
        window = Windowed(function=function, arguments=(), partition_by=(), order_by=(), frame=frame, type=I)
        with pytest.raises(InternalError):
            printed(window)
