"""Whatever the text is, the answer is a plan or an error of ours; and what fails after the charge tells nothing."""

import time
from dataclasses import replace
from functools import cache

import duckdb
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import dpsql
from dpsql.engines.engine import engine_failed
from dpsql.session.planning import Planner
from tests.kits.refusals import raised

from hospital import badly_behaved, opened, well_behaved

COUNT = "SELECT COUNT(*) FROM patients WHERE "


class Broken:
    """An engine that says what it is; every question to it ends in `failure()`."""

    def __init__(self, engine, failure):
        self.capabilities, self.failure, self.asked = engine.capabilities, failure, 0

    def run(self, sql, /, *, parameters):
        self.asked += 1
        raise self.failure()

    def run_public(self, sql, /, *, parameters):
        self.asked += 1
        raise self.failure()


def untouchable():
    return AssertionError("the engine was asked")


def broken(analyst, failure):
    return replace(analyst, place=replace(analyst.place, engine=Broken(analyst.place.engine, failure)))


@cache
def analyst():
    return broken(opened(well_behaved()), untouchable)


def verdict(text):
    """The plan's price, or the code of the error; anything else that is raised goes through."""
    try:
        return analyst().query(text).cost.epsilon
    except dpsql.DpsqlError as error:
        require_useful(error, text)
        return error.code


def require_useful(error, text):
    assert error.code not in ("DP000", "DP900"), error
    assert error.what
    assert error.why
    assert error.fix
    assert len(str(error)) < 3000
    if error.at is not None:
        start, end = error.at
        assert 0 <= start <= end <= len(text)


# ---- texts made of anything ------------------------------------------------------------------------------------------

VOCABULARY = r"""
SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET WITH AS DISTINCT CASE WHEN THEN ELSE END AND OR NOT IN IS NULL
BETWEEN LIKE JOIN ON USING LEFT CROSS UNION ALL EXISTS OVER PARTITION FILTER CAST INTERVAL DATE EXPLAIN PRIVACY DRY
RUN COUNT SUM AVG MAX CLAMP patients visits wards stays readings city age charge name patient_id day t a b ( ) ( ) , .
* + - / % = < > <= <> || :: ; ' " $$ -- /* */ ? $1 @ # [ ] { } \ ` 0 1 2.5 1e9 'x' "y" '2025-01-01' é λ"""
WORDS = st.sampled_from([*VOCABULARY.split(), "\x00", "\n"])
SOUP = st.lists(WORDS, max_size=40).map(" ".join)
NEARLY = st.builds(
    lambda words, cut, kept: f"SELECT {words} FROM patients WHERE age > 3 GROUP BY city"[: cut + 10] + kept,
    SOUP, st.integers(0, 60), SOUP,
)  # fmt: skip
NOTHING_SPECIAL = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@NOTHING_SPECIAL
@given(st.text(max_size=200))
@example("")
@example(" \t\r\n\v\f\x85\u2028\ufeff")
@example("\x00")
@example("\ud800")
@example("SELECT COUNT(*) FROM patients WHERE age > ٣")
@example("SELECT COUNT(*) FROM patients WHERE age > ²")
@example("SELECT COUNT(*) FROM patients WHERE age > 1_000")
def test_any_text_has_a_verdict(text):
    verdict(text)


@NOTHING_SPECIAL
@given(SOUP)
def test_any_words_have_a_verdict(text):
    verdict(text)


@NOTHING_SPECIAL
@given(NEARLY)
def test_anything_like_a_question_has_a_verdict(text):
    verdict(text)


# ---- large texts -----------------------------------------------------------------------------------------------------

LARGE = {
    "10 000 parentheses": COUNT + "(" * 10_000 + "age" + ")" * 10_000 + " > 3",
    "10 000 open parentheses": "(" * 10_000,
    "10 000 closing parentheses": "SELECT 1" + ")" * 10_000,
    "8 000 terms of AND": COUNT + " AND ".join(f"age > {n}" for n in range(8_000)),
    "8 000 terms of OR": COUNT + " OR ".join(f"age = {n}" for n in range(8_000)),
    "8 000 summands": COUNT + "+".join(["age"] * 8_000) + " > 3",
    "5 000 NOTs": COUNT + "NOT " * 5_000 + "flu",
    "5 000 minus signs": COUNT + "- " * 5_000 + "age > 3",
    "1 000 nested CASEs": COUNT + "CASE WHEN flu THEN " * 1_000 + "flu" + " END" * 1_000,
    "500 nested subqueries": "SELECT COUNT(*) FROM " + "(SELECT * FROM " * 500 + "patients" + ") t" * 500,
    "200 common tables": "WITH "
    + ", ".join(f"t{n + 1} AS (SELECT * FROM {'t' + str(n) if n else 'patients'})" for n in range(200))
    + " SELECT COUNT(*) FROM t200",
    "a common table doubled 30 times": "WITH t0 AS (SELECT patient_id FROM visits), "
    + ", ".join(f"t{n} AS (SELECT a.* FROM t{n - 1} a JOIN t{n - 1} b USING (patient_id))" for n in range(1, 31))
    + " SELECT COUNT(*) FROM t30",
    "2 000 joins": "SELECT COUNT(*) FROM visits v0"
    + "".join(f" JOIN visits v{n} ON v0.patient_id = v{n}.patient_id" for n in range(1, 2_000)),
    "3 000 counts": "SELECT " + ", ".join(f"COUNT(*) AS c{n}" for n in range(3_000)) + " FROM patients",
    "3 000 different sums": "SELECT " + ", ".join(f"SUM(age + {n})" for n in range(3_000)) + " FROM patients",
    "3 000 keys": "SELECT COUNT(*) FROM patients GROUP BY " + ", ".join(f"age + {n}" for n in range(3_000)),
    "10 000 values in a list": COUNT + f"age IN ({', '.join(map(str, range(10_000)))})",
    "1 MB of spaces": " " * 1_000_000,
    "1 MB of spaces around a question": COUNT + " " * 999_000 + "age > 3",
    "1 MB of single quotes": "'" * 1_000_000,
    "1 MB of quotes, and one": "'" * 999_999,
    "1 MB of double quotes": '"' * 1_000_000,
    "1 MB of backticks": "`" * 1_000_000,
    "1 MB of a letter": "a" * 1_000_000,
    "1 MB of semicolons": ";" * 1_000_000,
    "1 MB of semicolons behind a question": COUNT + "age > 3" + ";" * 990_000,
    "1 MB of commas": "SELECT " + "," * 999_000,
    "1 MB of stars": "SELECT " + "*" * 999_000,
    "1 MB of comments": "/*" * 500_000,
    "1 MB of small comments": COUNT + "/**/" * 240_000 + "age > 3",
    "1 MB of a comment": "SELECT COUNT(*) FROM patients --" + "x" * 990_000,
    "1 MB of line ends": "SELECT COUNT(*) FROM patients" + "\n" * 990_000,
    "1 MB of NUL": "\x00" * 1_000_000,
    "1 MB of lone surrogates": "\ud800" * 1_000_000,
    "1 MB of emoji": "🙂" * 1_000_000,
    "1 MB of letters in a text": COUNT + f"city = '{'x' * 990_000}'",
    "more than 1 MB": "x" * 1_000_001,
    "a long column": COUNT + "a" * 100_000 + " > 3",
    "a long quoted column": COUNT + '"' + "a" * 100_000 + '" > 3',
    "a long table": "SELECT COUNT(*) FROM " + "p" * 100_000,
    "a long alias": f"SELECT COUNT(*) AS {'n' * 100_000} FROM patients",
    "a long function": f"SELECT {'f' * 100_000}(age) FROM patients",
    "a name of 5 000 parts": COUNT + ".".join(["a"] * 5_000) + " > 3",
    "an infinite number": COUNT + "age > 1e999",
    "a number that is nearly 0": COUNT + "age > 1e-999999",
    "a long exponent": COUNT + "age > 1e" + "9" * 10_000,
    "a huge integer": COUNT + "age > " + "9" * 100_000,
    "a long fraction": COUNT + "age > 0." + "1" * 100_000,
    "a power of powers": "SELECT SUM(POWER(POWER(POWER(age, 99), 99), 99)) FROM patients",
    "a huge product": "SELECT SUM(" + " * ".join(["age"] * 120) + ") FROM patients",
    "a huge limit": "SELECT COUNT(*) FROM patients LIMIT " + "9" * 5_000,
    "a huge ordinal": "SELECT COUNT(*) FROM patients GROUP BY " + "9" * 400,
    "a huge clamp": "SELECT SUM(CLAMP(age, -1e308, 1e308)) FROM patients",
    "clamped by infinity": "SELECT SUM(CLAMP(age, 0, 1e999)) FROM patients",
    "a huge interval": "SELECT COUNT(*) FROM visits WHERE day + INTERVAL 99999999999999999999 DAY > DATE '2025-01-01'",
    "digits of another script": COUNT + "age > ١٢٣",
    "an unterminated text": COUNT + "city = '" + "x" * 500_000,
    "an unterminated name": COUNT + '"' + "x" * 500_000,
    "an unterminated comment": COUNT + "age > 3 /*" + "x" * 500_000,
    "an unterminated dollar quotation": COUNT + "city = $tag$" + "x" * 500_000,
}  # fmt: skip
SECONDS = 20
"""Generous: a verdict takes a fraction of it, an exponential parser takes for ever."""


@pytest.mark.parametrize("name", LARGE)
def test_a_large_text_has_a_verdict_soon(name):
    begin = time.process_time()
    verdict(LARGE[name])
    assert time.process_time() - begin < SECONDS


ACCEPTED_LARGE = [
    "1 MB of spaces around a question",
    "1 MB of semicolons behind a question",
    "1 MB of small comments",
    "1 MB of a comment",
    "1 MB of line ends",
    "200 common tables",
]


@pytest.mark.parametrize("name", ACCEPTED_LARGE)
def test_large_is_not_wrong_by_itself(name):
    assert verdict(LARGE[name]) == 1


def test_the_same_text_has_the_same_verdict_deep_in_the_stack():
    """How deep the caller stands must not be seen."""
    text = COUNT + "(" * 100 + "age" + ")" * 100 + " > 3"

    def down(levels):
        return verdict(text) if levels == 0 else down(levels - 1)

    assert down(0) == down(600)


# ---- the same through the planner ------------------------------------------------------------------------------------

POLICY = """
version = 1
[source]
url = "duckdb://{file}"
[promise]
epsilon = 3
delta = 1e-6
[defaults]
cost_per_query = 0.1
max_keys = 1000
[table.patients]
person = "patient_id"
rows_per_person = 1
[table.patients.columns]
age = {{ bounds = [0, 110] }}
"""


@pytest.fixture(scope="module")
def planner(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planned")
    with duckdb.connect(str(folder / "data.duckdb")) as connection:
        connection.execute("CREATE TABLE patients (patient_id BIGINT, age INTEGER)")
    (folder / "dpsql.toml").write_text(POLICY.format(file=folder / "data.duckdb"), encoding="utf-8")
    return Planner(folder / "dpsql.toml")


@pytest.mark.parametrize("name", LARGE)
def test_the_planner_has_a_verdict_for_a_large_text(planner, name):
    begin = time.process_time()
    for found in planner.verdicts(LARGE[name]):
        assert (found.cost is None) == (found.error is not None)
    assert time.process_time() - begin < SECONDS


@NOTHING_SPECIAL
@given(text=st.one_of(SOUP, st.text(max_size=100)))
def test_the_planner_has_a_verdict_for_every_statement(planner, text):
    found = list(planner.verdicts(text))
    assert [each.index for each in found] == list(range(len(found)))
    for each in found:
        assert each.as_json()["verdict"] in ("accepted", "refused")
        assert each.sql in text


# ---- failures after the charge ---------------------------------------------------------------------------------------

QUESTION = "SELECT city, COUNT(*) FROM patients GROUP BY city"


def told(analyst, sql=QUESTION):
    error = raised(dpsql.DpsqlError, lambda: analyst.sql(sql))
    return error, str(error).replace(getattr(error, "trace_id", ""), "<number>")


def test_a_failure_costs_and_says_nothing():
    ana = broken(opened(well_behaved(), delta=0), engine_failed)
    error, text = told(ana)
    assert isinstance(error, dpsql.errors.EngineFailed)
    assert error.code == "DP601"
    assert error.__cause__ is None
    assert error.__context__ is None
    assert len(error.trace_id) == 16
    assert ana.budget.spent == 1
    other, words = told(broken(opened(badly_behaved(), delta=0), engine_failed), "SELECT SUM(charge) FROM visits")
    assert text == words
    assert error.trace_id != other.trace_id


def test_a_closed_database_is_the_same_failure():
    ana = opened(well_behaved(), delta=0)
    ana.place.engine.close()
    _, text = told(ana)
    assert text == told(broken(opened(well_behaved(), delta=0), engine_failed))[1]
    assert ana.budget.spent == 1


def test_a_failure_of_the_engine_hangs_on_no_error():
    """A value in the engine's own words would be a leak: DuckDB says which text it could not convert."""
    ana = opened(well_behaved(), delta=0)
    ana.place.engine._connection.execute("DROP TABLE patients")
    error, text = told(ana)
    assert "patients" not in text
    assert error.__cause__ is None
    assert error.__context__ is None


def test_a_receipt_is_continued_twice_and_then_costs_again():
    ana = broken(opened(well_behaved(), delta=0), engine_failed)
    spent = []
    for _ in range(7):
        told(ana)
        spent.append(ana.budget.spent)
    assert spent == [1, 1, 1, 2, 2, 2, 3]
    assert ana.place.engine.asked == 7


def test_a_retry_that_works_is_not_paid_again():
    whole = opened(well_behaved(), delta=0)
    told(broken(whole, engine_failed))
    answer = whole.sql(QUESTION)
    assert len(answer) == 4
    assert whole.budget.spent == 1
    assert [tuple(row) for row in whole.sql(QUESTION)] == [tuple(row) for row in answer]
    assert whole.budget.spent == 1


def test_a_failure_of_one_question_pays_for_no_other():
    whole = opened(well_behaved(), delta=0)
    told(broken(whole, engine_failed))
    whole.sql("SELECT COUNT(*) FROM visits")
    assert whole.budget.spent == 2


def test_a_failure_about_public_tables_costs_nothing():
    ana = broken(opened(well_behaved(), delta=0), engine_failed)
    error, _ = told(ana, "SELECT name FROM wards")
    assert error.code == "DP601"
    assert ana.budget.spent == 0


def test_too_many_public_keys_cost_nothing_and_a_failed_count_of_them_neither():
    ana = broken(opened(well_behaved(), delta=0), engine_failed)
    error, _ = told(ana, "SELECT w.name, COUNT(*) FROM visits v JOIN wards w ON v.ward_id = w.id GROUP BY w.name")
    assert error.code == "DP601"
    assert ana.budget.spent == 0


def test_an_empty_account_says_so_before_the_engine():
    ana = analyst()
    assert raised(dpsql.errors.BudgetExhausted, lambda: ana.sql(QUESTION, epsilon=201)).code == "DP201"
    assert ana.budget.spent == 0
