"""What can be added: files and frames of every kind, copied; and that no type is guessed from a value."""

import math
import subprocess
import sys
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from dpsql.catalog.column_types import ColumnDeclarations
from dpsql.catalog.spelling import ENGINE_TYPES
from dpsql.catalog.types import SqlType
from dpsql.engines.duckdb import DuckdbEngine
from dpsql.engines.duckdb_sources import dtype_column, read_as_is
from dpsql.engines.engine import Limits
from dpsql.errors import BadName, DpsqlError, NoSource
from dpsql.testing.engine_kit import traces_of
from tests.kits.cases import cases
from tests.kits.refusals import each_raises, raised

BOOLEAN, INTEGER, DOUBLE, TEXT, DATE, TIMESTAMP = (
    SqlType[name] for name in ("BOOLEAN", "INTEGER", "DOUBLE", "TEXT", "DATE", "TIMESTAMP")
)


@pytest.fixture
def engine():
    made = DuckdbEngine.in_memory(Limits(threads=2))
    yield made
    made.close()


def typed(**types):
    return ColumnDeclarations(types=types)


def types(engine, name="t"):
    return {column.name: column.engine_type for column in engine.schema()[name].columns}


def rows(engine, sql="FROM t"):
    return engine.run_public(sql)


FRAMES = {
    "pandas": lambda: pd.DataFrame({"n": [1, 2], "s": pd.Series(["a", None], dtype="string")}),
    "polars": lambda: pl.DataFrame({"n": [1, 2], "s": ["a", None]}),
    "polars lazy": lambda: pl.LazyFrame({"n": [1, 2], "s": ["a", None]}),
    "arrow table": lambda: pa.table({"n": [1, 2], "s": ["a", None]}),
    "arrow batch": lambda: pa.RecordBatch.from_pydict({"n": [1, 2], "s": ["a", None]}),
    "arrow reader": lambda: pa.table({"n": [1, 2], "s": ["a", None]}).to_reader(),
    "duckdb relation": lambda: duckdb.sql("SELECT * FROM (VALUES (1::BIGINT, 'a'), (2, NULL)) AS v(n, s)"),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_becomes_a_table(engine, kind):
    engine.add("t", FRAMES[kind](), typed(n=INTEGER))
    assert types(engine) == {"n": "BIGINT", "s": "VARCHAR"}
    assert sorted(rows(engine)) == [(1, "a"), (2, None)]
    assert sorted(rows(engine)) == [(1, "a"), (2, None)]  # also the second time


def test_a_stream_is_asked_for_once(engine):
    class Stream:
        __module__ = "pyarrow"
        asked = 0

        def __arrow_c_stream__(self, requested_schema=None):
            self.asked += 1
            return pa.table({"n": [1, 2]}).__arrow_c_stream__(requested_schema)

    stream = Stream()
    engine.add("t", stream)
    assert stream.asked == 1
    assert rows(engine) == [(1,), (2,)]


@pytest.mark.parametrize("values", [[1, 2], [1, None]])
def test_a_series_of_pandas_is_not_a_table(engine, values):
    """It streams Arrow, and one missing value would change the type."""
    raised(NoSource, lambda: engine.add("t", pd.Series(values, name="n")), match="a Series is not a table")


def test_changing_the_frame_afterwards_changes_nothing(engine):
    frame = pd.DataFrame({"n": [1, 2]})
    engine.add("t", frame)
    frame.loc[0, "n"] = 99
    assert rows(engine) == [(1,), (2,)]


def test_a_connection_gives_the_table_of_that_name(engine):
    with duckdb.connect() as other:
        other.execute("CREATE TABLE t AS SELECT 7 AS n, 170141183460469231731687303715884105727::HUGEINT // 10 AS h")
        other.execute("CREATE TABLE u AS SELECT 8 AS n")
        engine.add("t", other)
        other.execute("UPDATE t SET n = 9")
    assert rows(engine, "SELECT n, CAST(h AS HUGEINT) FROM t") == [(7, (2**127 - 1) // 10)]
    assert list(engine.schema()) == ["t"]


def test_a_connection_gives_its_primary_key_too(engine):
    """One row for each person is then known from the engine, and no answer speaks of further rows."""
    with duckdb.connect() as other:
        other.execute('CREATE TABLE t (a INTEGER, "b c" INTEGER, n INTEGER, PRIMARY KEY (a, "b c"))')
        other.execute("CREATE TABLE u (n INTEGER)")
        other.execute("CREATE SCHEMA s; CREATE TABLE s.u (n INTEGER PRIMARY KEY)")
        engine.add("t", other)
        engine.add("u", other)
    assert engine.schema()["t"].unique == (("a", "b c"),)
    assert engine.schema()["u"].unique == ()


def test_a_key_that_is_cast_is_a_key_no_more(engine):
    """What does not fit becomes NULL, and two values may become one."""
    with duckdb.connect() as other:
        other.execute("CREATE TABLE t (a VARCHAR PRIMARY KEY)")
        other.execute("INSERT INTO t VALUES ('1'), ('01'), ('x')")
        engine.add("t", other, typed(a=INTEGER))
    assert rows(engine, "SELECT a FROM t ORDER BY a") == [(1,), (1,), (None,)]
    assert engine.schema()["t"].unique == ()


def test_files_give_every_type_as_it_is(engine, tmp_path):
    with duckdb.connect() as other:
        other.execute(
            "COPY (SELECT 2::HUGEINT AS h, uuid() AS u, 1.5::DECIMAL(20, 3) AS d, 'nan'::DOUBLE AS f, "
            f"7::UTINYINT AS i, TIMESTAMP '2024-05-06 07:08:09.123456' AS ts, [1] AS l) TO '{tmp_path / 'a.parquet'}'"
        )
    engine.add("t", tmp_path / "a.parquet")
    assert types(engine) == {
        "h": "DOUBLE",  # Parquet has no integers of 128 bits
        "u": "UUID",
        "d": "DECIMAL(20,3)",
        "f": "DOUBLE",
        "i": "UTINYINT",
        "ts": "TIMESTAMP",
        "l": "INTEGER[]",
    }
    assert rows(engine, "SELECT ts, isnan(f), l FROM t") == [(datetime(2024, 5, 6, 7, 8, 9, 123456), True, [1])]


def test_a_folder_called_like_a_partition_adds_no_column(engine, tmp_path):
    (tmp_path / "year=2020").mkdir()
    path = tmp_path / "year=2020" / "a.parquet"
    pyarrow.parquet.write_table(pa.table({"n": [1]}), path)
    engine.add("t", str(path))
    assert types(engine) == {"n": "BIGINT"}


@pytest.mark.parametrize("name", ["it's.csv", "a*b.csv", "a[1].csv", "what?.csv", "ü b.csv"])
def test_any_file_name_is_that_file(engine, tmp_path, name):
    (tmp_path / name).write_text("n\n1\n")
    (tmp_path / "axb.csv").write_text("n\n2\n")
    (tmp_path / "a1.csv").write_text("n\n3\n")
    engine.add("t", tmp_path / name)
    assert rows(engine) == [("1",)]


def test_csv_is_text_unless_declared(engine, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(
        '\ufeffid,"na""me","q,x",day,size,ok,seen\r\n'
        '1,"Bob ""B""",5,2020-01-01,1.5,true,2020-01-01 10:00:00\r\n'
        '2,"two\nlines",x,2020-02-30,many,maybe,noon\r\n'
        "3,,,,,,\r\n".encode()
    )
    declared = dict(zip(("id", "day", "size", "ok", "seen"), (INTEGER, DATE, DOUBLE, BOOLEAN, TIMESTAMP), strict=True))
    engine.add("t", path, typed(**declared))
    assert rows(engine, "FROM t ORDER BY id") == [
        (1, 'Bob "B"', "5", date(2020, 1, 1), 1.5, True, datetime(2020, 1, 1, 10)),
        (2, "two\nlines", "x", None, None, None, None),
        (3, None, None, None, None, None, None),
    ]
    expected = [INTEGER, TEXT, TEXT, DATE, DOUBLE, BOOLEAN, TIMESTAMP]
    assert [column.type for column in engine.schema()["t"].columns] == expected


def test_the_schema_of_a_csv_does_not_depend_on_its_rows(engine, tmp_path):
    for name, body in {"a": "1,2\n", "b": "x,y\n", "c": ""}.items():
        (tmp_path / f"{name}.csv").write_text("n,m\n" + body)
        engine.add(name, tmp_path / f"{name}.csv", typed(n=INTEGER))
        assert types(engine, name) == {"n": "BIGINT", "m": "VARCHAR"}
    assert rows(engine, "FROM a UNION ALL FROM b UNION ALL FROM c") == [(1, "2"), (None, "y")]


@pytest.mark.parametrize("body", ["n\n1,canary5550199\n", 'n,m\n"canary5550199\n', "n,m\n1\ncanary5550199,2,3\n"])
def test_a_line_that_does_not_fit_is_refused_without_being_quoted(engine, tmp_path, body):
    (tmp_path / "a.csv").write_text(body)
    error = raised(NoSource, lambda: engine.add("t", tmp_path / "a.csv"), match="cannot be copied")
    found = traces_of(("canary" + "5550199",), error)
    assert [place for place in found if "variable body" not in place] == []
    assert dict(engine.schema()) == {}
    engine.add("t", pl.DataFrame({"n": [1]}))  # the name is free


@pytest.mark.parametrize("header", ["", "a,A\n1,2\n", "a,a\n1,2\n", "a,\n1,2\n", "\n1\n"])
def test_a_csv_needs_a_name_for_every_column(engine, tmp_path, header):
    (tmp_path / "a.csv").write_text(header)
    with pytest.raises(NoSource, match="the columns have no names, or two of them have the same"):
        engine.add("t", tmp_path / "a.csv")


def test_declared_types_are_cast_and_what_does_not_fit_is_null(engine):
    engine.add("t", pl.DataFrame({"a": ["1", "x", None], "b": [1, 2, 3]}), typed(a=INTEGER, b=TEXT))
    assert rows(engine) == [(1, "1"), (None, "2"), (None, "3")]


def test_a_type_for_no_column_is_refused(engine, tmp_path):
    (tmp_path / "a.csv").write_text("n\n1\n")
    for source in (pl.DataFrame({"n": [1]}), tmp_path / "a.csv"):
        with pytest.raises(BadName, match="no column size"):
            engine.add("t", source, typed(size=INTEGER))
        assert dict(engine.schema()) == {}


def test_of_pandas_nullable_types_count_and_plain_numbers_are_doubles(engine):
    engine.add(
        "t",
        pd.DataFrame(
            {
                "i": [1, 2],
                "I": pd.Series([1, None], dtype="Int64"),
                "f": [1.5, float("nan")],
                "b": [True, False],
                "B": pd.Series([True, None], dtype="boolean"),
                "s": ["x", None],
                "c": pd.Series(["u", None], dtype="category"),
                "d": pd.to_datetime(["2020-01-01", None]),
            }
        ).rename(columns={"I": "j", "B": "e"}),
        typed(b=BOOLEAN),
    )
    found = "DOUBLE BIGINT DOUBLE BOOLEAN BOOLEAN VARCHAR VARCHAR TIMESTAMP"
    assert types(engine) == dict(zip("ijfbescd", found.split(), strict=True))
    expected = [(1, 1, 1.5, True, True, "x", "u", datetime(2020, 1, 1)), (2, None, None, False, None, None, None, None)]
    assert rows(engine) == expected


def test_python_objects_need_a_declared_type(engine):
    """Otherwise DuckDB looks at a sample of the values, and a name without letters makes the column a number."""
    frame = pd.DataFrame({"x": pd.Series([1, None, "z"], dtype=object), "n": [1, 2, 3]})
    raised(NoSource, lambda: engine.add("t", frame), match="x is not declared")
    engine.add("t", frame, typed(x=TEXT))
    assert types(engine) == {"x": "VARCHAR", "n": "DOUBLE"}
    assert rows(engine, "SELECT x FROM t ORDER BY n") == [("1",), (None,), ("z",)]
    engine.add("u", pd.DataFrame({"x": pd.Series([date(2020, 1, 1), None, 3], dtype=object)}), typed(x=DATE))
    assert rows(engine, "FROM u") == [(date(2020, 1, 1),), (None,), (None,)]


def test_the_type_of_objects_does_not_depend_on_the_objects(engine):
    for name, values in {"a": ["7", "8"], "b": [7, 8], "c": [None, None], "d": [1.5, "x"]}.items():
        engine.add(name, pd.DataFrame({"x": pd.Series(values, dtype=object)}), typed(x=TEXT))
        assert types(engine, name) == {"x": "VARCHAR"}


def test_categories_are_text(engine):
    """A category's own type would list the values that occur."""
    engine.add("a", pl.DataFrame({"c": pl.Series(["u", "v"], dtype=pl.Categorical)}))
    engine.add("b", pa.table({"c": pa.array(["u", "v"]).dictionary_encode()}))
    engine.add("c", pd.DataFrame({"c": pd.Series(["u", "v"], dtype="category")}))
    for name in "abc":
        assert set(types(engine, name).values()) == {"VARCHAR"}
        assert rows(engine, f"SELECT c FROM {name} ORDER BY c") == [("u",), ("v",)]


@pytest.mark.parametrize("source", [pl.DataFrame({"n": [None, None]}), pa.table({"n": pa.nulls(2)})])
def test_a_column_without_values_has_no_type(engine, source):
    raised(NoSource, lambda: engine.add("t", source), match="n is not declared")
    engine.add("t", source, ColumnDeclarations(implied={"n": INTEGER}))
    assert types(engine) == {"n": "BIGINT"}


def test_one_value_is_one_value_whatever_stands_beside_it(engine):
    """pandas makes 8001 a float, an object or an integer, by what else is in the column."""
    beside = {"a": [8002], "b": [None], "c": ["x"], "d": [2.5], "e": [10**30], "f": [True]}
    for kind, expected in {TEXT: "8001", INTEGER: 8001, DOUBLE: 8001.0, BOOLEAN: None, DATE: None}.items():
        for name, others in beside.items():
            engine.add(name, pd.DataFrame({"x": [8001, *others]}), typed(x=kind))
            assert rows(engine, f"FROM {name} LIMIT 1") == [(expected,)], (kind, name)
            engine.remove(name)


def test_a_fraction_is_one_whole_number_in_every_source(engine, tmp_path):
    """Halves away from 0, as ROUND does; what is no number is NULL, and never an error."""
    values = [0.5, 1.5, 2.5, -0.5, -2.5, 2.4, 0.49999999999999994, 1e300, math.inf, -math.inf, math.nan]
    texts, tenths = [repr(value) for value in values], [f"{value:.1f}" for value in values[:6]]
    (tmp_path / "x.csv").write_text("\n".join(["x", *texts]))
    sources = {
        "plain": pd.DataFrame({"x": values}),
        "objects": pd.DataFrame({"x": pd.Series([*values, "no number"], dtype=object)}),
        "arrow": pa.table({"x": values}),
        "floats": pa.table({"x": pa.array(values[:6], pa.float32())}),
        "decimals": pa.table({"x": pa.array(map(Decimal, tenths))}),
        "texts": pl.DataFrame({"x": texts}),
        "csv": tmp_path / "x.csv",
    }
    expected = [1, 2, 3, -1, -3, 2, 0, None, None, None, None]
    for name, source in sources.items():
        engine.add(name, source, typed(x=INTEGER))
        found = [value for (value,) in rows(engine, f"FROM {name}")]
        assert found[: len(expected)] == expected[: len(found)], name


def test_nobody_is_rounded_to_somebody_else(engine):
    """Neither by a fraction nor where a double holds two whole numbers as one."""
    declared = ColumnDeclarations(types={"id": INTEGER}, persons=frozenset({"id"}))
    ids = [1, 2.5, 2**53 - 1, 2**53, 2**53 + 1]
    engine.add("a", pd.DataFrame({"id": ids}), declared)
    engine.add("b", pd.DataFrame({"id": [1, 2**53 - 1, 2**53, 2**53 + 1]}), declared)
    engine.add("c", pa.table({"id": ["1", "2.5", str(2**53 + 1)]}), declared)
    assert (
        rows(engine, "FROM a WHERE id IS NOT NULL")
        == rows(engine, "FROM b WHERE id IS NOT NULL")
        == [(1,), (2**53 - 1,)]
    )
    assert rows(engine, "FROM c") == [(1,), (None,), (2**53 + 1,)]


def test_json_lines_are_text_unless_declared(engine, tmp_path):
    """Neither a value nor a key of a row decides about columns: those are named by the declaration."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"Id": 1, "x": 1.0, "more": 3}\n{"Id": "2", "x": null}\n{"Id": 3, "x": {"y": 1}}\n')
    raised(NoSource, lambda: engine.add("t", path), match="no list of columns")
    engine.add("t", path, ColumnDeclarations(named=("Id", "x"), types={"x": INTEGER}))
    assert types(engine) == {"Id": "VARCHAR", "x": "BIGINT"}
    assert rows(engine, "FROM t ORDER BY 1") == [("1", 1), ("2", None), ("3", None)]


NO_ROW = (None, None)


@cases(__file__, "line=", "row=")
def test_a_line_of_json_that_is_no_object_is_a_row_of_nulls(engine, tmp_path, line, row):
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"id": 1, "x": "a"}}\n{line}\n{{"id": 2, "x": "b"}}\n', encoding="utf-8")
    engine.add("t", path, ColumnDeclarations(named=("id", "x")))
    assert rows(engine) == [("1", "a"), row, ("2", "b")]


ODD_OBJECTS = {
    "half a character": "\ud800",
    "beyond the last year": datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-5))),
    "a signalling NaN": Decimal("sNaN"),
    "a NaN": Decimal("NaN"),
    "too many digits": [10**5000],
    "no time": pd.NaT,
    "missing": pd.NA,
}


@pytest.mark.parametrize("odd", ODD_OBJECTS)
@pytest.mark.parametrize("kind", SqlType)
def test_an_object_that_cannot_be_written_is_null(engine, odd, kind):
    """Whatever the declared type is: one value must not fail the table."""
    usual = {BOOLEAN: True, INTEGER: 5, DOUBLE: 0.5, TEXT: "a", DATE: date(2024, 1, 1)}
    usual = usual.get(kind, datetime(2024, 1, 1, 12))
    frame = pd.DataFrame({"x": pd.Series([usual, ODD_OBJECTS[odd]], dtype=object)})
    engine.add("t", frame, typed(x=kind))
    assert rows(engine) == [(usual,), (None,)]


def test_a_nullable_text_that_cannot_be_written_is_null(engine):
    engine.add("t", pd.DataFrame({"x": pd.Series(["a", "\ud800", None], dtype="string[python]")}))
    assert rows(engine) == [("a",), (None,), (None,)]


@pytest.mark.parametrize("kind", [None, TIMESTAMP, DATE, TEXT, INTEGER])
@pytest.mark.parametrize(("unit", "far"), [("s", 2**53), ("ms", 2**62)])
def test_a_time_that_is_too_far_away_is_null(engine, unit, far, kind):
    """DuckDB would not survive the writing of one, and fail each statement that compares one."""
    table = pa.table({"x": pa.array([0, far, -far, None], pa.timestamp(unit))})
    declared = ColumnDeclarations(types={} if kind is None else {"x": kind})
    frame = pd.DataFrame({"x": table["x"].to_numpy()})
    assert str(frame["x"].dtype) == f"datetime64[{unit}]"
    for name, data in (("arrow", table), ("polars", pl.from_arrow(table)), ("pandas", frame)):
        engine.add(name, data, declared)
        assert types(engine, name)["x"] == ("TIMESTAMP" if kind is None else ENGINE_TYPES[kind])
        (first,), *others = rows(engine, f"FROM {name}")
        assert str(first)[:4] == ("None" if kind is INTEGER else "1970")
        assert others == [(None,)] * 3
    engine.add("least", pa.table({"x": pa.array([5 - 2**63], pa.timestamp("us"))}), declared)
    assert kind is not TEXT or rows(engine, "FROM least") == [(None,)]


@cases(__file__, "frame=")
def test_columns_need_names_of_their_own(engine, frame):
    raised(NoSource, lambda: engine.add("t", frame), match="name")


@pytest.mark.parametrize("source", [5, None, [1, 2], {"a": [1]}, object(), pl.Series([1]).to_list()])
def test_what_is_no_table_is_refused(engine, source):
    raised(NoSource, lambda: engine.add("t", source), match="is not a table")


def test_other_files_are_refused(engine, tmp_path):
    raised(NoSource, lambda: engine.add("t", tmp_path / "a.duckdb"), match="url of a policy")
    raised(NoSource, lambda: engine.add("t", tmp_path / "a.parquet"), match="no file")
    (tmp_path / "b.parquet").write_text("nothing of the kind")
    raised(NoSource, lambda: engine.add("t", tmp_path / "b.parquet"), match="cannot be copied")


@pytest.mark.parametrize("name", ["", "a.b", 5, None])
def test_a_table_needs_a_name(engine, name):
    raised(NoSource, lambda: engine.add(name, pl.DataFrame({"n": [1]})), match="no name")


def test_a_name_is_used_once(engine):
    engine.add("t", pl.DataFrame({"n": [1]}))
    each_raises(NoSource, lambda name: engine.add(name, pl.DataFrame({"n": [2]})), ("t", "T"), match="already")
    assert rows(engine) == [(1,)]


def test_a_removed_table_leaves_its_name(engine):
    for name in ("t", 'we"ird'):
        engine.add(name, pl.DataFrame({"n": [1]}))
        engine.remove(name)
        assert dict(engine.schema()) == {}
        engine.add(name, pl.DataFrame({"n": ["2"]}))
        assert engine.schema()[name].columns[0].type is TEXT
        engine.remove(name)


@pytest.mark.parametrize("name", ["dpsql_source", "dpsql_collations", 'we"ird', "select", "frame"])
def test_any_name_is_a_name(engine, name):
    engine.add(name, pl.DataFrame({"n": [1], "s": ["x"]}))
    engine.add("other", pl.DataFrame({"n": [2]}))
    assert sorted(engine.schema()) == sorted([name, "other"])
    quoted = name.replace('"', '""')
    assert rows(engine, f'SELECT n, s FROM "{quoted}"') == [(1, "x")]


def test_tables_can_be_added_after_questions(engine, tmp_path):
    engine.add("t", pl.DataFrame({"n": [1]}))
    assert rows(engine) == [(1,)]
    (tmp_path / "a.csv").write_text("n\n2\n")
    engine.add("u", tmp_path / "a.csv")
    assert rows(engine, "FROM u") == [("2",)]


def test_more_than_memory_holds_is_refused(tmp_path):
    engine = DuckdbEngine.in_memory(Limits(memory_limit="20MB", threads=1))
    with pytest.raises(NoSource, match="memory_limit"):
        engine.add(
            "t", duckdb.sql("SELECT hash(i) AS a, hash(i + 1) AS b, i::VARCHAR AS c FROM range(5000000) AS r(i)")
        )
    assert dict(engine.schema()) == {}
    engine.close()


def test_pyarrow_is_not_needed(tmp_path):
    program = f"""
import sys
sys.modules["pyarrow"] = None  # importing it is now an error
import pandas, polars
from dpsql.engines.duckdb import DuckdbEngine
engine = DuckdbEngine.in_memory()
engine.add("a", pandas.DataFrame({{"n": [1], "s": ["x"], "c": pandas.Series(["y"], dtype="category")}}))
engine.add("b", polars.DataFrame({{"n": [2], "s": ["x"]}}))
engine.add("c", polars.LazyFrame({{"n": [3], "s": ["x"]}}))
engine.add("d", {str(tmp_path / "d.parquet")!r})
engine.add("e", {str(tmp_path / "e.csv")!r})
print([engine.run_public(f"SELECT n FROM {{name}}") for name in "abcde"])
engine.close()
"""
    pyarrow.parquet.write_table(pa.table({"n": [4]}), tmp_path / "d.parquet")
    (tmp_path / "e.csv").write_text("n\n5\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[[(1.0,)], [(2,)], [(3,)], [(4,)], [('5',)]]"
    assert done.stderr == ""


@pytest.mark.parametrize("categories", [[1, 2, 3], ["a", "b", "c"], [True, False], [0.5, 1.5]])
def test_a_missing_category_changes_no_type(categories):
    """The type of a column decides about verdicts: it must not depend on whether somebody's value is missing."""
    kind = pd.CategoricalDtype(categories)
    found = []
    for values in ([categories[0], categories[1]], [categories[0], None]):
        engine = DuckdbEngine.in_memory()
        declared = ColumnDeclarations(types={"v": BOOLEAN} if True in categories[:1] else {})
        engine.add("t", pd.DataFrame({"v": pd.Series(values, dtype=kind)}), declared)
        (column,) = engine.schema()["t"].columns
        found.append((column.type, column.engine_type))
    assert found[0] == found[1]


@pytest.mark.parametrize("metadata", [b"{", b"[]", b'{"columns": [{}]}', b'{"columns": 1}', b"\xff"])
def test_metadata_of_pandas_that_cannot_be_read_is_refused(engine, metadata):
    table = pa.table({"n": [1]}).replace_schema_metadata({b"pandas": metadata})
    raised(NoSource, lambda: engine.add("t", table, typed()), match="cannot be read")


def test_a_dtype_of_another_program_is_no_declaration():
    """Whatever it means, its author has chosen it by looking at rows."""
    assert dtype_column("c", "geometry").type is None
    assert dtype_column("c", "geometry").suggested is TEXT


def test_a_number_that_no_double_holds_is_null(engine):
    for value in (10**400, 1j, Decimal("sNaN")):
        engine.add("t", pd.DataFrame({"n": pd.Series([value, 3], dtype=object)}), typed(n=INTEGER))
        assert sorted(rows(engine), key=str) == [(3,), (None,)]
        engine.remove("t")


def test_an_enum_is_text():
    assert read_as_is("c", "ENUM('a', 'b')").startswith("CAST(c AS ")


def test_a_header_that_is_no_text_names_no_column(engine, tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\xff\xfe,b\n1,2\n")
    each_raises(DpsqlError, lambda path: engine.add("t", path, typed()), [tmp_path / "t.csv"])
