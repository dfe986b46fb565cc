"""An engine that rewrites expressions by the least and largest value of a column fails, or does not, by one person.

DuckDB 2.0 did: where no income was below 500, `CASE WHEN income < 500 THEN 'a' END <> 'b'` raised inside its optimizer.
Each question here is asked of columns in a tight range, without one person, with one far outside and with one who is
NULL in every column. It must be answered everywhere: the kinds of failure cannot be told apart from here.
"""

import duckdb
import pytest

import dpsql

PERSON = {
    "nobody more": None,
    "far below": "-1000, -1000, -1000.0, 'a', false, DATE '1990-01-01', TIMESTAMP '1990-01-01 00:00:00'",
    "far above": "9000, 9000, 9000.0, 'z', false, DATE '2040-01-01', TIMESTAMP '2040-01-01 00:00:00'",
    "nothing known": "NULL, NULL, NULL, NULL, NULL, NULL, NULL",
}
CONDITIONS = (
    *("x < 500", "x NOT BETWEEN 0 AND 5000", "x > 5000", "x IS NULL", "x IN (-1000, 9000)", "NOT x > 0"),
    *("k < 500", "k IS NULL", "d < 500", "d > 5000", "t < 'b'", "t >= 'y'", "t IS NULL", "NOT b", "b IS NULL"),
    *("day < DATE '2000-01-01'", "day IS NULL", "moment > TIMESTAMP '2030-01-01 00:00:00'", "moment IS NULL"),
    *("x + k < 0", "-x > 0", "length(t) < 2", "x < 500 AND k < 500", "x < 500 OR t < 'b'"),
)
FORMS = (
    *("CASE WHEN {} THEN 'a' END <> 'b'", "CASE WHEN {} THEN 'a' END = 'a'", "CASE WHEN {} THEN 'a' END < 'b'"),
    *("CASE WHEN {} THEN 'a' END BETWEEN 'a' AND 'b'", "CASE CASE WHEN {} THEN 'a' END WHEN 'a' THEN 1 END = 1"),
    *("NULLIF(CASE WHEN {} THEN 'a' END, 'b') = 'a'", "CASE WHEN {} THEN 'a' ELSE t END <> 'b'"),
    *("CASE WHEN {} THEN 1 END = 1", "CASE WHEN {} THEN x END > 3", "COALESCE(CASE WHEN {} THEN day END, day) = day"),
    *("CASE WHEN {} THEN t END || 'a' = 'a'", "upper(CASE WHEN {} THEN 'a' END) = 'A'", "{}", "NOT ({})"),
)
PLACES = (
    "SELECT COUNT(*) FROM people WHERE {}",
    "SELECT COUNT(*) FILTER (WHERE {}) FROM people",
    "SELECT SUM(CASE WHEN {} THEN 1 ELSE 0 END) FROM people",
    "SELECT b, COUNT(*) FROM people WHERE {} GROUP BY b",
    "SELECT COUNT(*) FROM people JOIN (SELECT id FROM people) AS other USING (id) WHERE {}",
)
INSIDE = "SELECT COUNT(*) FROM (SELECT id, MAX(x) AS x, MIN(t) AS t FROM people GROUP BY id) AS p WHERE {}"


def analyst(person):
    columns = "id BIGINT, x BIGINT, k INTEGER, d DOUBLE, t VARCHAR, b BOOLEAN, day DATE, moment TIMESTAMP"
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE people ({columns})")
        connection.execute(
            """
            INSERT INTO people SELECT range, 1000 + range, 1000 + range, 1000 + range, 'm' || range, true,
                DATE '2020-01-01' + range::INTEGER, TIMESTAMP '2020-01-01 00:00:00' + to_days(range::INTEGER)
            FROM range(400)
            """
        )
        if person is not None:
            connection.execute(f"INSERT INTO people VALUES (1000, {person})")
        owner = dpsql.open(":memory:")
        limits = {"x": (0, 5000), "k": (0, 5000), "d": (0, 5000)}
        keys = {"b": [True, False]}
        owner.register(
            "people",
            connection,
            person="id",
            rows_per_person=1,
            groups_per_person=1,
            bounds=limits,
            keys=keys,
            columns=["t", "day", "moment"],
        )
    owner.promise(epsilon=10**6, delta=1e-6)
    owner.defaults(cost_per_query=0.01, max_keys=100)
    return owner.grant("ana", budget=10**6)


@pytest.fixture(scope="module")
def worlds():
    return {name: analyst(person) for name, person in PERSON.items()}


def failed(worlds, sql):
    """In which worlds it has no answer, and why."""
    found = {}
    for name, ana in worlds.items():
        try:
            ana.sql(sql)
        except dpsql.DpsqlError as error:
            found[name] = error.code
    return found


@pytest.mark.parametrize("condition", CONDITIONS)
def test_no_person_decides_whether_there_is_an_answer(worlds, condition):
    for number, form in enumerate(FORMS):
        sql = PLACES[number % len(PLACES)].format(form.format(condition))
        assert failed(worlds, sql) == {}, sql


@pytest.mark.parametrize("place", [*PLACES, INSIDE])
def test_nor_in_any_place(worlds, place):
    for condition in ("x < 500", "t < 'b'", "x IS NULL"):
        assert failed(worlds, place.format(f"CASE WHEN {condition} THEN 'a' END <> 'b'")) == {}
