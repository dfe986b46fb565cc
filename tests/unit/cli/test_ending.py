"""Every error has the exit code of the table in the guide."""

import inspect

import pytest

import dpsql.errors
from dpsql.cli.manner import exit_code

EXPECTED = {
    "InternalError": 1,
    "BadParameter": 2,
    "NotUnderstood": 3,
    "BadName": 3,
    "BadType": 3,
    "RowLevel": 4,
    "TwoPeople": 4,
    "BudgetExhausted": 5,
    "OverLimit": 5,
    "FrozenLedger": 5,
    "NotPermitted": 6,
    "EngineFailed": 7,
    "NoSource": 7,
    "BadPolicy": 8,
    "LedgerBroken": 9,
}


@pytest.mark.parametrize(("name", "code"), EXPECTED.items())
def test_the_code_of_an_error(name, code):
    assert exit_code(getattr(dpsql.errors, name)("what", why="why", fix="fix")) == code


def test_every_error_has_one():
    kinds = [
        kind for _, kind in inspect.getmembers(dpsql.errors, inspect.isclass) if issubclass(kind, dpsql.DpsqlError)
    ]
    assert {exit_code(kind("what", why="why", fix="fix")) for kind in kinds} == set(range(1, 10))
