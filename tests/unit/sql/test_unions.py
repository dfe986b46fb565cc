"""UNION ALL: what is known about a column that has several sources, and whose its rows are."""

from fractions import Fraction

import pytest

from dpsql.catalog.types import SqlType
from dpsql.errors import BadName, NotSupported
from dpsql.sql.intervals import Interval
from dpsql.sql.relations import Column, Project, Union
from dpsql.sql.scalars import Apply, ColumnRef, Constant
from tests.kits.cases import cases
from tests.kits.refusals import raised

from clinic import resolved


def column(branches: str) -> Column:
    """The one column `x` of a union."""
    query = resolved(f"SELECT COUNT(x) FROM ({branches}) AS t(x)")
    (argument,) = query.aggregates[0].arguments
    assert isinstance(argument, ColumnRef)
    return query.findings.columns[argument.id]


def test_each_branch_brings_its_own_owner():
    """By number, beside the columns: two of each, because a patient is a house and a number."""
    query = resolved(
        "SELECT COUNT(*) FROM (SELECT number, house FROM visits UNION ALL SELECT age, house FROM people) t"
    )
    assert isinstance(query.relation, Union)
    places = [[each.id for each in query.relation.columns].index(number) for number in query.owner]
    assert len(places) == 2
    for branch, table in zip(query.relation.branches, ("visits", "people"), strict=True):
        assert isinstance(branch, Project)
        scan = branch.input
        assert scan.table == table
        assert [branch.expressions[place].id for place in places] == list(scan.owner)
    assert query.private_tables == ("visits", "people")
    assert query.multiplied


def test_bounds_are_those_of_all_branches():
    found = column("SELECT cost FROM visits UNION ALL SELECT age FROM people UNION ALL SELECT -3 FROM people")
    assert found.declared == Interval(Fraction(-3), Fraction(110))
    assert not found.hidden
    assert column("SELECT cost FROM visits UNION ALL SELECT visit FROM visits").declared == Interval(None, None)


def test_a_filter_in_one_branch_says_nothing_about_the_other():
    only = column("SELECT cost FROM visits WHERE cost > 50 UNION ALL SELECT cost FROM visits")
    assert only.declared == Interval(Fraction(0), Fraction(100))
    both = column("SELECT cost FROM visits WHERE cost > 50 UNION ALL SELECT cost FROM visits WHERE cost > 40")
    assert both.declared.low == 41


def test_null_takes_the_type_of_the_others_and_widens_nothing():
    found = column("SELECT NULL FROM people UNION ALL SELECT cost FROM visits")
    assert (found.type, found.declared) == (SqlType.INTEGER, Interval(Fraction(0), Fraction(100)))
    assert not found.not_null


def test_whole_numbers_become_fractions_beside_fractions():
    query = resolved("SELECT COUNT(x) FROM (SELECT cost AS x FROM visits UNION ALL SELECT cost / 3 FROM visits) t")
    assert isinstance(query.relation, Union)
    (one, two) = (branch.expressions[-1] for branch in query.relation.branches)
    assert isinstance(one, Apply)
    assert one.function == "to_double"
    assert isinstance(two, ColumnRef)


def test_keys_stay_where_all_branches_have_the_same():
    assert column("SELECT city FROM people UNION ALL SELECT city FROM people WHERE age > 9").keys is not None
    assert column("SELECT city FROM people UNION ALL SELECT note FROM visits").keys is None


def test_hidden_in_one_branch_is_hidden():
    assert column("SELECT note FROM visits UNION ALL SELECT name FROM people").hidden
    assert column("SELECT name FROM people UNION ALL SELECT NULL FROM people").hidden


@cases(__file__, "branches", "origin=")
def test_the_person_is_the_person_where_it_is_in_every_branch(branches, origin):
    assert column(branches).origin == origin


def test_a_union_of_persons_is_joined_and_grouped_by_the_person():
    union = "(SELECT house, number FROM people UNION ALL SELECT house, number FROM visits) u"
    tied = resolved(f"SELECT COUNT(*) FROM visits v JOIN {union} ON v.house = u.house AND v.number = u.number")
    assert [meeting.equal_owners for meeting in tied.meetings] == [True]
    half = resolved(f"SELECT COUNT(*) FROM visits v JOIN {union} ON v.house = u.house")
    assert [meeting.equal_owners for meeting in half.meetings] == [False]
    resolved(f"SELECT AVG(n) FROM (SELECT house, number, COUNT(*) AS n FROM {union} GROUP BY house, number) t")


def test_names_are_those_of_the_first_branch():
    sql = "SELECT COUNT({}) FROM (SELECT cost AS a, visit FROM visits UNION ALL SELECT age AS b, 1 FROM people) t"
    resolved(sql.format("a"))
    raised(BadName, lambda: resolved(sql.format("b")))


@cases(__file__, "branches", "error=")
def test_what_does_not_fit_is_refused(branches, error):
    raised(error, lambda: resolved(f"SELECT COUNT(*) FROM ({branches}) t"))


def test_public_rows_at_the_top_keep_their_names():
    query = resolved("SELECT code AS Code, label FROM codes UNION ALL SELECT 1, NULL FROM codes ORDER BY 1 LIMIT 2")
    assert not query.private
    assert [output.name for output in query.finish.outputs] == ["Code", "label"]
    assert query.finish.limit == 2
    assert isinstance(query.relation, Union)
    assert query.relation.branches[1].expressions[-1] == Constant(None, SqlType.TEXT)


def test_two_answers_are_two_questions():
    with pytest.raises(NotSupported, match="several answers"):
        resolved("SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM people")
    with pytest.raises(NotSupported, match="several answers"):
        resolved("SELECT code FROM codes UNION ALL SELECT code FROM codes GROUP BY code")
