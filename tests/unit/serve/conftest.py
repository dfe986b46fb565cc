"""A small clinic; what serves it in this process lives beside the tests."""

import sys
from pathlib import Path

import pandas as pd
import pytest

import dpsql

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def clinic():
    """The owner of forty people, with tokens by name."""
    with dpsql.open(":memory:") as owner:
        owner.register("people", pd.DataFrame({"id": range(40)}), person="id", unique=True)
        owner.promise(epsilon=10)
        owner.defaults(cost_per_query=1, noise="laplace")
        yield owner


@pytest.fixture
def token(clinic):
    return clinic.keeper.admit("dominik", role="auditor")
