"""IN and EXISTS: what their answers cannot show. Which rows are kept and what is refused stands in memberships*.sql."""

import pytest

from dpsql.errors import BadName, TwoPeople
from dpsql.sql.notes import Role
from dpsql.sql.relations import Exists
from dpsql.sql.scalars import Apply, conjuncts
from tests.kits.cases import cases
from tests.kits.refusals import raised

from clinic import resolved

PERSON = "(house, number) IN (SELECT house, number FROM visits)"


@cases(__file__, "condition")
def test_what_is_tied_by_less_is_refused(condition):
    raised(TwoPeople, lambda: resolved(f"SELECT COUNT(*) FROM people p WHERE {condition}"))


def test_of_the_person_null_is_nobody():
    """NOT IN compares persons by equality alone, and anything beside them as SQL does."""
    found = resolved(
        "SELECT COUNT(*) FROM people p WHERE (house, number, age) NOT IN (SELECT house, number, cost FROM visits)"
    ).relation
    assert isinstance(found, Exists)
    functions = [part.function for part in conjuncts(found.condition) if isinstance(part, Apply)]
    assert sorted(functions) == ["eq", "eq", "not", "same", "same"]


@cases(__file__, "inside")
def test_the_row_around_is_seen_in_where_alone(inside):
    raised(BadName, lambda: resolved(f"SELECT COUNT(*) FROM people p WHERE EXISTS ({inside})"))


@pytest.mark.parametrize(("condition", "names"), [(PERSON, set()), ("name IN (SELECT label FROM codes)", {"name"})])
def test_hidden_persons_are_tied_and_filter_nothing(condition, names):
    uses = resolved(f"SELECT COUNT(*) FROM people p WHERE {condition}").uses
    assert {column.name for use in uses if use.role is Role.FILTER for column in use.columns} >= names
    assert names or not [use for use in uses if use.role is Role.FILTER]


def test_rows_are_left_out_and_tables_of_the_subquery_cap_nothing():
    query = resolved(f"SELECT COUNT(*) FROM people p WHERE {PERSON}")
    assert query.multiplied
    assert query.private_tables == ("people",)
    assert query.tables == ("people", "visits")
