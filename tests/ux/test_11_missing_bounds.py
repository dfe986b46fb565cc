"""Check 11: where limits are missing, no number comes out, noisy or not; and with limits every number has noise.

A judge asks for everything that adds up a column without bounds, in every disguise. A system fails where one of these
is answered, where asking costs something, or where the proposed limits lead to a number without a margin.
"""

import pytest
from refusing_hospital import POLICY, built

import dpsql
from dpsql.testing import fixed_noise
from tests.kits.refusals import raised
from tests.kits.rows import read_texts

QUESTIONS = read_texts(__file__, "questions")


@pytest.mark.parametrize("sql", QUESTIONS)
def test_nothing_comes_out_without_limits(ana, sql):
    """C052: no finite noise hides a person there. Every proposal of such limits is planned in test_refused.py."""
    before = ana.budget
    error = raised(dpsql.DpsqlError, lambda: ana.sql(sql))
    assert error.code == "DP102"
    assert "limit" in error.why
    assert "CLAMP(" in error.fix
    assert ana.budget == before


@pytest.mark.parametrize("sql", QUESTIONS[:2])
def test_with_the_proposed_limits_every_number_has_noise(sql):
    """With fixed noise: an average whose whole interval lies below its range is shown as 0 without a margin, which
    happens to this one once in some 150 draws."""
    with fixed_noise(seed=3, i_know_this_is_not_private=True) as ana:
        error = raised(dpsql.DpsqlError, lambda: ana.sql(sql))
        ((cell,),) = ana.sql(error.try_sql).rows
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
