"""EXPLAIN PRIVACY and DRY RUN: whole, free, and told as text."""

import json

import pandas as pd
import pytest

from tests.kits.owners import owner_of

SQL = "SELECT year, AVG(age), STDDEV(age), SUM(age), COUNT(*) FROM people GROUP BY year"


@pytest.fixture
def analyst():
    rows = pd.DataFrame({"who": range(40), "year": [2023, 12024] * 20, "age": 30})
    words = {"person": "who", "unique": True, "keys": {"year": [2023, 12024]}, "bounds": {"age": (0, 99)}}
    return owner_of(rows, **words, epsilon=10, delta=1e-6, cost_per_query=1, max_keys=100).grant("ana", budget=10)


def test_an_explanation_is_shown_whole(analyst):
    answer = analyst.sql(f"EXPLAIN PRIVACY {SQL}")
    assert str(answer) == analyst.explain(SQL).text().rstrip("\n")
    assert "more rows" not in str(answer)
    assert answer._repr_html_().startswith("<pre>")
    assert analyst.budget.spent == 0


def test_json_is_json_on_the_screen(analyst):
    asked = f"EXPLAIN PRIVACY (FORMAT JSON) {SQL}"
    answer = analyst.sql(asked)
    assert (
        json.loads(str(answer)) == json.loads(answer.rows[0][0]) == {**analyst.explain(SQL).as_json(), "query": asked}
    )


def test_a_year_is_no_amount(analyst):
    text = str(analyst.sql(SQL))
    assert " 2023 " in text
    assert " 12024 " in text
    assert "2\u2009023" not in analyst.explain(SQL).text()


def test_a_dry_run_says_whether_it_would_be_free(analyst):
    before = dict(analyst.sql(f"DRY RUN {SQL}").rows)
    assert (before["cost"], before["allowed"], before["already stored"]) == ("1", "yes", "no")
    analyst.sql(SQL)
    after = dict(analyst.sql(f"DRY RUN {SQL}").rows)
    assert (after["cost"], after["allowed"], after["already stored"]) == ("0", "yes", "yes")
