"""Settings shared by all tests."""

import gc
import os
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

gc.disable()  # until all tests are collected
TESTS = Path(__file__).parent
sys.path[:0] = [str(TESTS), str(TESTS.parent)]  # what tests share, as files beside this one and as `tests.…`

# Anchors of the ledgers that tests make: not among those of the machine.
STATE = tempfile.TemporaryDirectory(prefix="dpsql-state-", ignore_cleanup_errors=True)
os.environ["DPSQL_STATE"] = STATE.name

# No time limit per example: tests must not depend on how busy the machine is. `make test` tries the same examples
# every time; `make explore` looks for new ones.
settings.register_profile("steady", deadline=None, derandomize=True, database=None)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


def pytest_collection_finish():
    """Tens of thousands of collected tests stay to the end: looking through them for garbage, time and again, takes
    longer than many tests do."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_unconfigure():
    gc.unfreeze()


@pytest.fixture
def command(capsys):
    """A command of dpsql, which ends with `code`: what it says on both ways out."""
    from dpsql.cli.main import main

    def run(words, code=0):
        assert main(words) == code
        return capsys.readouterr()

    return run


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server; `room()` is the address of a place for one ledger."""
    from postgres_server import Server

    server = Server()
    yield server
    server.remove()
