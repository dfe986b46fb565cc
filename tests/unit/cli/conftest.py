"""A clinic on disk, asked once, whose data are then out of reach: commands on the ledger do not need them."""

import shutil
import sqlite3
from contextlib import closing

import pytest

from asked_clinic import asked, declared
from dpsql.cli.main import main


@pytest.fixture
def policy(tmp_path):
    """The path of a policy that nobody has opened."""
    return declared(tmp_path)


@pytest.fixture(scope="session")
def asked_once(tmp_path_factory):
    return asked(tmp_path_factory.mktemp("clinic")).parent


@pytest.fixture
def clinic(asked_once, tmp_path, tmp_path_factory, monkeypatch):
    """The path of the policy, on a machine of its own: it has not seen the other copies of this ledger."""
    monkeypatch.setenv("DPSQL_STATE", str(tmp_path_factory.mktemp("state")))
    shutil.copytree(asked_once, tmp_path, dirs_exist_ok=True)
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
        database.execute("UPDATE head SET snapshot = CAST(snapshot || ' ' AS BLOB)")
        database.commit()
