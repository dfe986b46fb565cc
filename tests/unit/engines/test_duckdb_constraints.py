"""Keys, references, checks, listed values and comments, as they were written into the tables; and nothing of rows."""

import duckdb

from dpsql.engines.duckdb import DuckdbEngine
from dpsql.engines.duckdb_schema import read_constraints
from dpsql.engines.engine import Check, ForeignKey

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
