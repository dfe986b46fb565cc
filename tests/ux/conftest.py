"""Judges look through the public surface only; what they share lies beside them."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    """The policy file of a new clinic."""
    from persistent_clinic import made

    return made(tmp_path_factory.mktemp("clinic"))


@pytest.fixture(scope="module")
def refusing(tmp_path_factory):
    """The policy file of a hospital that refuses in every way."""
    from refusing_hospital import built

    return built(tmp_path_factory.mktemp("hospital"), people=300)


@pytest.fixture(scope="module")
def ana():
    """An analyst of the demo hospital."""
    import dpsql

    with dpsql.demo() as ana:
        yield ana
