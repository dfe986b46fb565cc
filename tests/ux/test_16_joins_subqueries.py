"""Check 16: joins on the person, joins with public tables, subqueries and common tables.

A system fails where one of these is refused, or where its number is not the one plain SQL gives but for the noise.
"""

import duckdb
import pytest

import dpsql
from tests.kits.rows import read_texts

QUESTIONS = read_texts(__file__, "questions")
GROUPS = "SELECT ward, COUNT(*) AS n FROM visits JOIN wards USING (ward_id) GROUP BY ward ORDER BY ward"
OF_GROUPS = f"SELECT COUNT(*), SUM(n) FROM {{}}({GROUPS.partition(' ORDER')[0]}) AS t WHERE n > 10"
FAR = 12
"""Margins. Laplace noise is so far off with probability 20^-12 for each number."""


@pytest.fixture(scope="module")
def exact(refusing):
    with duckdb.connect(str(refusing.parent / "hospital.duckdb"), read_only=True) as plain:
        return {sql: plain.execute(sql).fetchall() for sql in [*QUESTIONS, GROUPS]}


@pytest.fixture(scope="module")
def ana(refusing, exact):
    with dpsql.open(refusing) as owner:
        yield owner.analyst("ana")


@pytest.mark.parametrize("sql", QUESTIONS)
def test_it_is_answered_near_what_plain_sql_says(sql, ana, exact):
    ((cell,),) = ana.sql(sql).rows
    ((true,),) = exact[sql]
    assert isinstance(cell, dpsql.Noisy)
    assert abs(cell.value - float(true)) <= FAR * float(cell.margin)


def test_groups_of_a_public_table_are_all_there(ana, exact):
    answer = ana.sql(GROUPS)
    assert answer["ward"] == [ward for ward, _ in exact[GROUPS]]
    for (_, cell), (_, true) in zip(answer.rows, exact[GROUPS], strict=True):
        assert abs(cell.value - true) <= FAR * float(cell.margin)


def test_groups_of_groups_are_asked_with_one_word_more(ana):
    with pytest.raises(dpsql.DpsqlError) as caught:
        ana.sql(OF_GROUPS.format(""))
    assert caught.value.try_sql == OF_GROUPS.format("PRIVATE ")
    ((number, total),) = ana.sql(caught.value.try_sql).rows
    assert 0 <= number <= 4
    assert 0 < total < 1000
