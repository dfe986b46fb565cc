"""Every question that must be refused: with its code, at its place, before the engine, whatever the rows are."""

from functools import cache

import pytest

import dpsql
from dpsql.sql.parsing.refusals import NO_RULE
from tests.kits.cases import cases
from tests.kits.refusals import raised
from tests.kits.untouchable import untouched

from fixtures import REFUSED, Fixture
from hospital import Hospital, badly_behaved, opened, well_behaved


@cache
def analyst(rows: str) -> dpsql.Analyst:
    hospital = {
        "none": Hospital({name: [] for name in well_behaved().tables}),
        "good": well_behaved(),
        "bad": badly_behaved(),
    }[rows]
    return untouched(opened(hospital))


def refusal(sql: str, rows: str = "good") -> dpsql.DpsqlError:
    return raised(dpsql.DpsqlError, lambda: analyst(rows).sql(sql))


def test_there_are_enough_of_them_and_some_propose_something():
    assert len(REFUSED) >= 90
    assert len({fixture.sql for fixture in REFUSED}) == len(REFUSED)
    assert sum(refusal(fixture.sql).try_sql is not None for fixture in REFUSED) >= 140


@pytest.mark.parametrize("fixture", REFUSED, ids=str)
def test_it_is_refused_with_its_code_and_its_place(fixture: Fixture):
    before = analyst("good").budget
    error = refusal(fixture.sql)
    assert analyst("good").budget == before
    assert error.code == fixture.code, error
    assert error.at is not None, error
    start, end = error.at
    assert fixture.sql[start:end] == fixture.marked, error
    assert error.what
    assert error.why
    assert error.fix
    assert error.why != NO_RULE, "a reason that holds for everything teaches nothing"
    assert "\n" not in error.what
    require_a_picture(fixture, error)
    require_the_same_words(error, refusal(fixture.sql, "none"), refusal(fixture.sql, "bad"))
    if error.try_sql is not None:
        analyst("good").query(error.try_sql)


def require_a_picture(fixture: Fixture, error: dpsql.DpsqlError):
    """The caret in the message stands under the marked text of the fixture."""
    _, line, carets, *_ = str(error).splitlines()
    begin = carets.index("^")
    width = carets.count("^")
    assert carets.strip() == "^" * width
    assert width == min(40, len(fixture.marked))
    shown = line[begin:]
    assert shown.startswith(fixture.marked[: min(width, len(shown))])


def require_the_same_words(good: dpsql.DpsqlError, none: dpsql.DpsqlError, bad: dpsql.DpsqlError):
    """They do not depend on the rows."""
    assert str(none) == str(good) == str(bad)
    assert none.as_json() == good.as_json() == bad.as_json()


@cases(__file__, "sql=", "at=")
def test_what_is_no_character_is_refused(sql, at):
    error = refusal(sql)
    assert (error.code, error.at) == ("DP100", at)
    str(error).encode("utf-8", "backslashreplace")


def test_a_key_is_a_place_in_a_text_of_several_lines():
    sql = "SELECT city,\n       COUNT(*)\nFROM patients\nGROUP BY city,\n\tname"
    error = refusal(sql)
    assert sql[slice(*error.at)] == "name"
    assert "\n            name\n            ^^^^\n" in str(error)  # blanks for the tab, so that the marks fit


@cases(__file__, "sql", "told")
def test_the_way_out_is_one_that_exists(sql, told):
    assert told in refusal(sql).fix


@cases(__file__, "sql")
def test_the_way_out_is_answered_when_it_is_taken(sql):
    analyst("good").query(sql)


@pytest.mark.parametrize("unit", ["patient", "row"])
def test_people_are_grouped_inside_only_where_there_are_people(unit):
    table, key = ("visits", "ward_id") if unit == "patient" else ("readings", "site")
    fix = refusal(f"SELECT COUNT(*) FROM (SELECT {key}, COUNT(*) AS n FROM {table} GROUP BY {key}) t").fix
    assert ("GROUP BY the patient inside" in fix) == (unit == "patient")


@pytest.mark.parametrize("function", ["MEDIAN", "STDDEV"])
def test_what_does_not_depend_on_the_order_of_rows_is_not_said_to(function):
    error = refusal(f"SELECT AVG(x) FROM (SELECT patient_id, {function}(charge) AS x FROM visits GROUP BY 1) t")
    assert (error.code, error.why) == ("DP104", "no rule names it")


@pytest.mark.parametrize("public", ["(SELECT id FROM wards LIMIT 1)", "((SELECT id FROM wards))"])
def test_a_public_subquery_is_not_said_to_be_about_people(public):
    why = refusal(f"SELECT COUNT(*) FROM visits WHERE ward_id IN {public}").why
    assert "different people" not in why


@cases(__file__, "sql=", "proposal=")
def test_a_proposal_is_accepted_as_it_stands(sql, proposal):
    assert refusal(sql).try_sql == proposal
    if proposal is not None:
        analyst("good").query(proposal)


@cases(__file__, "sum_", "column", "clamped")
def test_the_column_without_limits_is_named(sum_, column, clamped):
    error = refusal(f"SELECT {sum_} FROM visits v JOIN beds b ON v.patient_id = b.patient_id")
    assert error.what == f"{sum_} needs limits for {column}"
    assert error.try_sql == f"SELECT {clamped} FROM visits v JOIN beds b ON v.patient_id = b.patient_id"
    analyst("good").query(error.try_sql)
