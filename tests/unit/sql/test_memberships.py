"""IN and EXISTS: which conditions they are, whose rows they compare, and what NULL means there."""

from __future__ import annotations

import pytest

from dpsql.errors import BadName, NotSupported, TwoPeople
from dpsql.sql import inner
from dpsql.sql.memberships import taken_out
from dpsql.sql.notes import Role
from dpsql.sql.parse import parse
from dpsql.sql.relations import Exists, Filter
from dpsql.sql.scalars import Apply, ColumnRef, conjuncts
from dpsql.sql.syntax import Among, Call

from clinic import resolved

PERSON = "(house, number) IN (SELECT house, number FROM visits)"


def where(condition: str) -> object:
    return parse(f"SELECT COUNT(*) FROM people p WHERE {condition}", dialect="duckdb").query.where


def exists(condition: str, table: str = "people p") -> Exists:
    relation = resolved(f"SELECT COUNT(*) FROM {table} WHERE {condition}").relation
    assert isinstance(relation, Exists)
    return relation


@pytest.mark.parametrize(
    ("condition", "negated", "rest"),
    [
        ("a IN (SELECT 1)", [False], None),
        ("a NOT IN (SELECT 1)", [True], None),
        ("NOT a IN (SELECT 1)", [True], None),
        ("NOT (NOT EXISTS (SELECT 1))", [False], None),
        ("b AND (c AND EXISTS (SELECT 1)) AND a NOT IN (SELECT 1)", [False, True], "and"),
        ("b = 1 AND EXISTS (SELECT 1)", [False], "eq"),
        ("b = 1 OR EXISTS (SELECT 1)", [], "or"),
        ("NOT (b = 1 AND EXISTS (SELECT 1))", [], "not"),
    ],
)
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


@pytest.mark.parametrize(
    ("table", "condition"),
    [
        ("people p", PERSON),
        ("people p", "(house, number) NOT IN (SELECT house, number FROM visits WHERE cost > 3)"),
        ("people p", "EXISTS (SELECT 1 FROM visits v WHERE v.house = p.house AND v.number = p.number)"),
        (
            "people p",
            "EXISTS (SELECT 1 FROM visits v WHERE v.house = p.house AND v.number = p.number AND v.cost > p.age)",
        ),
        ("people p", "p.age IN (SELECT v.cost FROM visits v WHERE v.house = p.house AND v.number = p.number)"),
        (
            "people p",
            "(house, number) IN (SELECT house, number FROM visits UNION ALL SELECT house, number FROM people)",
        ),
        ("people p", "(house, number) IN (SELECT house, number FROM visits GROUP BY 1, 2 HAVING COUNT(*) > 2)"),
        ("tests t", "visit IN (SELECT visit FROM visits WHERE cost > 3)"),
        ("visits v", "visit NOT IN (SELECT visit FROM tests WHERE result > 3)"),
        ("tests t", "EXISTS (SELECT 1 FROM tests u WHERE u.visit = t.visit AND u.result > t.result)"),
    ],
)
def test_a_subquery_about_people_is_tied_by_the_person(table, condition):
    found = exists(condition, table)
    assert sum(isinstance(part, Apply) and part.function == "same" for part in conjuncts(found.condition)) == 2


@pytest.mark.parametrize(
    "condition",
    [
        "house IN (SELECT house FROM visits)",
        "(number, house) IN (SELECT house, number FROM visits)",
        "(house, number) IN (SELECT house, number + 0 FROM visits)",
        "(house + 0, number) IN (SELECT house, number FROM visits)",
        "(house, number) IN (SELECT house, number FROM visits UNION ALL SELECT number, house FROM visits)",
        "EXISTS (SELECT 1 FROM visits)",
        "EXISTS (SELECT 1 FROM visits v WHERE v.house = p.house)",
        "EXISTS (SELECT 1 FROM visits v WHERE v.house = p.house AND (v.number = p.number OR v.cost > 3))",
        "EXISTS (SELECT 1 FROM visits WHERE house = house AND number = number)",
        "age IN (SELECT cost FROM visits)",
        "age IN (SELECT level FROM meters)",
    ],
)
def test_what_is_tied_by_less_is_refused(condition):
    with pytest.raises(TwoPeople):
        resolved(f"SELECT COUNT(*) FROM people p WHERE {condition}")


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


@pytest.mark.parametrize(
    "inside",
    [
        "SELECT 1 FROM visits v JOIN codes c ON c.code = p.age WHERE v.house = p.house AND v.number = p.number",
        "SELECT p.age FROM visits v WHERE v.house = p.house AND v.number = p.number",
        "SELECT 1 FROM (SELECT cost FROM visits WHERE house = p.house AND number = p.number) v",
        "SELECT 1 FROM visits v WHERE v.house = q.house AND v.number = p.number",
        "SELECT 1 FROM visits v WHERE v.house = p.nothing AND v.number = p.number",
    ],
)
def test_the_row_around_is_seen_in_where_alone(inside):
    with pytest.raises(BadName):
        resolved(f"SELECT COUNT(*) FROM people p WHERE EXISTS ({inside})")


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
