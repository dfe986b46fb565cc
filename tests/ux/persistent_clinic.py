"""A clinic on disk, as an owner would have it: data, a policy with two grants, and the ledger that comes with them."""

from pathlib import Path

import duckdb

POLICY = """
version = 1
source.url = "duckdb://clinic.duckdb"
person.name = "patient"
promise = { epsilon = 5, delta = 0 }
defaults = { cost_per_query = 0.05, max_keys = 10 }
grant = [{ to = "ana", budget = 0.5 }, { to = "ben", budget = 0.5 }]
[table.patients]
person = "id"
unique = true
columns.id = { hidden = true }
columns.age = { bounds = [0, 110] }
columns.city = { keys = ["Basel", "Bern"] }
columns.flu = {}
"""
QUESTIONS = 10
"""How many ordinary questions a grant pays for."""


def made(folder: Path) -> Path:
    """The policy file of a new clinic."""
    with duckdb.connect(str(folder / "clinic.duckdb")) as database:
        city = "CASE WHEN range % 2 = 0 THEN 'Basel' ELSE 'Bern' END"
        database.execute("CREATE TABLE patients (id BIGINT PRIMARY KEY, age INTEGER, city VARCHAR, flu BOOLEAN)")
        database.execute(
            f"INSERT INTO patients SELECT range, CAST(range % 100 AS INTEGER), {city}, range % 4 = 0 FROM range(4000)"
        )
    policy = folder / "dpsql.toml"
    policy.write_text(POLICY, encoding="utf-8")
    return policy


def question(number: int) -> str:
    """Another one for every number."""
    return f"SELECT COUNT(*) AS n FROM patients WHERE age >= {number}"
