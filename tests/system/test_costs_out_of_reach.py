"""A cost at which no noise can be drawn is refused while planning, in words of the question."""

import re

import duckdb
import pytest

import dpsql
from dpsql.errors import BadParameter

POLICY = """version = 1
source.url = "duckdb://clinic.duckdb"
promise = { epsilon = 1000000, delta = 1e-6 }
defaults = { selection_share = 0.25, delta_per_query = 1e-9, noise = "gaussian", max_keys = 100, cost_per_query = 1 }
grant = [{ to = "ana", budget = 1000000 }]
[table.t]
person = "id"
rows_per_person = 1
groups_per_person = 3
columns.ward = { keys = "private" }
columns.v = { bounds = [0, 100] }
"""


@pytest.fixture(params=["gaussian"])
def analyst(request, tmp_path):
    with duckdb.connect(tmp_path / "clinic.duckdb") as data:
        data.execute("CREATE TABLE t AS SELECT i AS id, 'w' || (i % 5) AS ward, i % 100 AS v FROM range(1000) r(i)")
    (tmp_path / "dpsql.toml").write_text(POLICY.replace('"gaussian"', f'"{request.param}"'))
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


QUESTIONS = (
    "SELECT COUNT(*) FROM t", "SELECT AVG(v), VAR_POP(v) FROM t", "SELECT COUNT(DISTINCT v) FROM t",
    "SELECT ward, COUNT(*) FROM t GROUP BY ward", "SELECT ward FROM t GROUP BY ward",
    "SELECT ward, COUNT(DISTINCT id) FROM t GROUP BY ward", "SELECT ward, AVG(v) FROM t GROUP BY ward",
)  # fmt: skip


@pytest.mark.parametrize("analyst", ["gaussian", "laplace"], indirect=True)
@pytest.mark.parametrize("cost", ["1e-12", "1e-9", "0.001", "1", "1000", "100000", "1e7", "1e9"])
def test_what_has_a_price_has_an_answer(analyst, cost):
    """At costs of every size a question is refused while planning, in its own words, or answered."""
    for sql in QUESTIONS:
        refused = refusal(analyst, f"{sql} COST {cost}")
        if refused is None:
            assert analyst.sql(f"{sql} COST {cost}").columns
        else:
            assert re.search(r"at COST [\d.e+-]+$", refused.what)
            assert "epsilon" not in refused.what


def refusal(analyst, sql):
    try:
        analyst.cost(sql)
    except BadParameter as error:
        return error
    return None
