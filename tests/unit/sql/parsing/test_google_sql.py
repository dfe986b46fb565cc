"""GoogleSQL's words: cut out, read to the end, and never passed over."""

from fractions import Fraction

import pytest

from dpsql.errors import DpsqlError
from dpsql.sql.parse import parse
from dpsql.sql.syntax import NO_OPTIONS, Call, Name
from tests.kits.cases import cases
from tests.kits.refusals import raised


def parsed(sql):
    return parse(sql, dialect="duckdb")


def call(sql):
    found = parsed(sql).query.items[0].expression
    assert isinstance(found, Call)
    return found


def test_all_options_are_read():
    sql = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (Epsilon=0.1, delta = 1e-6, max_groups_contributed=2,"
        ' max_rows_contributed = 7, privacy_unit_column = "Id") COUNT(*) FROM t'
    )
    found = parsed(sql).options
    assert (found.epsilon.value, found.delta.value) == (Fraction(1, 10), Fraction(1, 10**6))
    assert (found.groups_per_person.value, found.rows_in_all.value, found.privacy_unit.value) == (2, 7, "id")
    assert sql[slice(*found.rows_in_all.at)] == "7"


@pytest.mark.parametrize(
    "words", ["WITH DIFFERENTIAL_PRIVACY", "with differential_privacy options (max_groups_contributed=3)"]
)
def test_the_rest_is_the_question(words):
    plain = parsed(f"SELECT {' ' * len(words)} a, COUNT(*) FROM t GROUP BY a")
    assert parsed(f"SELECT {words} a, COUNT(*) FROM t GROUP BY a").query == plain.query


def test_options_go_before_a_hint_and_beside_a_clause():
    sql = "SELECT /*+ dp(epsilon=1, noise='laplace') */ WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon=2) COUNT(*) FROM t"
    found = parsed(f"{sql} CONFIDENCE 0.9").options
    assert (found.epsilon.value, found.noise.value.value, found.confidence.value) == (2, "laplace", Fraction(9, 10))


@pytest.mark.parametrize(("written", "function"), [("SUM", "sum"), ("VAR_POP", "var_pop"), ("stddev", "stddev_samp")])
def test_bounds_of_each_row_are_a_clamp(written, function):
    found = call(f"SELECT {written}(x + 1, contribution_bounds_per_row => (-5, 2.5)) FROM t")
    (clamp,) = found.arguments
    assert (found.function, clamp.function, found.per_group) == (function, "clamp", None)
    assert [literal.value for literal in clamp.arguments[1:]] == [-5, Fraction(5, 2)]


@pytest.mark.parametrize("function", ["SUM", "AVG"])
def test_bounds_of_a_person_leave_rows_as_they_are(function):
    found = call(f"SELECT {function}(x, contribution_bounds_per_group => (0, 9)) FROM t")
    assert isinstance(found.arguments[0], Name)
    assert (found.per_group.low.value, found.per_group.high.value) == (0, 9)
    assert found.per_person is (function != "SUM")


def test_bounds_of_a_person_cap_a_count():
    counted = call("SELECT COUNT(*, contribution_bounds_per_group => (0, 9)) FROM t")
    assert (counted.function, counted.per_group.high.value) == ("count", 9)


def averages(expression):
    """Which averages of a tree are those of people, in the order of the text."""
    if isinstance(expression, Call):
        inside = [each for part in expression.arguments for each in averages(part)]
        return ([expression.per_person] if expression.function == "avg" else []) + inside
    return []


@cases(__file__, "sql", "of_people=")
def test_averages_under_the_clause_are_of_each_person(sql, of_people):
    assert [each for item in parsed(sql).query.items for each in averages(item.expression)] == of_people


def test_a_subquery_under_the_clause_is_plain_sql():
    sql = "SELECT WITH DIFFERENTIAL_PRIVACY AVG(y) FROM (SELECT id, AVG(x) AS y FROM t GROUP BY id) AS s"
    assert averages(parsed(sql).query.from_.query.items[1].expression) == [False]
    assert averages(parsed(sql).query.items[0].expression) == [True]


def test_another_part_of_a_union_has_not_said_it():
    first, second = parsed(
        "SELECT WITH DIFFERENTIAL_PRIVACY AVG(x) FROM t UNION ALL SELECT AVG(x) FROM t"
    ).query.branches
    assert averages(first.items[0].expression) == [True]
    assert averages(second.items[0].expression) == [False]


def test_each_call_has_its_own_bounds():
    sql = "SELECT SUM(SUM(a, contribution_bounds_per_row => (0, 1)), contribution_bounds_per_row => (0, 2)) FROM t"
    outer = call(sql).arguments[0]
    assert outer.arguments[2].value == 2
    assert outer.arguments[0].arguments[0].arguments[2].value == 1


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT options, differential_privacy FROM t options",
        "WITH differential_privacy AS (SELECT a FROM t) SELECT COUNT(*) FROM differential_privacy",
    ],
)
def test_the_words_are_not_reserved(sql):
    assert parsed(sql).options == NO_OPTIONS


@cases(__file__, "sql", "marked")
def test_what_is_wrong_is_marked(sql, marked):
    error = raised(DpsqlError, lambda: parsed(sql))
    start, end = error.at
    assert sql[start:end] == marked, error
