"""The errors that teach, case by case: what is proposed has been planned, and does what was meant."""

from __future__ import annotations

import re
from functools import cache

import duckdb
import pytest

import dpsql

from hospital import opened, well_behaved


@cache
def analyst(delta: float = 1e-6) -> dpsql.Analyst:
    return opened(well_behaved(), delta=delta)


def refusal(sql: str, ana: dpsql.Analyst | None = None, **options) -> dpsql.DpsqlError:
    with pytest.raises(dpsql.DpsqlError) as caught:
        (ana or analyst()).query(sql, **options)
    return caught.value


CASES = {
    "1 row-level output": ("SELECT * FROM patients", "DP101", "SELECT city, COUNT(*) FROM patients GROUP BY city"),
    "1 a column beside aggregates": (
        "SELECT city, age FROM patients GROUP BY city", "DP101", "SELECT city, AVG(age) FROM patients GROUP BY city",
    ),
    "2 missing limits": ("SELECT SUM(bed_id) FROM beds", "DP102", "SELECT SUM(CLAMP(bed_id, 0, 1000)) FROM beds"),
    "2 missing limits of one of two": (
        "SELECT CORR(nights, bed_id) FROM stays", "DP102", "SELECT CORR(nights, CLAMP(bed_id, 0, 1000)) FROM stays",
    ),
    "1 rows of some columns and people": (
        "SELECT p.age, p.city FROM patients p WHERE p.flu ORDER BY 1 LIMIT 5 COST 0.5", "DP101",
        "SELECT p.city, AVG(p.age) FROM patients p WHERE p.flu GROUP BY p.city COST 0.5",
    ),
    "1 rows without anything to add up": (
        "SELECT moment FROM visits WHERE charge > 100", "DP101", "SELECT COUNT(*) FROM visits WHERE charge > 100",
    ),
    "1 people who did not come": (
        "SELECT p.* FROM patients p LEFT JOIN visits v ON p.patient_id = v.patient_id WHERE v.day IS NULL", "DP101",
        ("SELECT city, COUNT(*) FROM patients p LEFT JOIN visits v ON p.patient_id = v.patient_id WHERE v.day IS NULL "
         "GROUP BY city"),
    ),
    "1 public rows without anybody": (
        "SELECT w.name FROM wards w LEFT JOIN visits v ON v.ward_id = w.id WHERE v.day IS NULL", "DP101", None,
    ),
    "a group for each person, of some": (
        "SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(*) > 3", "DP305",
        "SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(*) > 3) AS t",
    ),
    "1 different values": (
        "SELECT DISTINCT diagnosis FROM visits", "DP101", "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis",
    ),
    "1 a forgotten GROUP BY": (
        "SELECT city, COUNT(*) FROM patients WHERE flu ORDER BY 2 DESC", "DP101",
        "SELECT city, COUNT(*) FROM patients WHERE flu GROUP BY city ORDER BY 2 DESC",
    ),
    "1 a forgotten group": (
        "SELECT city, flu, COUNT(*) FROM patients GROUP BY city", "DP101",
        "SELECT city, flu, COUNT(*) FROM patients GROUP BY city, flu",
    ),
    "3 the first day": (
        "SELECT MIN(day) FROM visits", "DP103", "SELECT COUNT(*) FILTER (WHERE day < '2025-02-06') FROM visits",
    ),
    "3 the range of values": (
        "SELECT MIN(age), MAX(age), COUNT(*) FROM patients", "DP103",
        "SELECT COUNT(*) FILTER (WHERE age < 11), COUNT(*) FILTER (WHERE age > 99), COUNT(*) FROM patients",
    ),
    "an average by its long name": ("SELECT average(age) FROM patients", "DP401", "SELECT AVG(age) FROM patients"),
    "a misspelt aggregate": ("SELECT CUONT(age) FROM patients", "DP401", "SELECT COUNT(age) FROM patients"),
    "a text without quotes": (
        "SELECT COUNT(*) FROM patients WHERE city = Bern", "DP401", "SELECT COUNT(*) FROM patients WHERE city = 'Bern'",
    ),
    "a margin that nobody can know": (
        "SELECT AVG(age) FROM patients WITHIN 2 CONFIDENCE 0.9", "DP104",
        "SELECT AVG(age) FROM patients COST 0.1 CONFIDENCE 0.9",
    ),
    "3 the largest value": (
        "SELECT city, MAX(age) AS oldest FROM patients GROUP BY city", "DP103",
        "SELECT city, COUNT(*) FILTER (WHERE age > 99) FROM patients GROUP BY city",
    ),
    "3 the smallest value, of some": (
        "SELECT MIN(points) FILTER (WHERE charge > 3) FROM visits", "DP103",
        "SELECT COUNT(*) FILTER (WHERE (points < -40) AND (charge > 3)) FROM visits",
    ),
    "3 the largest value, compared": (
        "SELECT city, COUNT(*) FROM patients GROUP BY city HAVING MAX(age) > 90", "DP103", None,
    ),
    "3 the middle value": (
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age) FROM patients", "DP103",
        "SELECT AVG(age) FROM patients",
    ),
    "3 whether anybody": (
        "SELECT BOOL_OR(flu) FROM patients", "DP103", "SELECT COUNT(*) FILTER (WHERE flu) FROM patients",
    ),
    "3 some value of a text": (
        "SELECT MODE(city) FROM patients WHERE flu", "DP103",
        "SELECT city, COUNT(*) FROM patients WHERE flu GROUP BY city",
    ),
    "3 one person's value": ("SELECT ANY_VALUE(age) FROM patients", "DP103", "SELECT AVG(age) FROM patients"),
    "3 one person's value of a text without groups": ("SELECT ANY_VALUE(name) FROM patients", "DP301", None),
    "6 a hidden group": (
        "SELECT name, COUNT(*) FROM patients GROUP BY name", "DP301",
        "SELECT city, COUNT(*) FROM patients GROUP BY city",
    ),
    "6 a hidden group beside numbers": (
        "SELECT p.name, AVG(p.age) AS years FROM patients p WHERE p.flu GROUP BY p.name ORDER BY years", "DP301",
        "SELECT p.city, AVG(p.age) AS years FROM patients p WHERE p.flu GROUP BY p.city ORDER BY years",
    ),
    "6 a computed hidden group": (
        "SELECT n, COUNT(*) FROM (SELECT UPPER(name) AS n FROM patients) t GROUP BY n", "DP301", None,
    ),
    "a group for each person": (
        "SELECT patient_id, COUNT(*) AS visits FROM visits WHERE charge > 3 GROUP BY patient_id ORDER BY 2", "DP305",
        ("SELECT AVG(visits) FROM (SELECT patient_id, COUNT(*) AS visits FROM visits WHERE charge > 3 "
         "GROUP BY patient_id) AS t"),
    ),
    "a list of people": (
        "SELECT patient_id FROM visits WHERE charge > 3 GROUP BY patient_id", "DP305",
        "SELECT COUNT(DISTINCT patient_id) FROM visits WHERE charge > 3",
    ),
    "7 groups that nobody declared": (
        "SELECT moment, COUNT(*) AS n FROM visits GROUP BY moment ORDER BY n DESC LIMIT 3", "DP305",
        "SELECT CAST(moment AS DATE), COUNT(*) AS n FROM visits GROUP BY CAST(moment AS DATE) ORDER BY n DESC LIMIT 3",
    ),
    "9 inner groups": (
        "SELECT COUNT(*) FROM (SELECT city, COUNT(*) AS c FROM patients GROUP BY city) t WHERE c > 3", "DP304",
        "SELECT COUNT(*) FROM PRIVATE (SELECT city, COUNT(*) AS c FROM patients GROUP BY city) t WHERE c > 3",
    ),
    "9 rows cut off inside": (
        "SELECT AVG(charge) FROM (SELECT charge FROM visits WHERE points > 0 ORDER BY day LIMIT 10) t", "DP304",
        None,
    ),
    "8 a join not on the person": (
        "SELECT COUNT(*) FROM visits a JOIN visits b ON a.ward_id = b.ward_id", "DP303",
        "SELECT COUNT(*) FROM visits a JOIN visits b ON a.ward_id = b.ward_id AND a.patient_id = b.patient_id",
    ),
    "8 one of two conditions": (
        "SELECT COUNT(*) FROM visits a JOIN visits b ON a.day = b.day OR a.points < 3", "DP303",
        ("SELECT COUNT(*) FROM visits a JOIN visits b ON (a.day = b.day OR a.points < 3) AND "
         "a.patient_id = b.patient_id"),
    ),
    "8 people who are not equal": (
        "SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient_id <> b.patient_id", "DP303", None,
    ),
    "8 pairs of people": (
        "SELECT COUNT(*) FROM visits a, visits b WHERE a.day = b.day AND a.patient_id < b.patient_id", "DP303", None,
    ),
    "8 the same in WHERE": (
        "SELECT COUNT(*) FROM patients p, visits v WHERE p.age = v.points", "DP303",
        "SELECT COUNT(*) FROM patients p, visits v WHERE p.age = v.points AND p.patient_id = v.patient_id",
    ),
    "10 a misspelt column": (
        "SELECT COUNT(*) FROM visits v WHERE v.dianosis = 'flu'", "DP401",
        "SELECT COUNT(*) FROM visits v WHERE v.diagnosis = 'flu'",
    ),
    "10 a misspelt table": ("SELECT COUNT(*) FROM vists", "DP401", "SELECT COUNT(*) FROM visits"),
    "10 a name that is only remotely alike": ("SELECT COUNT(*) FROM patients WHERE charge > 3", "DP401", None),
    "12 a filter on a named person": (
        "SELECT COUNT(*) FROM patients WHERE name = 'Bob'", "DP301", None,
    ),
    "a column that two tables have": (
        "SELECT COUNT(*) FROM visits v JOIN patients p ON v.patient_id = p.patient_id WHERE patient_id > 3", "DP401",
        "SELECT COUNT(*) FROM visits v JOIN patients p ON v.patient_id = p.patient_id WHERE v.patient_id > 3",
    ),
    "a table under its other name": (
        "SELECT COUNT(*) FROM visits v WHERE visits.charge > 3", "DP401",
        "SELECT COUNT(*) FROM visits v WHERE v.charge > 3",
    ),
    "a number where a condition belongs": (
        "SELECT COUNT(*) FROM patients WHERE age", "DP405", "SELECT COUNT(*) FROM patients WHERE age > 0",
    ),
    "the clock": (
        "SELECT COUNT(*) FROM visits WHERE moment > NOW()", "DP104",
        "SELECT COUNT(*) FROM visits WHERE moment > CURRENT_DATE",
    ),
    "a type of another width": (
        "SELECT COUNT(*) FROM patients WHERE age::TINYINT > 3", "DP104",
        "SELECT COUNT(*) FROM patients WHERE age::BIGINT > 3",
    ),
    "a union without ALL": (
        "SELECT COUNT(*) FROM (SELECT points FROM visits UNION SELECT bed_id FROM beds) t", "DP104", None,
    ),
    "an intersection is no union": (
        "SELECT COUNT(*) FROM (SELECT points FROM visits INTERSECT SELECT bed_id FROM beds) t", "DP104", None,
    ),
    "several statements": (
        "SELECT COUNT(*) FROM patients; DROP TABLE patients", "DP100", "SELECT COUNT(*) FROM patients",
    ),
    "what tables there are": (
        "DESCRIBE patients", "DP104", "SELECT * FROM dp.columns WHERE table_name = 'patients'",
    ),
    "a price that is none": ("SELECT COUNT(*) FROM visits COST -1", "DP410", "SELECT COUNT(*) FROM visits COST 0.1"),
    "public rows that nobody is in, by a column of theirs": (
        "SELECT w.name, COUNT(w.id) FROM wards w LEFT JOIN visits v ON v.ward_id = w.id GROUP BY 1", "DP104",
        "SELECT w.name, COUNT(v.ward_id) FROM wards w LEFT JOIN visits v ON v.ward_id = w.id GROUP BY 1",
    ),
    "public rows that nobody is in": (
        "SELECT w.name, COUNT(*) FROM wards w LEFT JOIN visits v ON v.ward_id = w.id GROUP BY 1", "DP104",
        "SELECT w.name, COUNT(v.ward_id) FROM wards w LEFT JOIN visits v ON v.ward_id = w.id GROUP BY 1",
    ),
    "an average of truth values": (
        "SELECT AVG(flu) FROM patients", "DP405", "SELECT AVG(CASE WHEN flu THEN 1 ELSE 0 END) FROM patients",
    ),
    "an aggregate under another name": (
        "SELECT COUNT_IF(flu) FROM patients", "DP104", "SELECT COUNT(*) FILTER (WHERE flu) FROM patients",
    ),
    "the same in BigQuery's spelling": (
        "SELECT COUNTIF(flu) FROM patients", "DP104", "SELECT COUNT(*) FILTER (WHERE flu) FROM patients",
    ),
    "different values in a sum": ("SELECT SUM(DISTINCT age) FROM patients", "DP104", None),
    "fractions as groups": (
        "SELECT weight, COUNT(*) FROM patients GROUP BY weight", "DP305",
        "SELECT CAST(weight AS INTEGER), COUNT(*) FROM patients GROUP BY CAST(weight AS INTEGER)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_proposal_is_the_one_and_has_a_plan(case):
    sql, code, proposal = CASES[case]
    error = refusal(sql)
    assert (error.code, error.try_sql) == (code, proposal)
    assert error.why
    assert error.fix
    if proposal is not None:
        assert f"  Try   {proposal}" in str(error)
        analyst().query(proposal)


def test_4_a_budget_that_is_used_up_names_a_price_that_fits():
    ana = opened(well_behaved())
    ana.sql("SELECT COUNT(*) FROM patients", epsilon=199.5)
    with pytest.raises(dpsql.DpsqlError) as caught:
        ana.sql("SELECT COUNT(*) FROM visits", epsilon=100)
    assert caught.value.code == "DP201"
    price = re.search(r"epsilon=([0-9.]+) would fit", caught.value.fix)
    assert price is not None
    ana.sql("SELECT COUNT(*) FROM visits", epsilon=float(price.group(1)))


def test_5_a_limit_of_the_caller_spends_nothing():
    ana = opened(well_behaved())
    before = ana.budget
    with pytest.raises(dpsql.DpsqlError) as caught:
        ana.sql("SELECT COUNT(*) FROM visits", max_cost=0.1)
    assert caught.value.code == "DP202"
    assert ana.budget == before


def test_7_private_groups_without_delta_can_be_listed():
    sql = "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis"
    error = refusal(sql, analyst(delta=0))
    assert error.code == "DP302"
    assert error.try_sql == sql.replace("GROUP BY", "WHERE diagnosis IN ('a', 'b') GROUP BY")
    analyst(delta=0).query(error.try_sql.replace("'a', 'b'", "'flu', 'asthma'"))


def test_11_a_price_above_the_limit_of_the_grant():
    plain = duckdb.connect()
    plain.execute("CREATE TABLE t (person BIGINT)")
    owner = dpsql.open(":memory:")
    owner.register("t", plain, person="person", rows_per_person=1)
    plain.close()
    owner.promise(epsilon=5, delta=1e-6)
    owner.defaults(cost_per_query=0.1, max_keys=10)
    ana = owner.grant("ana", budget=5, max_per_query=1)
    in_call = refusal("SELECT COUNT(*) FROM t", ana, epsilon=3)
    in_text = refusal("SELECT COUNT(*) FROM t COST 3", ana)
    for error in (in_call, in_text):
        assert error.code == "DP402"
        assert error.what == "epsilon = 3 is above your limit of 1 per query"
        assert "at most 1" in error.fix
    assert in_text.try_sql == "SELECT COUNT(*) FROM t COST 1"
    assert ana.query(in_text.try_sql).cost.epsilon == 1
    assert ana.query("SELECT COUNT(*) FROM t", epsilon=1).cost.epsilon == 1


def test_a_rewrite_is_not_shown_where_the_grant_does_not_reach():
    """The table that would be counted is one the analyst may not name."""
    plain = duckdb.connect()
    plain.execute("CREATE TABLE people (person BIGINT, name VARCHAR); CREATE TABLE peoples (person BIGINT)")
    owner = dpsql.open(":memory:")
    for table in ("people", "peoples"):
        owner.register(table, plain, person="person", rows_per_person=1)
    plain.close()
    owner.promise(epsilon=5, delta=1e-6)
    owner.defaults(cost_per_query=0.1, max_keys=10)
    ana = owner.grant("ana", budget=5, tables=["people"])
    error = refusal("SELECT COUNT(*) FROM peoplez", ana)
    assert error.try_sql == "SELECT COUNT(*) FROM people"
