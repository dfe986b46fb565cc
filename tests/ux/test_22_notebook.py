"""Check 22: "Restart & run all" of a notebook spends nothing new; magics; pandas, polars and Arrow out of an answer.

A system fails where the second run, in a new kernel, leaves another sum in the ledger or other numbers in the cells;
where the magic cannot be loaded; where an answer has no way into a data frame; or where a refused cell does not stop
the run.
"""

from ast import literal_eval

import duckdb
import pytest
from running_notebooks import outputs, run_all, written

import dpsql

POLICY = """
version = 1
source.url = "duckdb://clinic.duckdb"
promise = { epsilon = 5, delta = 1e-6 }
defaults = { cost_per_query = 0.5, max_keys = 10 }
grant = [{ to = "ana", budget = 2 }]
[table.patients]
person = "id"
unique = true
columns = { city = { keys = ["Basel", "Bern"] }, flu = {}, id = { hidden = true } }
"""
CELLS = [
    "%load_ext dpsql\n%dpsql dpsql.toml",
    "%%sql flu << --within 20\nSELECT city, COUNT(*) AS n FROM patients WHERE flu GROUP BY city",
    "flu",
    "%sql SELECT COUNT(*) AS n FROM patients",
    "%sqlcost SELECT COUNT(*) FROM patients WHERE flu",
    "[cell.value for cell in flu['n']]",
    "%budget",
]
FRAMES = ["[flu.df()['n'].tolist(), flu.pl()['n'].to_list(), flu.arrow()['n'].to_pylist()]"]
REFUSED = ["%sql SELECT * FROM patients", "%sql SELECT COUNT(*) FROM patients COST 1"]
INTO, TABLE, VALUES, BUDGET = 1, 2, 5, 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    with duckdb.connect(str(folder / "clinic.duckdb")) as database:
        cities = "CASE WHEN range % 2 = 0 THEN 'Basel' ELSE 'Bern' END"
        database.execute(
            f"CREATE TABLE patients AS SELECT range AS id, {cities} AS city, range % 4 = 0 AS flu FROM range(2000)"
        )
    (folder / "dpsql.toml").write_text(POLICY)
    return folder


@pytest.fixture(scope="module")
def runs(folder):
    """What the cells of two runs show; the first ends with data frames, the second with a question that is refused."""
    notebooks = [
        written(folder / "first.ipynb", [*CELLS, *FRAMES]),
        written(folder / "second.ipynb", [*CELLS, *REFUSED]),
    ]
    run_all(*notebooks)
    return [outputs(notebook) for notebook in notebooks]


def plain(cell):
    return cell[0]["data"]["text/plain"]


def test_the_second_run_spends_nothing(runs, folder):
    first, second = runs
    with dpsql.connect(folder / "dpsql.toml", user="ana") as ana:
        assert len(ana.sql("SELECT number FROM dp.ledger")) == 2  # the two questions of the notebook
        assert plain(first[BUDGET]) == plain(second[BUDGET]) == repr(ana.budget)
        assert 0 < ana.budget.spent < 2


def test_both_runs_tell_the_same_numbers(runs):
    first, second = runs
    assert plain(first[VALUES]) == plain(second[VALUES])
    assert plain(first[TABLE]).splitlines()[:6] == plain(second[TABLE]).splitlines()[:6]


def test_the_numbers_go_into_pandas_polars_and_arrow(runs):
    first, _ = runs
    values = literal_eval(plain(first[VALUES]))
    assert len(values) == 2
    assert literal_eval(plain(first[-1])) == [values] * 3


def test_an_answer_is_a_table_with_margins_and_its_price_is_told(runs):
    first, second = runs
    html = first[TABLE][0]["data"]["text/html"]
    assert "Basel" in html
    assert "±" in html
    assert "cost 0." in plain(first[INTO])
    assert "cost 0.00" not in plain(first[INTO])
    assert "cost 0.00" in plain(second[INTO])


def test_a_refused_cell_teaches_and_stops_the_run(runs):
    *_, refused, after = runs[1]
    (error,) = [output for output in refused if output["output_type"] == "error"]
    text = "\n".join(error["traceback"])
    assert "DP101" in text
    assert "Fix" in text
    assert "Traceback" not in text
    assert ".py" not in text
    assert after == []
