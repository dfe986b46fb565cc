"""Joins, IN and EXISTS, UNION ALL: the tie of two owners, filters in disguise, what answers cannot show, what is known
about a column of several sources. Which rows are kept and what is refused stands in tests/fixtures/sql."""

from fractions import Fraction

import pytest

from dpsql.catalog.types import SqlType
from dpsql.errors import BadName, NotSupported, TwoPeople
from dpsql.sql.check import check
from dpsql.sql.intervals import Interval
from dpsql.sql.joins import tie_of, ties
from dpsql.sql.notes import Role
from dpsql.sql.relations import Column, Exists
from dpsql.sql.scalars import Apply, ColumnRef, conjuncts
from tests.kits.cases import cases
from tests.kits.refusals import raised

from clinic import CLINIC, resolved

TABLES = CLINIC.policy.tables


def filtered(sql: str) -> set[str]:
    """The columns a query filters by."""
    return {column.name for use in resolved(sql).uses if use.role is Role.FILTER for column in use.columns}


@cases(__file__, "sql", "tied=")
def test_the_key_of_a_path_ties_the_tables_it_leads_through(sql, tied):
    assert [meeting.equal_owners for meeting in resolved(sql).meetings] == [tied]


@cases(__file__, "condition", "names=")
def test_hidden_columns_are_filtered_by_unless_they_tie(condition, names):
    assert filtered(f"SELECT COUNT(*) FROM people p JOIN visits v ON {condition}") == names


def test_a_tie_may_be_said_twice():
    sql = (
        "SELECT COUNT(*) FROM people p JOIN people q ON p.house = q.house AND p.number = q.number JOIN visits v "
        "ON p.house = v.house AND p.number = v.number AND q.house = v.house AND q.number = v.number"
    )
    assert filtered(sql) == set()


def test_public_tables_tie_nobody():
    assert filtered("SELECT COUNT(*) FROM people p JOIN codes c ON p.name = c.label") == {"name", "label"}
    assert filtered("SELECT COUNT(*) FROM people p JOIN codes c ON p.age = c.code") == set()


def test_the_ties_of_two_tables():
    assert set(ties(TABLES["tests"], TABLES["visits"])) == {frozenset({(("tests", "visit"), ("visits", "visit"))})}
    assert list(ties(TABLES["tests"], TABLES["people"])) == []
    assert tie_of(TABLES["people"], TABLES["visits"]) == (
        "people.house = visits.house AND people.number = visits.number"
    )
    assert tie_of(TABLES["tests"], TABLES["people"]) is None
    assert tie_of(TABLES["meters"], TABLES["people"]) is None
    assert tie_of(TABLES["meters"], TABLES["meters"]) is None


@cases(__file__, "sql", "fix")
def test_a_refused_join_says_what_would_tie_it(sql, fix):
    assert raised(TwoPeople, lambda: check(resolved(sql))).fix == fix


# IN and EXISTS: what their answers cannot show.


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


# UNION ALL: what is known about a column that has several sources.


def column(branches: str) -> Column:
    """The one column `x` of a union."""
    query = resolved(f"SELECT COUNT(x) FROM ({branches}) AS t(x)")
    assert query.multiplied
    (argument,) = query.aggregates[0].arguments
    assert isinstance(argument, ColumnRef)
    return query.findings.columns[argument.id]


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


def test_keys_stay_where_all_branches_have_the_same():
    assert column("SELECT city FROM people UNION ALL SELECT city FROM people WHERE age > 9").keys is not None
    assert column("SELECT city FROM people UNION ALL SELECT note FROM visits").keys is None


@cases(__file__, "branches")
def test_what_is_no_name_is_refused(branches):
    raised(BadName, lambda: resolved(f"SELECT COUNT(*) FROM ({branches}) t"))


def test_public_rows_at_the_top_keep_their_names():
    query = resolved("SELECT code AS Code, label FROM codes UNION ALL SELECT 1, NULL FROM codes ORDER BY 1 LIMIT 2")
    assert [output.name for output in query.finish.outputs] == ["Code", "label"]


def test_sixteen_tables_are_read_and_no_more():
    def counted(tables: int) -> str:
        return f"SELECT COUNT(*) FROM ({' UNION ALL '.join(['SELECT cost FROM visits'] * tables)}) t"

    assert resolved(counted(16)).aggregates
    raised(NotSupported, lambda: resolved(counted(17)), match="16")
