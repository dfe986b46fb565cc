"""A cost at which no noise can be drawn is refused while planning, in words of the question."""

import re

import duckdb
import pytest

import dpsql
from dpsql.errors import BadParameter

POLICY = """version = 1
[source]
url = "duckdb://clinic.duckdb"
[promise]
epsilon = 1000000
delta = 1e-6
[defaults]
selection_share = 0.25
delta_per_query = 1e-9
noise = "gaussian"
max_keys = 100
cost_per_query = 1
[table.t]
person = "id"
rows_per_person = 1
groups_per_person = 3
columns.ward = { keys = "private" }
columns.v = { bounds = [0, 100] }
[[grant]]
to = "ana"
budget = 1000000
"""


@pytest.fixture
def analyst(tmp_path):
    with duckdb.connect(tmp_path / "clinic.duckdb") as data:
        data.execute("CREATE TABLE t AS SELECT i AS id, 'w' || (i % 5) AS ward, i % 100 AS v FROM range(1000) r(i)")
    (tmp_path / "dpsql.toml").write_text(POLICY)
    with dpsql.open(tmp_path / "dpsql.toml") as owner:
        yield owner.analyst("ana")


@pytest.mark.parametrize("sql", ["SELECT ward, COUNT(*) FROM t GROUP BY ward", "SELECT ward FROM t GROUP BY ward"])
@pytest.mark.parametrize("use", ["cost", "explain", "sql"])
def test_a_cost_out_of_reach_is_refused_in_words_of_the_question(analyst, sql, use):
    with pytest.raises(BadParameter) as caught:
        getattr(analyst, use)(f"{sql} COST 12000")
    assert "COST 12000" in caught.value.what
    assert "sigma" not in str(caught.value)
    assert analyst.budget.spent == 0
    nearest = re.search(r"and ([\d.e+]+)$", caught.value.fix)[1]
    assert float(analyst.cost(f"{sql} COST {nearest}")) == pytest.approx(float(nearest))
