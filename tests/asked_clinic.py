"""A clinic on disk that was asked once, and whose data are then out of reach: its ledger is kept without them."""

from pathlib import Path

import duckdb

import dpsql

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
COUNT = "SELECT COUNT(*) FROM people"


def declared(folder: Path, words: str = POLICY) -> Path:
    """Data and a policy that nobody has opened; the path of the policy."""
    with duckdb.connect(str(folder / "clinic.duckdb")) as database:
        database.execute("CREATE TABLE people AS SELECT range AS id FROM range(50)")
    (folder / "dpsql.toml").write_text(words)
    return folder / "dpsql.toml"


def asked(folder: Path, words: str = POLICY) -> Path:
    """The path of a policy under which Ana has paid 1 of 3 for a count."""
    policy = declared(folder, words)
    with dpsql.open(policy) as owner:
        owner.analyst("ana").sql(COUNT)
    (folder / "clinic.duckdb").rename(folder / "elsewhere")
    return policy


def edited(policy: Path, before: str, after: str) -> None:
    text = policy.read_text()
    assert before in text
    policy.write_text(text.replace(before, after))


def back(policy: Path) -> None:
    """The data are in reach again."""
    (policy.parent / "elsewhere").rename(policy.parent / "clinic.duckdb")
