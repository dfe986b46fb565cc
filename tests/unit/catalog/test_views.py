"""A view of people under another name does not protect less than the table it reads."""

from __future__ import annotations

import pytest

from dpsql.catalog.load import loads
from dpsql.catalog.ownership import settled
from dpsql.catalog.views import view_mistakes

HEAD = "version = 1\n[source]\nurl = 'memory:'\n[table.people]\nsource = 'clinic.People'\nperson = 'id'\n"
VIEWS = {
    "plain": frozenset({"create", "view", "plain", "select", "from", "people"}),
    "of_a_view": frozenset({"select", "from", "plain"}),
    "of_that": frozenset({"select", "from", "of_a_view"}),
    "other.itself": frozenset({"itself", "select"}),
    "apart": frozenset({"select", "from", "wards"}),
}


def mistakes(body: str) -> list[tuple[object, ...]]:
    tables, _ = settled(loads(HEAD + body, name="p.toml", environment={}).tables)
    return [mistake.key for mistake in view_mistakes(tables, VIEWS)]


@pytest.mark.parametrize("view", ["plain", "of_a_view", "of_that", "PLAIN"])
@pytest.mark.parametrize("way", ["public = true", "unit = 'row'"])
def test_a_view_of_people_is_not_public_and_not_protected_row_by_row(view, way):
    assert mistakes(f"[table.v]\nsource = '{view}'\n{way}") == [("table", "v")]


@pytest.mark.parametrize("view", ["plain", "of_that"])
def test_a_view_of_people_has_people(view):
    assert mistakes(f"[table.v]\nsource = '{view}'\nperson = 'id'") == []


@pytest.mark.parametrize("view", ["apart", "other.itself", "no_view"])
def test_a_view_of_something_else_may_be_public(view):
    assert mistakes(f"[table.v]\nsource = '{view}'\npublic = true") == []
