"""KEYS (…) is WHERE x IN (…) said after GROUP BY x: the same question, the same numbers, no selection."""

import pandas as pd
import pytest

from dpsql.plan.price import MeasurementStep
from tests.kits.cases import cases
from tests.kits.owners import owner_of


@pytest.fixture
def analyst():
    visits = pd.DataFrame({"id": [n % 50 for n in range(200)], "points": [n % 9 for n in range(200)]})
    declared = {"person": "id", "hidden": ["id"], "types": {"drug": "text"}, "keys": {"drug": "private"}}
    caps = {"bounds": {"points": (0, 8)}, "rows_per_person": 4, "groups_per_person": 2}
    rows = visits.assign(drug=["a" if n % 3 else "b" for n in range(200)])
    nothing_found = {"epsilon": 10, "delta": 0}  # by selection
    owner = owner_of(rows, "visits", **declared, **caps, **nothing_found, cost_per_query=1, max_keys=3)
    return owner.grant("ana", budget=10)


@cases(__file__, "keys", "where")
def test_it_is_the_same_question(analyst, keys, where):
    query = analyst.query(keys)
    assert [type(step) for step in query.sealed.plan.steps] == [MeasurementStep]
    assert query.cost.delta == 0
    first = query.run()
    again = analyst.sql(where)
    assert again.cost.epsilon == 0
    assert [row[0] for row in first] == [row[0] for row in again]
    assert [row[1].value for row in first] == [row[1].value for row in again]


def test_a_column_goes_before_an_alias(analyst):
    """As in GROUP BY itself: `points` is the column, and its groups are numbers."""
    answer = analyst.sql("SELECT COUNT(*) AS points FROM visits GROUP BY points KEYS (1, 2)")
    assert len(answer) == 2


@cases(__file__, "sql", "error=", "marked")
def test_what_has_no_meaning_is_refused(analyst, sql, error, marked):
    with pytest.raises(error) as caught:
        analyst.query(sql)
    start, end = caught.value.at
    assert sql[start:end] == marked
