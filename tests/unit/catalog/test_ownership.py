"""Whom a promise is about, in words that do not depend on what the policy calls a table; and a view of people under
another name does not protect less than the table it reads."""

import json

import pytest

from dpsql.catalog.load import loads
from dpsql.catalog.ownership import declared_ways, read_path, settled
from dpsql.catalog.views import ViewReads, view_mistakes


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


HEAD = "version = 1\n[source]\nurl = 'memory:'\n[table.people]\nsource = 'clinic.People'\nperson = 'id'\n"
VIEWS = {
    "plain": ViewReads(tables=frozenset({"clinic.People"})),
    "more": ViewReads(tables=frozenset({"wards", "clinic.people"}), unknown=frozenset({"a_function()"})),
    "unknown": ViewReads(tables=frozenset({"wards"}), unknown=frozenset({"a_function()"})),
    "no_rows": ViewReads(tables=frozenset()),
    "generated": ViewReads(tables=frozenset({"generated"}), unknown=frozenset({"a_function() in generated.column"})),
    "apart": ViewReads(tables=frozenset({"wards", "people"})),
}


def mistakes(body: str) -> list[tuple[object, ...]]:
    tables, _ = settled(loads(HEAD + body, name="p.toml", environment={}).tables)
    return [mistake.key for mistake in view_mistakes(tables, VIEWS)]


@pytest.mark.parametrize("view", ["plain", "more", "unknown", "PLAIN"])
@pytest.mark.parametrize("way", ["public = true", "unit = 'row'"])
def test_a_view_of_people_is_not_public_and_not_protected_row_by_row(view, way):
    assert mistakes(f"[table.v]\nsource = '{view}'\n{way}") == [("table", "v")]


@pytest.mark.parametrize("view", ["plain", "more", "unknown"])
def test_a_view_of_people_has_people(view):
    assert mistakes(f"[table.v]\nsource = '{view}'\nperson = 'id'") == []


@pytest.mark.parametrize("view", ["apart", "no_rows", "no_view"])
def test_a_view_of_something_else_may_be_public(view):
    assert mistakes(f"[table.v]\nsource = '{view}'\npublic = true") == []


@pytest.mark.parametrize(
    ("declared", "kind"), [("public = true", "a table"), ("unit = 'row'", "a table"), ("person = 'id'", None)]
)
def test_a_table_that_computes_what_is_not_known_has_people(declared, kind):
    tables, _ = settled(loads(f"{HEAD}[table.Generated]\n{declared}", name="p.toml", environment={}).tables)
    told = [mistake.what.partition(" that reads a_function()")[0] for mistake in view_mistakes(tables, VIEWS)]
    assert told == ([] if kind is None else [kind])
