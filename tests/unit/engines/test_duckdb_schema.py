"""What the catalogue says, and that nothing but the catalogue is asked."""

from ast import literal_eval

import duckdb
import pytest

from dpsql.catalog.spelling import quoted
from dpsql.catalog.types import SqlType
from dpsql.engines import duckdb_views
from dpsql.engines.duckdb import DuckdbEngine
from dpsql.engines.duckdb_schema import read_constraints, read_schema, sql_type
from dpsql.engines.engine import Check, ForeignKey
from dpsql.errors import EngineFailed
from dpsql.mechanisms.mechanism import opened
from tests.kits.refusals import raised
from tests.kits.rows import read_rows

READ = [
    (kind, SqlType.__members__.get(name), literal_eval(low), literal_eval(high))
    for kind, name, low, high in read_rows(__file__, "read")
]

WIDE = ["UBIGINT", "HUGEINT", "UHUGEINT", "DECIMAL(19,0)", "DECIMAL(38,0)"]


@pytest.fixture
def opened_file(tmp_path):
    """Opens a database made by statements."""
    engines = []

    def make(*statements):
        path = tmp_path / f"{len(engines)}.duckdb"
        with duckdb.connect(str(path)) as connection:
            for statement in statements:
                connection.execute(statement)
        engines.append(DuckdbEngine.of_file(path))
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()


def test_every_type_is_read_as_the_table_says(opened_file):
    columns = ", ".join(f"c{number} {kind}" for number, (kind, *_) in enumerate(READ))
    (table,) = opened_file(f"CREATE TABLE t ({columns})").schema().values()
    found = [(column.engine_type, column.type, column.low, column.high) for column in table.columns]
    assert found == READ


def test_the_limits_of_a_type_are_those_of_the_engine(opened_file):
    """The largest value fits and the next one does not."""
    engine = opened_file()
    for kind, type_, low, high in READ:
        if type_ is SqlType.INTEGER:
            sql = f"SELECT {', '.join(f'CAST(TRY_CAST({end} AS {kind}) AS HUGEINT)' for end in (low, high))}"
            assert opened(engine.run(sql, parameters=())) == [(low, high)]
            beyond = (f"{low} - 1::HUGEINT", f"{high} + 1::HUGEINT")
            sql = f"SELECT {', '.join(f'CAST(TRY_CAST({end} AS {kind}) AS HUGEINT)' for end in beyond)}"
            assert opened(engine.run(sql, parameters=())) == [(None, None)]


def test_an_unheard_of_type_is_not_read():
    assert sql_type("GEOMETRY") is None
    assert sql_type("") is None


def test_constraints_are_those_the_engine_enforces(opened_file):
    schema = opened_file(
        "CREATE TABLE p (id BIGINT PRIMARY KEY, a INTEGER NOT NULL, b INTEGER UNIQUE, c INTEGER, UNIQUE (a, c))",
        "CREATE TABLE q (a INTEGER, b INTEGER, PRIMARY KEY (b, a))",
        "CREATE TABLE r (a INTEGER)",
    ).schema()
    expected = {"id": True, "a": True, "b": False, "c": False}
    assert {column.name: column.not_null for column in schema["p"].columns} == expected
    assert set(schema["p"].unique) == {("id",), ("b",), ("a", "c")}
    assert schema["q"].unique == (("b", "a"),)
    assert schema["r"].unique == ()


def test_views_and_other_schemas_are_listed(opened_file):
    schema = opened_file(
        "CREATE SCHEMA ward",
        "CREATE TABLE ward.beds (a INTEGER UNIQUE)",
        "CREATE TABLE beds (a VARCHAR)",
        "CREATE VIEW ward.free AS SELECT a + 1 AS b FROM ward.beds",
        "CREATE VIEW v AS SELECT a AS b FROM beds",
        'CREATE TABLE "odd ""name" ("a b" INTEGER)',
    ).schema()
    assert sorted(schema) == ["beds", 'odd "name', "v", "ward.beds", "ward.free"]
    assert [table.name for table in schema.values()] == list(schema)
    assert schema["ward.beds"].unique == (("a",),)
    assert schema["beds"].unique == ()
    assert schema["v"].columns[0].type is SqlType.TEXT
    assert schema['odd "name'].columns[0].name == "a b"


def test_no_row_is_read(opened_file):
    """A view that fails as soon as one row is computed is listed all the same."""
    engine = opened_file(
        "CREATE TABLE t AS SELECT i FROM range(10) AS r(i)",
        "CREATE VIEW trap AS SELECT CAST(error('a row was read ' || i) AS VARCHAR) AS a, i FROM t",
        "CREATE VIEW trap2 AS SELECT i FROM t WHERE error('a row was read ' || i) IS NULL",
    )
    assert sorted(engine.schema()) == ["t", "trap", "trap2"]


def test_a_column_with_a_collation_is_not_read(opened_file):
    """It would group Bob with BOB, while a hash tells them apart."""
    engine = opened_file(
        "CREATE TABLE t (id INTEGER, name VARCHAR COLLATE nocase UNIQUE, b VARCHAR UNIQUE, c VARCHAR COLLATE de)",
        "CREATE VIEW v AS SELECT name AS n, upper(name) AS u, b FROM t",
        'CREATE VIEW plain AS SELECT name COLLATE "binary" AS name FROM t',
        "INSERT INTO t VALUES (1, 'Bob', 'x', 'y')",
        "CREATE TABLE u (a VARCHAR COLLATE nocase)",
        "INSERT INTO u VALUES ('Bob'), ('BOB')",
        'CREATE VIEW w AS SELECT a COLLATE "binary" AS a FROM u',
        'CREATE TABLE "COLLATE "("c0 VARCHAR COLLATE nocase" VARCHAR, e ENUM(\'c1 VARCHAR COLLATE nocase\'))',
    )
    schema = engine.schema()
    assert [column.name for column in schema["t"].columns] == ["id", "b"]
    assert schema["t"].unique == (("b",),)
    assert "n" not in [column.name for column in schema["v"].columns]
    assert "b" in [column.name for column in schema["v"].columns]
    assert [column.name for column in schema["plain"].columns] == ["name"]  # the way around it
    sql = "SELECT COUNT(DISTINCT a), COUNT(*) FILTER (WHERE a = 'BOB') FROM w"
    assert opened(engine.run(sql, parameters=())) == [(2, 1)]
    assert opened(engine.run(sql.replace("FROM w", "FROM u"), parameters=())) == [(1, 2)]
    assert len(schema["COLLATE "].columns) == 2


def test_what_cannot_be_bound_is_left_out(opened_file, tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    engine = opened_file(
        "CREATE TABLE t (a INTEGER)",
        f"CREATE VIEW on_a_file AS SELECT * FROM read_csv('{tmp_path / 'rows.csv'}')",
        "CREATE TABLE gone (a INTEGER)",
        "CREATE VIEW on_nothing AS SELECT a FROM gone",
        "DROP TABLE gone",
    )
    assert list(engine.schema()) == ["t"]


def test_a_name_with_a_point_is_left_out(opened_file):
    engine = opened_file(
        'CREATE TABLE "a.t" (x INTEGER)',
        'CREATE TABLE "z.t" (x INTEGER)',
        'CREATE TABLE "alone.t" (x INTEGER)',
        "CREATE SCHEMA a",
        "CREATE TABLE a.t (y INTEGER)",
        "CREATE SCHEMA z",
        "CREATE TABLE z.t (y INTEGER)",
    )
    assert sorted(engine.schema()) == ["a.t", "z.t"]
    assert {column.name for table in engine.schema().values() for column in table.columns} == {"y"}


def test_probing_a_table_called_like_the_probe(opened_file):
    engine = opened_file(
        "CREATE TABLE a (a VARCHAR)", "CREATE TABLE dpsql_collations (a VARCHAR COLLATE nocase, b VARCHAR)"
    )
    assert [column.name for column in engine.schema()["dpsql_collations"].columns] == ["b"]


def test_a_name_that_means_two_things_is_left_out(opened_file):
    """The file is called 0.duckdb, so "0"."t" is a table of the schema 0 or of the database 0."""
    statements = [
        'CREATE SCHEMA "0"',
        'CREATE TABLE "0"."0".t (a INTEGER)',
        "CREATE SCHEMA s",
        "CREATE TABLE s.t (a INTEGER)",
    ]
    engine = opened_file(*statements)
    assert list(engine.schema()) == ["s.t"]
    raised(EngineFailed, lambda: engine.run_public('SELECT COUNT(*) FROM "0"."t"'))
    assert engine.run_public('SELECT COUNT(*) FROM "s"."t"') == [(0,)]


def test_an_empty_database_has_an_empty_schema(opened_file):
    assert dict(opened_file().schema()) == {}


def test_the_schema_is_read_once_and_again_after_an_addition():
    engine = DuckdbEngine.in_memory()
    assert engine.schema() is engine.schema()
    with duckdb.connect() as other:
        engine.add("t", other.sql("SELECT 1 AS a"))
    assert list(engine.schema()) == ["t"]
    engine.close()


def test_names_are_quoted_whatever_is_in_them():
    name = 'a"; DROP TABLE t; --'
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE {quoted(name)} (x INTEGER)")
        assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [(name,)]


def test_integers_beyond_64_bits_are_marked(opened_file):
    columns = ", ".join(f"c{number} {kind}" for number, kind in enumerate([*WIDE, "BIGINT", "DECIMAL(18,0)"]))
    (table,) = opened_file(f"CREATE TABLE t ({columns})").schema().values()
    assert [column.type for column in table.columns] == [SqlType.INTEGER] * 7
    assert [column.wide for column in table.columns] == [True] * 5 + [False] * 2
    assert [column.low for column in table.columns[:5]] == [None] * 5


def test_decimals_have_their_scale(opened_file):
    (table,) = (
        opened_file("CREATE TABLE t (a DECIMAL(10,2), b DECIMAL(38,5), c DECIMAL(5,0), d DOUBLE)").schema().values()
    )
    assert [column.scale for column in table.columns] == [2, 5, None, None]


def test_types_that_are_not_read_come_with_advice_that_runs(opened_file):
    """Each advice is an expression over x: as a view, its column is read."""
    kinds = {
        "TIMESTAMP WITH TIME ZONE": "TIMESTAMPTZ '2025-01-01 00:00:00+00'",
        "TIME": "TIME '10:00'",
        "INTERVAL": "INTERVAL 1 DAY",
        "BLOB": "'x'::BLOB",
        "BIT": "'101'::BIT",
    }
    for kind, value in kinds.items():
        (table,) = opened_file(f"CREATE TABLE t AS SELECT {value} AS x").schema().values()
        (column,) = table.columns
        assert (column.engine_type, column.type) == (kind, None)
        text = column.instead.removeprefix("read it through a view: ")
        advice = text[: text.index(")") + 1]
        view = opened_file(f"CREATE TABLE t AS SELECT {value} AS x", f"CREATE VIEW v AS SELECT {advice} AS x FROM t")
        assert view.schema()["v"].columns[0].type is not None, kind
    for kind in ("INTEGER[]", "STRUCT(a INTEGER)", "MAP(VARCHAR, INTEGER)", "JSON"):
        (table,) = opened_file(f"CREATE TABLE t (x {kind})").schema().values()
        assert "part" in table.columns[0].instead


def test_tables_are_listed_as_often_whatever_their_number():
    """Listing them takes time for each of them: once per table would be quadratic."""

    def listings(number):
        statements = []
        with duckdb.connect() as database:
            for each in range(number):
                database.execute(f"CREATE TABLE t{each} (a VARCHAR COLLATE NOCASE, b VARCHAR)")
                database.execute(f"CREATE VIEW v{each} AS SELECT a, b FROM t{each}")

            def ask(sql):
                statements.append(sql)
                return database.execute(sql).fetchall()

            found = read_schema(ask)
        assert {tuple(column.name for column in table.columns) for table in found.values()} == {("b",)}
        assert len(found) == 2 * number
        return sum("duckdb_tables" in sql for sql in statements)

    assert listings(2) == listings(20)


# Keys, references, checks, listed values and comments, as they were written into the tables; and nothing of rows.

TABLES = """
CREATE TYPE mood AS ENUM ('sad', 'it''s ok');
CREATE TABLE people (id BIGINT PRIMARY KEY, mood mood, age INTEGER CHECK (age BETWEEN 0 AND 120));
CREATE SCHEMA other;
CREATE TABLE other.wards (a INTEGER, b INTEGER, PRIMARY KEY (a, b));
CREATE TABLE other.beds (a INTEGER, b INTEGER, FOREIGN KEY (a, b) REFERENCES other.wards (a, b));
CREATE VIEW shown AS SELECT id FROM people;
COMMENT ON TABLE people IS 'everybody';
COMMENT ON COLUMN people.age IS 'in years';
"""


def made(path):
    with duckdb.connect(str(path)) as database:
        database.execute(TABLES)
    return path


def test_what_the_tables_declare(tmp_path):
    engine = DuckdbEngine.of_file(made(tmp_path / "x.duckdb"))
    found = engine.constraints()
    engine.close()
    assert set(found) == {"people", "other.wards", "other.beds", "shown"}
    people = found["people"]
    assert people.primary_key == ("id",)
    assert people.choices == {"mood": ("sad", "it's ok")}
    assert people.checks == (Check(columns=("age",), text="(age BETWEEN 0 AND 120)"),)
    assert (people.comment, people.comments) == ("everybody", {"age": "in years"})
    assert found["other.wards"].primary_key == ("a", "b")
    assert found["other.beds"].foreign_keys == (
        ForeignKey(columns=("a", "b"), table="other.wards", to_columns=("a", "b")),
    )
    assert [name for name, each in found.items() if each.view] == ["shown"]


def test_only_functions_of_the_catalogue_are_asked_and_no_count_of_rows():
    asked = []
    read_constraints(lambda sql: asked.append(sql) or [])
    assert len(asked) == 3
    for sql in asked:
        words = sql.replace("\n", " ").split()
        read = [words[index + 1] for index, word in enumerate(words) if word == "FROM"]
        assert all(name.startswith("system.main.duckdb_") for name in read)
        assert "estimated_size" not in sql
        assert "*" not in sql


def test_an_operator_of_a_plan_that_is_not_known_is_named():
    """A newer DuckDB may have others; and a table of another database is no table of this one."""
    scan = {"type": "LOGICAL_GET", "qname": {"path": [duckdb_views._SCAN]}}
    elsewhere = {**scan, "function_data": {"qualified_name": {"path": ["other", "main", "t"]}}}
    found = duckdb_views._reads_of([{"type": "LOGICAL_NEW"}, elsewhere], "here")
    assert (found.tables, found.unknown) == (frozenset(), {"new", "the database other"})
