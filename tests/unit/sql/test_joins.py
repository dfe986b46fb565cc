"""What a join equates: the tie of two owners, filters in disguise, and what is said where there is no tie."""

from dpsql.errors import TwoPeople
from dpsql.sql.check import check
from dpsql.sql.joins import tie_of, ties
from dpsql.sql.notes import Role
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
