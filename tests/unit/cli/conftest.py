"""A clinic on disk, asked once, whose data are then out of reach: commands on the ledger do not need them."""

import sqlite3
from contextlib import closing

import duckdb
import pytest

import dpsql
from dpsql.cli.main import main

POLICY = """
version = 1
[source]
url = "duckdb://clinic.duckdb"
[person]
name = "patient"
[promise]
epsilon = 4
delta = 0
[defaults]
cost_per_query = 1
noise = "laplace"
[table.people]
person = "id"
unique = true
[[grant]]
to = "ana"
budget = 3
"""
COUNT = "SELECT COUNT(*) AS n FROM people"


@pytest.fixture
def clinic(tmp_path):
    """The path of the policy."""
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as database:
        database.execute("CREATE TABLE people AS SELECT range AS id FROM range(50)")
    (tmp_path / "dpsql.toml").write_text(POLICY)
    with dpsql.open(tmp_path / "dpsql.toml") as owner:
        owner.analyst("ana").sql(COUNT)
    (tmp_path / "clinic.duckdb").unlink()
    return tmp_path / "dpsql.toml"


@pytest.fixture
def run(clinic, capsys):
    """A command under the clinic's policy: its exit code, and what it says on both ways out."""

    def run(*words):
        code = main([*map(str, words), "--policy", str(clinic)])
        found = capsys.readouterr()
        return code, found.out, found.err

    return run


@pytest.fixture
def broken(clinic):
    """The ledger with a total that is not the sum of its entries."""
    with closing(sqlite3.connect(clinic.parent / "clinic.duckdb.ledger")) as database:
        database.execute("UPDATE accounts SET spent_epsilon = '1/7' WHERE holder = 'ana'")
        database.commit()
