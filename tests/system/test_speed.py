"""How much work a question is, counted in calls and in modules: times depend on the machine, these do not.

A test fails where planning grows faster than the question, or where a plain question loads what only others need.
`bench/start_up.py` measures the times.
"""

import subprocess
import sys

import pytest

from counted_calls import growth
from dpsql.demonstration import hospital

FORMS = {
    "case": "SUM(CASE WHEN charge > {i} THEN charge ELSE 0 END)",
    "filter": "SUM(charge) FILTER (WHERE charge > {i})",
    "expression": "SUM(charge + {i})",
    "average": "AVG(charge * {i})",
    "count": "COUNT(*) FILTER (WHERE charge > {i})",
}
NEEDLESS = """
dpsql.charts.figure dpsql.charts.picture dpsql.plan.explain dpsql.session.batch dpsql.session.describing
dpsql.session.keeper dpsql.session.plotting dpsql.session.suggesting dpsql.ledger.backup dpsql.ledger.postgres
dpsql.ledger.sqlite dpsql.sql.other_dialects dpsql.suggest pyarrow pandas
"""
COMMAND = """
import sys
from dpsql.cli.main import main
assert main(["demo", "-c", "SELECT COUNT(*) AS n FROM patients"]) == 0
print(*sorted(set(sys.argv[1:]) & sys.modules.keys()), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def ana():
    with hospital.demo() as analyst:
        yield analyst


@pytest.mark.parametrize("form", FORMS)
def test_planning_is_linear_in_the_aggregates(ana, form):
    def planned(number):
        items = ", ".join(f"{FORMS[form].format(i=i)} AS s{i}" for i in range(1, number + 1))
        ana.cost(f"SELECT {items} FROM visits")

    assert growth(planned, 25) <= 2.02


def test_planning_is_linear_in_the_values_of_a_list_of_which_ten_thousand_are_read(ana):
    def planned(number):
        values = ", ".join(map(str, range(number)))
        ana.cost(f"SELECT COUNT(*) AS n FROM visits WHERE charge IN ({values})")

    assert growth(planned, 500) <= 2.02
    values = ", ".join(map(str, range(10_000)))
    assert ana.cost(f"SELECT COUNT(*) AS n FROM visits WHERE charge IN ({values})") > 0


def test_a_question_loads_only_what_it_needs():
    ran = subprocess.run(
        [sys.executable, "-c", COMMAND, *NEEDLESS.split()], check=True, capture_output=True, text=True, encoding="utf-8"
    )
    assert ran.stderr.splitlines()[-1] == ""


def test_a_client_loads_no_way_to_ledger_or_data():
    code = "import sys, dpsql.serve.client; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, encoding="utf-8")
    assert [name for name in done.stdout.split() if name.startswith(("dpsql.ledger", "dpsql.engines", "duckdb"))] == []
