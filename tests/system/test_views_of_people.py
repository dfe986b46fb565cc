"""What shows private rows by any way through DuckDB, be it a view or a generated column, cannot be declared public, nor
protected row by row."""

import duckdb
import pytest

import dpsql
from dpsql.catalog.views import ViewReads
from dpsql.engines.duckdb_views import read_views
from dpsql.errors import BadPolicy
from dpsql.suggest.policy_file import review_policy
from tests.kits.rows import read_rows

POLICY = """version = 1
[source]
url = "duckdb://clinic.duckdb"
[promise]
epsilon = 1
delta = 0
[table.patients]
person = "id"
rows_per_person = 1
{more}
"""
TABLES = """
CREATE TABLE patients (id INTEGER PRIMARY KEY, ward INTEGER, age INTEGER);
INSERT INTO patients VALUES (1, 1, 30), (2, 1, 40);
CREATE TABLE wards (ward INTEGER, doubled INTEGER GENERATED ALWAYS AS (ward * 2));
CREATE SCHEMA other;
CREATE TABLE other.patients (bed INTEGER);
CREATE MACRO how_many() AS (SELECT COUNT(*) FROM patients);
CREATE MACRO nested(x, y := 1) AS x + y + how_many();
CREATE MACRO other."all of them"() AS TABLE SELECT * FROM main.patients;
CREATE MACRO itself(x) AS x;
CREATE MACRO named(t) AS TABLE SELECT * FROM query_table(t);
CREATE SEQUENCE numbers;
CREATE TYPE ages AS ENUM (SELECT DISTINCT age::VARCHAR FROM patients);
CREATE MACRO kind(x) AS typeof(x::ages);
CREATE MACRO defaults(n := len(enum_range(NULL::ages))) AS n;
CREATE MACRO "quo""ted"() AS len(enum_range(NULL::ages));
CREATE MACRO typed(x ages) AS 1;
CREATE MACRO half(x) AS x / 2;
CREATE TYPE several AS STRUCT(age ages);
CREATE TYPE bed AS INTEGER;
CREATE TYPE also AS ages;
CREATE TYPE other.apart AS ages;
CREATE MACRO other."kind of age"() AS typeof(NULL::ages);
CREATE VIEW by_type AS SELECT kind(NULL) AS n;
CREATE VIEW by_macro AS SELECT how_many() AS n;
"""
PRIVATE = dict(read_rows(__file__, "private"))
UNKNOWN = dict(read_rows(__file__, "unknown")) | {
    "an expression that is too deep to be read": f"SELECT {'+'.join(['ward'] * 900)} AS n FROM wards"
}
FOLDED = dict(read_rows(__file__, "folded"))
"""Generated columns that DuckDB turns into values of a type while it binds."""
GENERATED = (
    FOLDED
    | dict(read_rows(__file__, "generated"))
    | {"an expression that is too deep to be read": "+".join(["ward"] * 900)}
)
PUBLIC = dict(read_rows(__file__, "public"))


@pytest.fixture
def declared(tmp_path):
    """Writes a policy with a table or view `shown`, declared as `way` says; the path of the policy."""

    def declare(definition, way, more=POLICY):
        created = definition if definition.startswith("CREATE ") else f"CREATE VIEW shown AS {definition}"
        with duckdb.connect(tmp_path / "clinic.duckdb") as data:
            data.execute(TABLES)
            data.execute(created)
        path = tmp_path / "dpsql.toml"
        path.write_text(more.format(more=f"[table.shown]\n{way}"), encoding="utf-8")
        return path

    return declare


def is_refused(path):
    with pytest.raises(BadPolicy) as caught:
        dpsql.open(path)
    return caught.value.what


@pytest.mark.parametrize("definition", [PRIVATE["directly"], next(iter(UNKNOWN.values()))])
def test_a_review_says_before_what_opening_refuses(declared, definition):
    path = declared(definition, "public = true")
    review = review_policy(path)
    assert review.complete is None
    (task,) = review.tasks
    assert task.place == "shown"
    assert f"shown: {task.what.partition('. ')[0]}" in is_refused(path)


@pytest.mark.parametrize("way", ["public = true", 'unit = "row"'])
@pytest.mark.parametrize("name", PRIVATE)
def test_a_view_of_private_rows_is_refused(declared, name, way):
    assert "reads rows of patients" in is_refused(declared(PRIVATE[name], way))


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_view_that_cannot_be_decided_is_refused(declared, name):
    assert "may show rows of private tables" in is_refused(declared(UNKNOWN[name], "public = true"))


def rooms(name, expression, more=""):
    return f'CREATE TABLE {name} (ward INTEGER, {more} "its kind" GENERATED ALWAYS AS ({expression}))'


@pytest.mark.parametrize("name", GENERATED)
def test_a_table_with_a_generated_column_that_cannot_be_decided_is_refused(declared, name):
    told = is_refused(declared(rooms("shown", GENERATED[name], more="age ages,"), "public = true"))
    assert "a table that reads" in told
    assert "in the generated column shown.its kind, which may show rows of private tables" in told


@pytest.mark.parametrize("name", ["a macro", "a cast to such a type"])
def test_nor_are_its_rows_protected_one_by_one(declared, name):
    assert "in the generated column shown.its kind" in is_refused(
        declared(rooms("shown", GENERATED[name]), 'unit = "row"')
    )


@pytest.mark.parametrize("name", FOLDED)
def test_a_view_of_such_a_table_is_refused(declared, name):
    tables = f"{rooms('other.rooms', FOLDED[name])}; CREATE VIEW shown AS FROM other.rooms"
    told = is_refused(declared(tables, "public = true"))
    assert "a view that reads" in told
    assert "in the generated column other.rooms.its kind, which may show rows of private tables" in told


def test_a_view_of_a_view_of_such_a_table_is_refused(declared):
    tables = f"{rooms('rooms', 'kind(NULL)')}; CREATE VIEW seen AS FROM rooms; CREATE VIEW shown(a, b) AS FROM seen"
    assert "in the generated column rooms.its kind" in is_refused(declared(tables, "public = true"))


@pytest.mark.parametrize("way", ["public = true", 'unit = "row"'])
def test_a_table_with_generated_columns_of_its_own_rows_may_be_public(declared, way):
    table = """CREATE TABLE shown (ward INTEGER, age ages, doubled INTEGER AS (ward * 2), more AS (doubled + 1),
        name VARCHAR AS (upper('w' || ward)), half AS (half(ward)), same AS (itself(ward)::bed), "typeof" AS (ward))"""
    assert review_policy(declared(table, way)).complete is not None


@pytest.mark.parametrize("name", PUBLIC)
def test_a_view_of_public_rows_may_be_public(declared, name):
    path = declared(PUBLIC[name], "public = true")
    assert review_policy(path).complete is not None
    with dpsql.open(path) as owner:
        owner.grant("ana", budget=1)
        assert owner.analyst("ana").sql("SELECT COUNT(*) FROM shown COST 1").cost.epsilon == 0


@pytest.mark.parametrize("name", ['"a (b), c" (ward, "x ""AS"" y")', 'other."d.e AS f"(k)', "plain(k)"])
def test_the_query_of_a_view_is_found_behind_its_names(name):
    with duckdb.connect() as data:
        data.execute(TABLES.partition("CREATE TYPE")[0])
        columns = "ward, doubled" if "ward" in name else "ward"
        data.execute(f"CREATE VIEW {name} AS SELECT {columns} FROM wards")
        read = read_views(lambda sql: data.execute(sql).fetchall())
    assert len(read) == 2  # one is the table with its generated column
    assert set(read.values()) == {ViewReads(tables=frozenset({"wards"}))}


def test_a_view_of_private_rows_has_its_person(declared):
    assert review_policy(declared(PRIVATE["directly"], 'person = "id"')).complete is not None


VIEW_ALONE = POLICY.replace("[table.patients]", '[table.people]\nsource = "shown"')


@pytest.mark.parametrize("way", ["public = true", 'unit = "row"'])
def test_rows_of_a_private_view_are_private_where_their_table_is_not_declared(declared, way):
    policy = VIEW_ALONE.replace("{more}", f"[table.by_macro]\n{way}")
    review = review_policy(declared("SELECT id, age FROM patients", "", policy))
    assert [(task.place, task.what.partition(",")[0]) for task in review.tasks] == [
        ("by_macro", "it reads rows of people")
    ]


def test_people_of_a_private_view_are_in_no_public_table(declared):
    policy = VIEW_ALONE.replace("{more}", "[table.patients]\npublic = true")
    review = review_policy(declared("SELECT id, age FROM patients", "", policy))
    assert [task.place for task in review.tasks] == ["people"]


def test_a_private_view_may_also_read_public_tables(declared):
    policy = VIEW_ALONE.replace("{more}", "[table.wards]\npublic = true")
    assert review_policy(declared("SELECT id, age FROM patients JOIN wards USING (ward)", "", policy)).complete
