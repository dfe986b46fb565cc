"""Check 11: where limits are missing, no number comes out, noisy or not; and with limits every number has noise.

A judge asks for everything that adds up a column without bounds, in every disguise. A system fails where one of these
is answered, where asking costs something, or where the proposed limits lead to a number without a margin.
"""

from functools import cache

import pytest
from refusing_hospital import POLICY, built

import dpsql

QUESTIONS = [
    "SELECT SUM(ward_id) FROM visits",
    "SELECT AVG(ward_id) FROM visits",
    "SELECT STDDEV(ward_id) FROM visits",
    "SELECT VAR_POP(ward_id) FROM visits",
    "SELECT CORR(charge, ward_id) FROM visits",
    "SELECT SUM(ward_id * 2 + 1) AS s FROM visits",
    "SELECT SUM(CASE WHEN charge > 100 THEN ward_id END) FROM visits",
    "SELECT SUM(COALESCE(ward_id, 0)) FROM visits",
    "SELECT SUM(ward_id) FILTER (WHERE charge > 100) FROM visits",
    "SELECT SUM(w) FROM (SELECT ward_id AS w FROM visits) t",
    "WITH t AS (SELECT ward_id + 1 AS w FROM visits) SELECT AVG(w) FROM t",
    "SELECT COUNT(*) FROM visits HAVING SUM(ward_id) > 3",
    "SELECT day, COUNT(*) FROM visits GROUP BY day ORDER BY SUM(ward_id)",
    "SELECT SUM(1 / charge) FROM visits",
    "SELECT AVG(s) FROM (SELECT patient_id, SUM(ward_id) AS s FROM visits GROUP BY patient_id) t",
]


@cache
def ana() -> dpsql.Analyst:
    return dpsql.demo()


@pytest.mark.parametrize("sql", QUESTIONS)
def test_nothing_comes_out_without_limits(sql):
    before = ana().budget
    with pytest.raises(dpsql.DpsqlError) as caught:
        ana().sql(sql)
    assert caught.value.code == "DP102"
    assert "limit" in caught.value.why
    assert "CLAMP(" in caught.value.fix
    assert ana().budget == before


@pytest.mark.parametrize("sql", QUESTIONS[:2])
def test_with_the_proposed_limits_every_number_has_noise(sql):
    with pytest.raises(dpsql.DpsqlError) as caught:
        ana().sql(sql)
    ((cell,),) = ana().sql(caught.value.try_sql).rows
    assert isinstance(cell, dpsql.Noisy)
    assert cell.margin > 0


@pytest.mark.parametrize("limit", ["rows_per_person = 6\n", "groups_per_person = 3\n"])
def test_a_limit_that_the_owner_forgot_is_missed_too(limit, tmp_path):
    policy = built(tmp_path, people=3)
    policy.write_text(POLICY.replace(limit, ""))
    with dpsql.open(policy) as owner, pytest.raises(dpsql.DpsqlError) as caught:
        owner.analyst("ana").sql("SELECT ward, COUNT(*) FROM visits JOIN wards USING (ward_id) GROUP BY ward")
    assert caught.value.code in ("DP102", "DP501")
    assert limit.split()[0] in str(caught.value)
