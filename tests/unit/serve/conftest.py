"""A small clinic; what serves it in this process lives beside the tests."""

import sys
from pathlib import Path

import pandas as pd
import pytest

import dpsql
from in_this_process import serving
from tests.kits.owners import owner_of

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def clinic():
    """The owner of forty people, with tokens by name."""
    rows = pd.DataFrame({"id": range(40)})
    with owner_of(rows, person="id", unique=True, epsilon=10, cost_per_query=1, noise="laplace") as owner:
        yield owner


@pytest.fixture
def token(clinic):
    return clinic.keeper.admit("dominik", role="auditor")


@pytest.fixture
def door(tmp_path):
    return tmp_path / "door"


@pytest.fixture
def admitted(clinic):
    """The token of an analyst who has a grant of their own."""

    def admit(name, budget=5):
        clinic.grant(name, budget=budget)
        return clinic.keeper.admit(name, role="analyst")

    return admit


@pytest.fixture
def client(clinic, token, door):
    """The auditor over the socket."""
    with serving(clinic, door), dpsql.connect(socket=door, token=token) as client:
        yield client


@pytest.fixture
def ana(clinic, admitted, door):
    """An analyst over the socket, who is `clinic.analyst("ana")` in this process."""
    with serving(clinic, door), dpsql.connect(socket=door, token=admitted("ana")) as client:
        yield client
