"""A small clinic; what serves it in this process lives beside the tests."""

import sys
from pathlib import Path

import pandas as pd
import pytest

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
