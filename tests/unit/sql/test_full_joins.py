"""FULL JOIN: pairs and left rows, then right rows alone; each with its owner, and each column where its side is."""

import pytest

from dpsql.errors import NotSupported
from dpsql.sql.notes import holds_person
from dpsql.sql.relations import Exists, Join, Project, Union
from dpsql.sql.scalars import ColumnRef, Constant
from tests.kits.cases import cases
from tests.kits.refusals import raised

from clinic import CLINIC, resolved

PERSON = "p.house = v.house AND p.number = v.number"


def full(sql: str) -> Union:
    relation = resolved(sql).relation
    assert isinstance(relation, Union)
    return relation


def test_two_branches_with_the_owner_of_the_side_that_is_there():
    query = resolved(f"SELECT COUNT(*) FROM people p FULL JOIN visits v ON {PERSON}")
    first, second = full(f"SELECT COUNT(*) FROM people p FULL JOIN visits v ON {PERSON}").branches
    assert isinstance(first, Project)
    assert isinstance(second, Project)
    join, alone = first.input, second.input
    assert isinstance(join, Join)
    assert join.outer
    assert isinstance(alone, Exists)
    assert alone.negated
    assert (alone.input, alone.among, alone.condition) == (join.right, join.left, join.condition)
    assert [each.id for each in first.expressions[:2]] == list(join.left.owner)
    assert [each.id for each in second.expressions[:2]] == list(join.right.owner)
    assert query.owner == tuple(column.id for column in query.relation.columns[:2])
    assert query.private_tables == ("people", "visits")


def test_columns_of_the_left_are_null_in_the_rows_of_the_right_alone():
    union = full(f"SELECT COUNT(p.age), COUNT(v.cost) FROM people p FULL JOIN visits v ON {PERSON}")
    first = union.branches[0]
    known = {column.id: column.name for column in first.input.columns}
    places = {known[read.id]: place for place, read in enumerate(first.expressions)}
    age, cost = places["age"], places["cost"]
    assert isinstance(union.branches[1].expressions[age], Constant)
    assert isinstance(union.branches[1].expressions[cost], ColumnRef)


@pytest.mark.parametrize(
    ("column", "person"), [("house", True), ("p.house", False), ("v.house", False), ("number", True)]
)
def test_the_common_column_is_the_person_and_that_of_one_side_is_not(column, person):
    other = "(SELECT house, number FROM visits) p"
    query = resolved(f"SELECT COUNT({column}) FROM visits v FULL JOIN {other} USING (house, number)")
    (argument,) = query.aggregates[0].arguments
    assert isinstance(argument, ColumnRef)
    assert holds_person(query.findings.columns[argument.id], CLINIC) is person


def test_keys_and_bounds_of_a_side_stay_with_it():
    query = resolved(f"SELECT p.city, SUM(v.cost) FROM people p FULL JOIN visits v ON {PERSON} GROUP BY p.city")
    (argument,) = query.aggregates[0].arguments
    assert query.keys[0].column.keys is not None
    assert query.findings.declared(argument).bounded


def test_all_columns_show_the_common_one_once_as_either_side_has_it():
    query = resolved("SELECT * FROM codes a FULL JOIN (SELECT code, label AS l FROM codes) b USING (code)")
    assert [output.name for output in query.finish.outputs] == ["code", "label", "l"]
    first = query.finish.outputs[0].expression
    assert isinstance(first, ColumnRef)
    place = [column.id for column in query.relation.columns].index(first.id)
    assert isinstance(query.relation, Union)
    assert all(isinstance(branch.expressions[place], ColumnRef) for branch in query.relation.branches)
    one = resolved("SELECT a.* FROM codes a FULL JOIN (SELECT code, label AS l FROM codes) b USING (code)")
    assert [output.name for output in one.finish.outputs] == ["code", "label"]


def places_of(sql: str) -> list[list[bool]]:
    """For each column of `*`: whether each branch of the topmost union has a value for it."""
    query = resolved(sql)
    assert isinstance(query.relation, Union)
    numbers = [column.id for column in query.relation.columns]
    shown = [output.expression.id for output in query.finish.outputs if isinstance(output.expression, ColumnRef)]
    return [
        [isinstance(branch.expressions[numbers.index(number)], ColumnRef) for branch in query.relation.branches]
        for number in shown
    ]


def test_the_common_column_of_three():
    """Both joins keep it as either side has it, and `*` shows it once; the others are those of their own side."""
    both, left, right = [True, True], [True, False], [True, True]
    chain = "SELECT * FROM codes a FULL JOIN codes b USING (code) FULL JOIN codes c USING (code)"
    assert places_of(chain) == [both, left, left, right]
    nested = "SELECT * FROM codes a FULL JOIN (codes b FULL JOIN codes c USING (code)) USING (code)"
    assert places_of(nested) == [both, left, right, right]


@cases(__file__, "tables")
def test_a_row_without_an_owner_is_not_kept(tables):
    raised(NotSupported, lambda: resolved(f"SELECT COUNT(*) FROM {tables}"))


def test_what_leaves_the_person_open_is_noted_for_check():
    query = resolved("SELECT COUNT(*) FROM people p FULL JOIN visits v ON p.age = v.cost")
    assert [meeting.equal_owners for meeting in query.meetings] == [False]
