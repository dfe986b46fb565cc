"""A view that shows private rows by any way through DuckDB cannot be declared public, nor protected row by row."""

from __future__ import annotations

import duckdb
import pytest

import dpsql
from dpsql.catalog.views import ViewReads
from dpsql.engines.duckdb_views import read_views
from dpsql.errors import BadPolicy
from dpsql.suggest.reviewing import review_policy

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
CREATE VIEW by_type AS SELECT kind(NULL) AS n;
CREATE VIEW by_macro AS SELECT how_many() AS n;
"""
PRIVATE = {
    "directly": "SELECT * FROM patients",
    "a scalar macro": "SELECT how_many() AS n",
    "a macro in a macro, with a default": "SELECT nested(1) AS n FROM wards",
    "a table macro of another schema, quoted": 'SELECT age FROM other."ALL of them"()',
    "an argument of a macro": "SELECT itself((SELECT MAX(age) FROM patients)) AS n",
    "a name given to a macro": "SELECT * FROM named('pat' || 'ients')",
    "another view": "SELECT n + 1 AS n FROM by_macro",
    "query": "SELECT * FROM query('SELECT age FROM pat' || 'ients')",
    "query of a view": "SELECT * FROM query('FROM by' || '_macro')",
    "query_table": "SELECT * FROM query_table('PAT' || 'ients')",
    "query_table of a list": "SELECT * FROM query_table(['wards', 'patients'], true)",
    "a CTE called like a public table": "WITH wards AS (SELECT * FROM patients) SELECT * FROM wards",
    "a materialized CTE": "WITH w AS MATERIALIZED (SELECT how_many() AS n) SELECT * FROM wards, w",
    "recursion": "WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r WHERE x < how_many()) FROM r",
    "a branch that is never taken": "SELECT CASE WHEN false THEN how_many() END AS n FROM wards",
    "a lateral join": "SELECT * FROM wards w, LATERAL (SELECT COUNT(*) FROM patients p WHERE p.ward = w.ward) c(n)",
    "EXISTS": "SELECT * FROM wards w WHERE EXISTS (SELECT 1 FROM patients p WHERE p.ward = w.ward)",
    "LIMIT": "SELECT * FROM wards LIMIT (SELECT how_many())",
    "ORDER BY": "SELECT ward FROM wards ORDER BY ward * how_many()",
    "FILTER": "SELECT COUNT(*) FILTER (how_many() > 1) AS n FROM wards",
    "QUALIFY": "SELECT ward FROM wards QUALIFY ROW_NUMBER() OVER () < how_many()",
    "a join condition": "SELECT a.ward FROM wards a JOIN wards b ON a.ward < how_many()",
    "SUMMARIZE": "SELECT * FROM (SUMMARIZE patients)",
    "a set operation": "SELECT ward FROM wards EXCEPT SELECT ward FROM patients",
    "a pivot": "SELECT * FROM (PIVOT patients ON ward IN (1, 2) USING COUNT(*))",
}
UNKNOWN = {
    "row counts of the catalogue": "SELECT table_name, estimated_size FROM duckdb_tables()",
    "row counts through an internal view": "SELECT relname, reltuples FROM pg_catalog.pg_class",
    "statistics of storage": "SELECT stats FROM pragma_storage_info('patients')",
    "a statement as JSON": "FROM json_execute_serialized_sql(json_serialize_sql('SELECT age FROM pat' || 'ients'))",
    "the number of rows in a sequence": "SELECT currval('numbers') AS n",
    "a sequence in a lambda": "SELECT list_transform([1], lambda x: x + currval('numbers')) AS n FROM wards",
    "values that a type was made of": "SELECT enum_range(NULL::ages) AS n",
    "the name of such a type": "SELECT typeof(NULL::ages) AS n",
    "a cast to such a type": "SELECT x FROM range(200) r(x) WHERE TRY_CAST(x::VARCHAR AS ages) IS NOT NULL",
    "a cast that is computed when it is bound": "SELECT * FROM wards LIMIT len([TRY_CAST('30' AS ages)::VARCHAR])",
    "such a cast as an argument": "FROM range(CASE WHEN TRY_CAST('30' AS ages) IS NULL THEN 1 ELSE 2 END)",
    "such a cast to what holds one": "SELECT * FROM wards LIMIT len({'age': '30'}::several::VARCHAR)",
    "a pivot on the values of a type": "SELECT * FROM wards PIVOT (COUNT(*) FOR ward IN ages)",
    "a type as a value": "SELECT * FROM wards LIMIT len(get_type(NULL::ages)::VARCHAR)",
    "a default of a macro": "SELECT * FROM wards LIMIT defaults()",
    "a macro with a quote in its name": 'SELECT * FROM wards LIMIT "quo""ted"()',
    "a macro with such a parameter": "SELECT * FROM wards LIMIT typed(NULL)",
    "a setting that is computed when it is bound": "SELECT * FROM wards LIMIT len(current_setting('memory_limit'))",
    "a macro of DuckDB that calls what is not listed": "SELECT * FROM wards LIMIT len(current_schemas(true))",
    "an expression that is too deep to be read": f"SELECT {'+'.join(['ward'] * 900)} AS n FROM wards",
    "a plan that looks at statistics": "SELECT json_serialize_plan('SELECT * FROM patients WHERE age > 1000', "
    "optimize := true) LIKE '%EMPTY%' AS n",
    "the same in a macro of a view": "SELECT * FROM by_type",
    "statistics of a column": "SELECT stats(ward) AS n FROM wards",
    "a setting": "SELECT current_setting('memory_limit') AS n",
    "a function that is not listed": "SELECT * FROM summary((SELECT ward FROM wards))",
}
PUBLIC = {
    "a public table": "SELECT * FROM wards",
    "a column called like the private table": "SELECT ward AS patients FROM wards",
    "a text that names it": "SELECT ward, 'of patients' AS remark FROM wards",
    "a CTE called like the private table": "WITH patients AS (SELECT * FROM wards) SELECT * FROM patients",
    "a table of another schema": "SELECT * FROM other.patients",
    "no table": "SELECT * FROM range(3) r(x), unnest([1, 2]) u(y), generate_series(1, 2), (VALUES (1)) v(z)",
    "functions": "SELECT upper('a' || ward) AS a, -ward AS b, CASE WHEN ward > 1 THEN round(ward / 2, 1) END AS c, "
    "current_date AS d, list_sum(list_transform([ward], lambda x: x + 1)) AS e, strftime(DATE '2020-01-01', '%Y') AS f,"
    " CAST(ward AS VARCHAR) LIKE '1%' AS g, regexp_matches('a', 'b') AS h FROM wards",
    "aggregates": "SELECT ward, COUNT(*) AS n, SUM(doubled) AS s, string_agg(ward, ',') AS t FROM wards GROUP BY ward",
    "columns called like functions": "SELECT ward AS query, doubled AS typeof, 'getvariable' AS enum_code FROM wards",
    "a macro of public rows": "SELECT half(ward) AS n, defaults(1) AS m, itself(ward)::bed AS i FROM wards",
    "macros of DuckDB": "SELECT fdiv(ward, 2) AS a, list_append([ward], 1) AS b, array_to_string([ward], ',') AS c, "
    "nullif(ward, 1) AS d, json_group_array(ward) OVER () AS e FROM wards",
    "operators": "SELECT '{\"a\": 1}'::JSON ->> '$.a' AS a, 'a' GLOB 'b' AS b, ward ** 2 AS c, [ward][1] AS d, "
    "{'x': ward}.x AS e, EXTRACT(year FROM DATE '2020-01-01') AS f, ward IS DISTINCT FROM 2 AS g FROM wards",
    "windows": "SELECT LAG(ward) OVER w AS a, RANK() OVER w AS b, NTILE(2) OVER w AS c FROM wards "
    "WINDOW w AS (ORDER BY ward)",
    "everything public": """WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r WHERE x < 4)
        SELECT w.ward, SUM(x) OVER (ORDER BY w.ward) AS n FROM wards w JOIN r ON r.x = w.ward
        WHERE w.ward IN (SELECT ward FROM wards v WHERE v.ward = w.ward) ORDER BY 1 LIMIT 3""",
}


@pytest.fixture
def declared(tmp_path):
    """Writes a policy with a table or view `shown`, declared as `way` says; the path of the policy."""

    def declare(definition, way, more=POLICY):
        with duckdb.connect(tmp_path / "clinic.duckdb") as data:
            data.execute(TABLES)
            data.execute(f"CREATE VIEW shown AS {definition}")
        path = tmp_path / "dpsql.toml"
        path.write_text(more.format(more=f"[table.shown]\n{way}"), encoding="utf-8")
        return path

    return declare


def is_refused(path):
    review = review_policy(path)
    with pytest.raises(BadPolicy) as caught:
        dpsql.open(path)
    assert review.complete is None
    assert [task.place for task in review.tasks] == ["shown"]
    return caught.value.what


@pytest.mark.parametrize("way", ["public = true", 'unit = "row"'])
@pytest.mark.parametrize("name", PRIVATE)
def test_a_view_of_private_rows_is_refused(declared, name, way):
    assert "reads rows of patients" in is_refused(declared(PRIVATE[name], way))


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_view_that_cannot_be_decided_is_refused(declared, name):
    assert "may show rows of private tables" in is_refused(declared(UNKNOWN[name], "public = true"))


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
        ((_, read),) = read_views(lambda sql: data.execute(sql).fetchall()).items()
    assert read == ViewReads(tables=frozenset({"wards"}))


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
