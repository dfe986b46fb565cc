"""KEYS (…) is WHERE x IN (…) said after GROUP BY x: the same question, the same numbers, no selection."""

from __future__ import annotations

import pandas as pd
import pytest

import dpsql
from dpsql.errors import BadName, BadType, Hidden, NotSupported
from dpsql.plan.price import MeasurementStep


@pytest.fixture
def analyst():
    owner = dpsql.open(":memory:")
    visits = pd.DataFrame({"id": [n % 50 for n in range(200)], "points": [n % 9 for n in range(200)]})
    visits["drug"] = ["a" if n % 3 else "b" for n in range(200)]
    owner.register(
        "visits",
        visits,
        person="id",
        hidden=["id"],
        types={"drug": "text"},
        keys={"drug": "private"},
        bounds={"points": (0, 8)},
        rows_per_person=4,
        groups_per_person=2,
    )
    owner.promise(epsilon=10, delta=0)  # nothing can be found by selection
    owner.defaults(cost_per_query=1, max_keys=3)
    return owner.grant("ana", budget=10)


@pytest.mark.parametrize(
    ("keys", "where"),
    [
        ("SELECT drug, COUNT(*) FROM visits GROUP BY drug KEYS ('a', 'zz')",
         "SELECT drug, COUNT(*) FROM visits WHERE drug IN ('zz', 'a') GROUP BY drug"),
        ("SELECT UPPER(drug) AS d, COUNT(*) FROM visits GROUP BY d KEYS ('A', 'B')",
         "SELECT UPPER(drug) AS d, COUNT(*) FROM visits WHERE UPPER(drug) IN ('A', 'B') GROUP BY d"),
        ("SELECT drug, COUNT(*) FROM visits WHERE points > 3 GROUP BY 1 KEYS ('a', 'b')",
         "SELECT drug, COUNT(*) FROM visits WHERE points > 3 AND drug IN ('a', 'b') GROUP BY 1"),
    ],
)  # fmt: skip
def test_it_is_the_same_question(analyst, keys, where):
    query = analyst.query(keys)
    assert [type(step) for step in query.sealed.plan.steps] == [MeasurementStep]
    assert query.cost.delta == 0
    first = query.run()
    again = analyst.sql(where)
    assert again.cost.epsilon == 0
    assert [row[0] for row in first] == [row[0] for row in again]
    assert [row[1].value for row in first] == [row[1].value for row in again]


def test_every_listed_group_is_shown_and_no_other(analyst):
    answer = analyst.sql("SELECT drug, COUNT(*) AS n FROM visits GROUP BY drug KEYS ('b', 'nobody', 'b')")
    assert answer["drug"] == ["b", "nobody"]


def test_a_column_goes_before_an_alias(analyst):
    """As in GROUP BY itself: `points` is the column, and its groups are numbers."""
    answer = analyst.sql("SELECT COUNT(*) AS points FROM visits GROUP BY points KEYS (1, 2)")
    assert len(answer) == 2


@pytest.mark.parametrize(
    ("sql", "error", "marked"),
    [
        ("SELECT COUNT(*) FROM visits GROUP BY id KEYS (1, 2)", Hidden, "KEYS (1, 2)"),
        ("SELECT COUNT(*) FROM visits GROUP BY drug, points KEYS ('a')", NotSupported, "KEYS ('a')"),
        ("SELECT COUNT(*) FROM visits GROUP BY drug KEYS (1)", BadType, "KEYS (1)"),
        ("SELECT drug, COUNT(*) FROM visits GROUP BY 5 KEYS (1)", BadName, "5"),
        ("SELECT drug, COUNT(*) FROM visits GROUP BY 2 KEYS (1)", BadType, "KEYS (1)"),
        ("SELECT COUNT(*) FROM visits COST 1 KEYS (1)", NotSupported, "KEYS (1)"),
        ("SELECT drug, COUNT(*) FROM visits GROUP BY drug KEYS ('a', 'b', 'c', 'd')", dpsql.Refused, "drug"),
    ],
)
def test_what_has_no_meaning_is_refused(analyst, sql, error, marked):
    with pytest.raises(error) as caught:
        analyst.query(sql)
    start, end = caught.value.at
    assert sql[start:end] == marked
