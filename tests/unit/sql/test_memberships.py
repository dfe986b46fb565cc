"""IN and EXISTS: which conditions they are, whose rows they compare, and what NULL means there."""

import pytest

from dpsql.errors import BadName, NotSupported, TwoPeople
from dpsql.sql import inner
from dpsql.sql.memberships import taken_out
from dpsql.sql.notes import Role
from dpsql.sql.parse import parse
from dpsql.sql.relations import Exists, Filter
from dpsql.sql.scalars import Apply, ColumnRef, conjuncts
from dpsql.sql.syntax import Among, Call
from tests.kits.cases import cases
from tests.kits.refusals import raised

from clinic import resolved

PERSON = "(house, number) IN (SELECT house, number FROM visits)"


def where(condition: str) -> object:
    return parse(f"SELECT COUNT(*) FROM people p WHERE {condition}", dialect="duckdb").query.where


def exists(condition: str, table: str = "people p") -> Exists:
    relation = resolved(f"SELECT COUNT(*) FROM {table} WHERE {condition}").relation
    assert isinstance(relation, Exists)
    return relation


@cases(__file__, "condition", "negated=", "rest=")
def test_conditions_of_where_are_taken_out(condition, negated, rest):
    left, found = taken_out(where(condition))
    assert [each.negated for each in found] == negated
    assert all(isinstance(each.among, Among) for each in found)
    assert rest is None if left is None else isinstance(left, Call) and left.function == rest


def test_raw_owners_are_equated_part_by_part():
    """Whatever the columns hold that can be named: the engine compares the persons themselves."""
    found = exists(PERSON)
    scan, other = found.input, found.among
    raw = {part for part in conjuncts(found.condition) if isinstance(part, Apply) and part.function == "same"}
    assert {tuple(side.id for side in part.arguments if isinstance(side, ColumnRef)) for part in raw} == set(
        zip(scan.owner, other.owner, strict=True)
    )
    assert not found.negated


@cases(__file__, "table", "condition=")
def test_a_subquery_about_people_is_tied_by_the_person(table, condition):
    found = exists(condition, table)
    assert sum(isinstance(part, Apply) and part.function == "same" for part in conjuncts(found.condition)) == 2


@cases(__file__, "condition")
def test_what_is_tied_by_less_is_refused(condition):
    raised(TwoPeople, lambda: resolved(f"SELECT COUNT(*) FROM people p WHERE {condition}"))


def test_public_rows_are_not_chosen_by_people():
    with pytest.raises(NotSupported, match="public rows"):
        resolved("SELECT COUNT(*) FROM codes WHERE code IN (SELECT cost FROM visits)")


def test_in_a_public_list_is_equality_and_not_in_is_what_is_not_different():
    """NULL NOT IN (1) and 1 NOT IN (NULL) are not true; 1 NOT IN () is."""
    assert exists("age IN (SELECT code FROM codes)").condition.function == "eq"
    mine = exists("age NOT IN (SELECT code FROM codes)")
    theirs = mine.input
    assert isinstance(theirs, Exists)
    equal = theirs.input
    assert isinstance(equal, Exists)
    assert [each.condition.function for each in (equal, theirs, mine)] == ["eq", "is_null", "is_null"]
    assert (theirs.condition.arguments[0], mine.condition.arguments[0]) == equal.condition.arguments[::-1]
    assert mine.negated
    assert theirs.negated
    assert equal.negated
    pairs = exists("(age, number) NOT IN (SELECT code, code FROM codes)").condition
    assert [part.arguments[0].function for part in conjuncts(pairs)] == ["is_false", "is_false"]


def test_of_the_person_null_is_nobody():
    """NOT IN compares persons by equality alone, and anything beside them as SQL does."""
    found = exists("(house, number, age) NOT IN (SELECT house, number, cost FROM visits)")
    functions = [part.function for part in conjuncts(found.condition) if isinstance(part, Apply)]
    assert sorted(functions) == ["eq", "eq", "not", "same", "same"]


def test_without_a_comparison_the_condition_is_true():
    assert exists("EXISTS (SELECT 1 FROM codes)").condition == inner.TRUE


def test_what_speaks_of_the_inner_rows_alone_filters_them():
    found = exists(
        "EXISTS (SELECT 1 FROM visits v WHERE v.cost > 3 AND v.house = p.house AND v.number = p.number AND p.age > 4)"
    )
    assert any(isinstance(each, Filter) for each in (found.among, getattr(found.among, "input", None)))
    assert sum(part.function == "gt" for part in conjuncts(found.condition) if isinstance(part, Apply)) == 1


def test_names_of_the_inner_query_come_first():
    """`number` is a column of both: inside it means the inner one, so that nothing ties the rows."""
    with pytest.raises(TwoPeople):
        resolved(
            "SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM visits v WHERE v.house = house AND number > 1)"
        )
    exists("EXISTS (SELECT 1 FROM codes WHERE code = age)")  # `age` is found outside


@cases(__file__, "inside")
def test_the_row_around_is_seen_in_where_alone(inside):
    raised(BadName, lambda: resolved(f"SELECT COUNT(*) FROM people p WHERE EXISTS ({inside})"))


def test_hidden_persons_are_tied_and_filter_nothing():
    uses = resolved(f"SELECT COUNT(*) FROM people p WHERE {PERSON}").uses
    assert not [use for use in uses if use.role is Role.FILTER]
    chosen = resolved("SELECT COUNT(*) FROM people p WHERE name IN (SELECT label FROM codes)").uses
    assert "name" in {column.name for use in chosen if use.role is Role.FILTER for column in use.columns}


def test_rows_are_left_out_and_tables_of_the_subquery_cap_nothing():
    query = resolved(f"SELECT COUNT(*) FROM people p WHERE {PERSON}")
    assert query.multiplied
    assert query.private_tables == ("people",)
    assert query.tables == ("people", "visits")


def test_as_many_values_as_columns():
    with pytest.raises(BadName, match="compares 2 of this row with 1"):
        resolved("SELECT COUNT(*) FROM people WHERE (house, number) IN (SELECT house FROM visits)")
