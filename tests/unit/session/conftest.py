"""An analyst of the invented hospital, whose budget is that of all tests of a file."""

import pytest

import dpsql


@pytest.fixture(scope="module")
def ana():
    with dpsql.demo() as analyst:
        yield analyst
