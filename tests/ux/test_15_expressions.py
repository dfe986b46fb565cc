"""Check 15: expressions inside aggregates and around them, as anybody writes them.

A system fails where one of these is refused, where its number is not the one plain SQL gives but for the noise, where a
number that has noise has no margin, or where arithmetic on what is released costs anything.
"""

import duckdb
import pytest

import dpsql
from tests.kits.rows import read_texts

INSIDE = read_texts(__file__, "inside")
AROUND = [
    "SELECT 1 + COUNT(*) FROM patients",
    "SELECT 100.0 * SUM(CASE WHEN age >= 65 THEN 1 ELSE 0 END) / COUNT(*) FROM patients",
    "SELECT ROUND(SUM(age) / COUNT(*), 1) FROM patients",
    "SELECT CASE WHEN COUNT(*) > 100 THEN SUM(age) ELSE 0 END FROM patients",
]
GROUPS = """
SELECT city, COUNT(*) AS n, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS share, RANK() OVER (ORDER BY COUNT(*) DESC) AS r
FROM patients GROUP BY city HAVING COUNT(*) > 50 ORDER BY n DESC LIMIT 2
"""
FAR = 12
"""Margins. Laplace noise is so far off with probability 20^-12 for each number."""


@pytest.fixture(scope="module")
def exact(refusing):
    with duckdb.connect(str(refusing.parent / "hospital.duckdb"), read_only=True) as plain:
        return {sql: plain.execute(sql).fetchall() for sql in [*INSIDE, *AROUND, GROUPS]}


@pytest.fixture(scope="module")
def ana(refusing, exact):
    with dpsql.open(refusing) as owner:
        yield owner.analyst("ana")


@pytest.mark.parametrize("sql", [*INSIDE, *AROUND])
def test_it_is_answered_near_what_plain_sql_says(sql, ana, exact):
    ((cell,),) = ana.sql(sql).rows
    ((true,),) = exact[sql]
    assert isinstance(cell, dpsql.Noisy)
    assert cell.margin > 0
    assert abs(cell.value - float(true)) <= FAR * float(cell.margin)


def test_what_is_computed_from_released_numbers_is_free_and_the_same(ana):
    ((count,),) = ana.sql("SELECT COUNT(*) FROM patients").rows
    left = ana.budget.left
    ((more,),) = ana.sql("SELECT 1 + COUNT(*) FROM patients").rows
    assert more.value == count.value + 1
    assert more.margin == count.margin
    assert ana.budget.left == left


def test_groups_are_filtered_sorted_ranked_and_cut_after_the_noise(ana, exact):
    answer = ana.sql(GROUPS)
    assert [row[0] for row in answer.rows] == [row[0] for row in exact[GROUPS]] == ["Basel", "Bern"]
    assert [int(cell.value if isinstance(cell, dpsql.Noisy) else cell) for cell in answer["r"]] == [1, 2]
    assert all(cell.margin > 0 for cell in answer["n"] + answer["share"])
