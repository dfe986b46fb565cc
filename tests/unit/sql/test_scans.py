"""Declared tables as relations: whose a row is, and that nobody can name it."""

import pytest

from dpsql.errors import BadName, NotSupported
from tests.kits.refusals import raised

from clinic import resolved


def test_a_declared_person_is_read_twice_once_as_the_engine_holds_it():
    scan = resolved("SELECT COUNT(*) FROM people").relation
    assert scan.sources.count("house") == 2
    assert set(scan.owner) == set(scan.raw)
    assert [column.name for column in scan.columns if column.id in scan.raw] == ["", ""]


def test_tables_of_a_path_are_read_but_not_named():
    query = resolved("SELECT COUNT(*) FROM samples", readable=frozenset({"samples"}))
    assert set(query.tables) == {"samples", "tests", "visits"}
    assert query.private_tables == ("samples",)
    assert query.multiplied


@pytest.mark.parametrize("name", ["rowid", "house_1", '""', "tests.house"])
def test_nobody_names_the_raw_columns(name):
    raised((BadName, NotSupported), lambda: resolved(f"SELECT COUNT(*) FROM samples WHERE {name} = 1"))


def test_bounds_are_declared_and_types_are_proved():
    (age,) = (column for column in resolved("SELECT COUNT(*) FROM people").relation.columns if column.name == "age")
    assert (age.declared.low, age.declared.high) == (0, 110)
    assert (age.proved.low, age.proved.high) == (None, None)
    assert age.origin == ("people", "age")
