"""Whom a promise is about, in words that do not depend on what the policy calls a table."""

import json

import pytest

from dpsql.catalog.load import loads
from dpsql.catalog.ownership import declared_ways, read_path


def ways(body):
    return dict(declared_ways(loads(f'version = 1\nsource.url = "memory:"\n{body}', name="p.toml").tables))


TABLES = """
[table.wards]
public = true
[table.sensors]
unit = "row"
[table.visits]
person = "Patient"
[table.drugs]
person_via = "visit -> visits.id"
[table.passports]
person = ["country"]
"""


def test_every_table_has_its_way():
    assert ways(TABLES) == {
        "wards": "public = true",
        "sensors": 'unit = "row"',
        "visits": 'person = "patient"',
        "drugs": 'person_via = "visit -> visits.id -> patient"',
        "passports": 'person = "country"',
    }


def test_a_table_is_called_as_the_engine_calls_it():
    renamed = """
    [table.v]
    source = "VISITS"
    person = "patient"
    [table.drugs]
    person_via = "visit -> v.id"
    """
    assert ways(renamed) == {name: way for name, way in ways(TABLES).items() if name in ("visits", "drugs")}


def test_a_way_depends_on_the_person_at_its_end():
    other = TABLES.replace('person = "Patient"', 'person = "household"')
    assert ways(other)["drugs"] != ways(TABLES)["drugs"]


@pytest.mark.parametrize(
    "columns", [("a", "b"), ("a, b",), ('a", "b',), ("a -> t.b",), ("a b",), ("1a",), ("(a)",), ("a.b",)]
)
def test_names_are_spelled_so_that_they_are_read_again(columns):
    """Two different declarations never have the same words."""
    way = ways(f"[table.t]\nperson = {json.dumps(columns)}")["t"]
    written = way.removeprefix('person = "').removesuffix('"')
    assert read_path(f"x -> u.y -> {written}", table="t")[1] == columns
