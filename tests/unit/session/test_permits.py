"""A grant that names tables: what is not in it is refused at its name, and nothing else is told about it."""

import re
from datetime import date
from fractions import Fraction

import duckdb
import pytest

import dpsql
from dpsql.catalog.model import Grant
from dpsql.errors import BadName, NotPermitted, TwoPeople
from dpsql.session.permits import readable_tables
from tests.kits.cases import cases
from tests.kits.noiseless import without_noise
from tests.kits.refusals import raised

UNTOLD = ("salary", "grade", "nickname", "payroll_no", "owner_no", "BIGINT", "integer")
"""What is known about the table that is not granted."""


@pytest.fixture
def owner():
    plain = duckdb.connect()
    plain.execute("CREATE TABLE staff (id BIGINT, city VARCHAR, pin VARCHAR)")
    plain.execute("INSERT INTO staff VALUES (1, 'Bern', 'a'), (2, 'Bern', 'b'), (3, 'Chur', 'c')")
    plain.execute("CREATE TABLE payroll (payroll_no BIGINT, owner_no BIGINT, salary BIGINT, grade VARCHAR)")
    plain.execute("INSERT INTO payroll VALUES (10, 1, 5, 'x'), (20, 2, 6, 'y'), (20, 3, 7, 'y')")
    plain.execute("CREATE TABLE slips (payroll BIGINT, pages INTEGER)")
    plain.execute("INSERT INTO slips VALUES (10, 1), (10, 2), (20, 3), (30, 4)")
    owner = dpsql.open(":memory:")
    caps = {"rows_per_person": 9, "rows_per_group": 9, "groups_per_person": 2}
    owner.register("staff", plain, person="id", keys={"city": ["Bern", "Chur"]}, hidden=["id", "pin"], **caps)
    owner.register("payroll", plain, person="owner_no", bounds={"salary": (0, 9)}, keys={"grade": ["x", "y"]}, **caps)
    owner.register("slips", plain, person_via="payroll -> payroll.payroll_no", bounds={"pages": (0, 9)}, **caps)
    plain.close()
    owner.promise(epsilon=10, delta=0)
    owner.defaults(cost_per_query=1, max_keys=10)
    return owner


@pytest.fixture
def analyst(owner):
    return owner.grant("ana", budget=5, tables=["staff", "slips"])


@cases(__file__, "sql", "marked=", "proposal=")
def test_no_text_raises_the_cap_of_a_grant(owner, sql, marked, proposal):
    thrifty = owner.grant("tim", budget=5, max_per_query=0.5)
    error = raised(NotPermitted, lambda: thrifty.sql(sql))
    assert (None if error.at is None else sql[slice(*error.at)]) == marked
    assert error.try_sql == proposal
    assert proposal is None or thrifty.cost(proposal) == Fraction(1, 2)
    assert thrifty.budget.spent == 0


@cases(__file__, "sql")
def test_a_table_that_is_not_granted_is_one_that_does_not_exist(analyst, sql):
    """Its name is marked, and the error is the one of a name that nobody declared."""
    error = raised(BadName, lambda: analyst.sql(sql))
    unknown = re.sub("payroll", "absent1", sql, flags=re.IGNORECASE)
    other = raised(BadName, lambda: analyst.sql(unknown))
    assert [re.sub("payroll", "absent1", said, flags=re.IGNORECASE) for said in (error.what, error.why, error.fix)] == [
        *(other.what, other.why, other.fix)
    ]
    assert (error.at, error.try_sql) == (other.at, other.try_sql)
    assert sql[slice(*error.at)].split()[0].lower() == "payroll"
    said = " ".join((error.what, error.why, error.fix))
    assert not any(word in said for word in UNTOLD)
    assert "slips, staff" in error.fix


def test_one_who_may_ask_gets_answers_and_help(owner):
    everything = owner.grant("bob", budget=5)
    ((count,),) = without_noise(everything, "SELECT COUNT(*) FROM payroll")
    assert count.value == 3
    raised(BadName, lambda: everything.sql("SELECT COUNT(grde) FROM payroll"), match="Did you mean grade")


def test_it_still_leads_rows_to_their_owner_and_a_common_table_may_bear_its_name(analyst):
    """Slips 1 and 2 are of one person, slip 3 of two, slip 4 of nobody."""
    ((count, pages),) = without_noise(analyst, "SELECT COUNT(*), SUM(pages) FROM slips")
    assert (count.value, pages.value) == (4, 9)
    sql = "WITH payroll AS (SELECT city FROM staff) SELECT COUNT(*) FROM payroll"
    ((count,),) = without_noise(analyst, sql)
    assert count.value == 3


@pytest.mark.parametrize("sql", ["SELECT COUNT(*) FROM payrol", "SELECT COUNT(*) FROM main.payroll"])
def test_it_is_not_guessed_and_not_listed(analyst, sql):
    error = raised(BadName, lambda: analyst.sql(sql))
    assert "payroll" not in error.fix
    assert "Did you mean" not in error.what
    assert error.fix == "use one of: slips, staff"


def test_hidden_columns_and_those_of_tables_that_are_not_granted_are_not_listed(analyst):
    error = raised(BadName, lambda: analyst.sql("SELECT COUNT(*) FROM staff WHERE pim = 'a'"))
    assert error.fix.partition(". ")[0] == "use one of: city"
    assert "pin" not in str(error)
    with pytest.raises(TwoPeople) as caught:
        analyst.sql("SELECT COUNT(*) FROM staff JOIN slips ON staff.id = slips.pages")
    assert not any(word in str(caught.value) for word in UNTOLD)
    with pytest.raises(TwoPeople) as caught:
        analyst.sql("SELECT COUNT(*) FROM slips a JOIN slips b ON a.pages = b.pages")
    assert "a.payroll = b.payroll" in caught.value.fix


def test_an_ended_grant_is_told_before_anything_else(owner):
    late = Grant(to="eve", budget=Fraction(1), expires=date(2026, 1, 1))
    assert readable_tables(late, owner.catalog, today=date(2025, 12, 31)) == {"staff", "payroll", "slips"}
    with pytest.raises(NotPermitted, match="ended on 2026-01-01"):
        readable_tables(late, owner.catalog, today=date(2026, 1, 1))


def test_a_price_above_the_limit_is_refused_and_what_is_stored_is_told_whatever_it_is_now(owner):
    thrifty = owner.grant("tim", budget=5, max_per_query=0.5)
    with pytest.raises(NotPermitted, match=r"epsilon = 1 is above your limit of 0\.5 per query") as caught:
        thrifty.sql("SELECT COUNT(*) FROM staff")
    assert caught.value.try_sql == "SELECT COUNT(*) FROM staff COST 0.5"
    assert thrifty.cost(caught.value.try_sql) == Fraction(1, 2)
    thrifty.sql("SELECT COUNT(*) FROM staff", epsilon=0.5)
    tim = owner.grant("tim", budget=5)
    bought = tim.sql("SELECT COUNT(*) FROM staff", epsilon=2)
    tim = owner.grant("tim", budget=5, max_per_query=0.5)
    again = tim.sql("SELECT COUNT(*) FROM staff", epsilon=2)
    assert (again.cost.epsilon, again.rows[0][0].value) == (0, bought.rows[0][0].value)
    with pytest.raises(NotPermitted, match=r"epsilon = 3 is above your limit of 0\.5 per query"):
        tim.sql("SELECT COUNT(*) FROM staff", epsilon=3)
