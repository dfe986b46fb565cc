"""A view of people under another name does not protect less than the table it reads."""

import pytest

from dpsql.catalog.load import loads
from dpsql.catalog.ownership import settled
from dpsql.catalog.views import ViewReads, view_mistakes

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
