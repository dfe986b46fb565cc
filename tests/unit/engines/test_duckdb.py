"""DuckDB: the laws of engines, how it is locked, limited and stopped, and what an error may say."""

import os
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime

import duckdb
import polars as pl
import pytest

from dpsql.catalog.types import SqlType
from dpsql.engines.desk import DeskTable
from dpsql.engines.duckdb import DuckdbEngine
from dpsql.engines.engine import DUCKDB, Limits
from dpsql.engines.hardening import AFTERWARDS, AT_BIRTH
from dpsql.errors import BadParameter, EngineFailed, InternalError, NoSource
from dpsql.mechanisms.mechanism import opened
from dpsql.testing.engine_kit import EngineKit
from tests.kits.cases import cases
from tests.kits.refusals import raised

POLARS = {
    SqlType.BOOLEAN: pl.Boolean,
    SqlType.INTEGER: pl.Int64,
    SqlType.DOUBLE: pl.Float64,
    SqlType.TEXT: pl.String,
    SqlType.DATE: pl.Date,
    SqlType.TIMESTAMP: pl.Datetime("us"),
}
SLOW = "SELECT COUNT(*) FROM range(100000000000) AS r(i) WHERE hash(i) % 7 = 3"


def frame(columns):
    return pl.DataFrame({name: pl.Series(values, dtype=POLARS[kind]) for name, (kind, values) in columns.items()})


def rows(engine, sql, *parameters):
    return opened(engine.run(sql, parameters=parameters))


def database(path, *statements):
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


class TestInMemory(EngineKit):
    def engine_with(self, tables):
        engine = DuckdbEngine.in_memory(Limits(memory_limit="1GB", threads=2))
        for name, columns in tables.items():
            engine.add(name, frame(columns))
        return engine


class TestFile(EngineKit):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.folder = tmp_path

    def engine_with(self, tables):
        path = self.folder / f"{len(list(self.folder.iterdir()))}.duckdb"
        with duckdb.connect(str(path)) as connection:
            for name, columns in tables.items():
                connection.register("frame", frame(columns))
                connection.execute(f"CREATE TABLE {name} AS FROM frame")
                connection.unregister("frame")
        return DuckdbEngine.of_file(path, Limits(threads=2))


@pytest.fixture
def engine():
    made = DuckdbEngine.in_memory()
    made.add("t", pl.DataFrame({"x": [1, 2, 3]}))
    yield made
    made.close()


def test_every_setting_is_as_the_table_says(engine, tmp_path):
    file = DuckdbEngine.of_file(database(tmp_path / "a.duckdb", "CREATE TABLE t AS SELECT 1 AS x"))
    for one in (engine, file):
        now = dict(one.run_public("SELECT name, COALESCE(value, '') FROM duckdb_settings()"))
        for name, value in {**AT_BIRTH, **AFTERWARDS}.items():
            assert now[name].lower() == value.lower(), name
    assert AFTERWARDS["enable_external_access"] == "false"
    assert AFTERWARDS["lock_configuration"] == "true"
    assert list(AFTERWARDS)[-1] == "lock_configuration"


def test_zones_are_utc(engine):
    sql = "SELECT CAST(TIMESTAMPTZ '2024-01-01 00:00:00+05' AS TIMESTAMP)"
    assert rows(engine, sql) == [(datetime(2023, 12, 31, 19),)]


def test_zones_are_utc_wherever_the_machine_stands():
    program = """
import duckdb
from dpsql.engines.duckdb import DuckdbEngine
sql = "SELECT CAST(TIMESTAMPTZ '2024-01-01 00:00:00+00' AS TIMESTAMP)"
print(duckdb.connect().execute(sql).fetchall(), DuckdbEngine.in_memory().run_public(sql))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TZ": "America/New_York"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split(" [") == [
        "[(datetime.datetime(2023, 12, 31, 19, 0),)]",  # what the machine would say
        "(datetime.datetime(2024, 1, 1, 0, 0),)]\n",
    ]


def test_null_is_last(engine):
    engine.add("n", pl.DataFrame({"x": [None, 1, None, 0]}))
    assert rows(engine, "SELECT x FROM n ORDER BY x") == [(0,), (1,), (None,), (None,)]


def test_the_capabilities_are_those_of_duckdb(engine):
    assert engine.capabilities is DUCKDB


def test_one_thread_and_many_give_the_same_integers():
    table = pl.DataFrame({"x": [(n * 7919) % 1_000_003 - 500_000 for n in range(300_000)]}).with_columns(
        g=pl.col("x") % 11
    )
    sql = "SELECT g, COUNT(*), SUM(x), SUM(CAST(x AS HUGEINT) * x * x * x * x) FROM t GROUP BY g ORDER BY g"
    found = []
    for threads in (1, 4):
        engine = DuckdbEngine.in_memory(Limits(threads=threads))
        engine.add("t", table)
        found += [rows(engine, sql) for _ in range(3)]
        engine.close()
    assert all(one == found[0] for one in found)
    assert sum(row[3] for row in found[0]) == sum(x**5 for x in table["x"].to_list())


def test_a_float_is_a_bug_and_called_one(engine):
    with pytest.raises(InternalError, match="neither an integer nor a key"):
        engine.run("SELECT AVG(x) FROM t", parameters=())
    assert engine.run_public("SELECT AVG(x) FROM t") == [(2.0,)]


def test_a_column_of_nothing_but_null_is_given(engine):
    assert rows(engine, "SELECT NULL, COUNT(*) FROM t") == [(None, 3)]


@pytest.mark.parametrize(
    "sql", ["", ";", "SELECT 1; SELECT 2", "EXPLAIN SELECT 1", "CALL pragma_version()", "PRAGMA version", "BEGIN"]
)
def test_anything_but_one_select_is_refused(engine, sql):
    raised(EngineFailed, lambda: engine.run(sql, parameters=()))


def test_a_statement_ends_at_the_time_limit():
    engine = DuckdbEngine.in_memory(Limits(timeout=0.3))
    before = time.monotonic()
    raised(EngineFailed, lambda: engine.run(SLOW, parameters=()))
    assert 0.3 <= time.monotonic() - before < 10
    assert rows(engine, "SELECT 1") == [(1,)]
    engine.close()


def test_the_time_limit_holds_from_the_first_moment():
    """An interrupt that comes before the statement has started is lost, so it is repeated."""
    engine = DuckdbEngine.in_memory(Limits(timeout=1e-6))
    before = time.monotonic()
    raised(EngineFailed, lambda: engine.run(SLOW, parameters=()))
    assert time.monotonic() - before < 10
    engine.close()


def test_a_statement_ends_at_the_memory_limit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    engine = DuckdbEngine.in_memory(Limits(memory_limit="40MB", threads=1))
    with pytest.raises(EngineFailed):
        engine.run("SELECT COUNT(*) FROM (SELECT DISTINCT hash(i) FROM range(20000000) AS r(i))", parameters=())
    assert list(tmp_path.iterdir()) == []  # and nothing was spilled to the disk
    assert rows(engine, "SELECT 1") == [(1,)]
    engine.close()


@pytest.fixture
def _ctrl_c():
    """A program started in the background ignores Ctrl-C; here it is heard."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_ctrl_c")
def test_ctrl_c_stops_the_statement_and_the_program():
    engine = DuckdbEngine.in_memory(Limits(timeout=30))
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt) as pressed:
        engine.run(SLOW, parameters=())
    assert pressed.value.__context__ is None
    assert pressed.traceback[-1].name == "_guarded"  # raised anew, where no row is in reach
    assert rows(engine, "SELECT 1") == [(1,)]
    engine.close()


def test_closing_stops_what_is_running():
    engine = DuckdbEngine.in_memory()
    ended = []

    def ask():
        try:
            engine.run(SLOW, parameters=())
        except EngineFailed as error:
            ended.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    time.sleep(0.2)
    engine.close()
    asking.join(10)
    assert len(ended) == 1
    engine.close()  # twice is no error


def test_the_operator_is_told_the_number_and_the_kind():
    told = []
    engine = DuckdbEngine.in_memory(on_failure=lambda number, kind: told.append((number, kind)))
    engine.add("t", pl.DataFrame({"x": ["Bob"]}))
    error = raised(EngineFailed, lambda: engine.run("SELECT COUNT(CAST(x AS INTEGER)) FROM t", parameters=()))
    assert told == [(error.trace_id, "ConversionException")]
    engine.close()


def test_an_operator_who_fails_changes_nothing():
    def fail(number, kind):
        raise OSError("the disk is full")

    engine = DuckdbEngine.in_memory(on_failure=fail)
    assert raised(EngineFailed, lambda: engine.run("SELECT nothing", parameters=())).__context__ is None
    engine.close()


@cases(__file__, "limits=")
def test_bad_limits_are_refused(limits):
    raised(BadParameter, lambda: DuckdbEngine.in_memory(Limits(**limits)))


def test_a_file_that_is_not_there_or_no_database(tmp_path):
    raised(NoSource, lambda: DuckdbEngine.of_file(tmp_path / "nowhere.duckdb"), match="no file")
    (tmp_path / "text.duckdb").write_text("nothing of the kind")
    raised(NoSource, lambda: DuckdbEngine.of_file(tmp_path / "text.duckdb"), match="cannot be opened")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.duckdb"]


def test_a_file_can_be_opened_twice_and_is_locked_both_times(tmp_path):
    path = database(tmp_path / "a.duckdb", "CREATE TABLE t AS SELECT 7 AS x")
    first, second = DuckdbEngine.of_file(path), DuckdbEngine.of_file(path)
    for engine in (first, second):
        assert rows(engine, "SELECT x FROM t") == [(7,)]
        with pytest.raises(EngineFailed):
            engine.run_public("SELECT * FROM read_csv('/etc/passwd')")
    first.close()
    assert rows(second, "SELECT x FROM t") == [(7,)]
    second.close()


def test_a_file_that_is_open_without_care_is_refused(tmp_path):
    """Both would share one instance, and the other's settings and variables with it."""
    path = database(tmp_path / "a.duckdb", "CREATE TABLE t AS SELECT 7 AS x")
    with duckdb.connect(str(path), read_only=True), pytest.raises(NoSource, match="nothing else has it open"):
        DuckdbEngine.of_file(path)


def test_a_file_that_somebody_prepared_is_refused(tmp_path):
    """The same options at birth and a lock on settings that are not ours: the settings themselves are compared."""
    path = database(tmp_path / "a.duckdb", "CREATE TABLE t AS SELECT 7 AS x")
    with duckdb.connect(str(path), read_only=True, config=dict(AT_BIRTH)) as other:
        other.execute("SET lock_configuration = 'true'")
        raised(NoSource, lambda: DuckdbEngine.of_file(path))


@pytest.mark.parametrize("name", ["sum", "COUNT", "+", "hash", "duckdb_functions", "isnan"])
def test_a_database_that_redefines_functions_is_refused(tmp_path, name):
    body = "TABLE SELECT 1 AS function_name" if name == "duckdb_functions" else "42"
    arguments = "" if name == "duckdb_functions" else "a"
    path = database(tmp_path / "a.duckdb", f'CREATE MACRO "{name}"({arguments}) AS {body}')
    assert name.lower() in str(raised(NoSource, lambda: DuckdbEngine.of_file(path), match="built-in functions")).lower()


def test_macros_with_names_of_their_own_are_fine(tmp_path):
    path = database(tmp_path / "a.duckdb", "CREATE MACRO grown(age) AS age >= 18", "CREATE TABLE t AS SELECT 1 AS x")
    engine = DuckdbEngine.of_file(path)
    assert list(engine.schema()) == ["t"]
    engine.close()


def test_rows_are_laid_out_in_memory_and_never_in_a_file(tmp_path):
    table = DeskTable(columns=(("n", SqlType.INTEGER), ("t", SqlType.TEXT)), rows=[(1, "a"), (None, None)])
    engine = DuckdbEngine.in_memory()
    engine.add_rows("ward.beds", table)
    assert engine.run_public('SELECT * FROM "ward"."beds" ORDER BY n') == [(1, "a"), (None, None)]
    assert list(engine.schema()) == ["ward.beds"]
    duckdb.connect(tmp_path / "data.duckdb").close()
    file = DuckdbEngine.of_file(tmp_path / "data.duckdb")
    raised(InternalError, lambda: file.add_rows("beds", table))


def test_nothing_is_added_to_a_file(tmp_path):
    engine = DuckdbEngine.of_file(database(tmp_path / "a.duckdb", "CREATE TABLE t AS SELECT 7 AS x"))
    raised(NoSource, lambda: engine.add("u", pl.DataFrame({"x": [1]})), match="cannot be added")
    engine.close()
