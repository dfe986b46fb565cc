"""How much work a question is, counted in calls and in modules: times depend on the machine, these do not.

A test fails where planning grows faster than the question, or where a plain question loads what only others need.
`bench/start_up.py` measures the times.
"""

import subprocess
import sys
from collections.abc import Callable

import pytest

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


def calls(work: Callable[[], object]) -> int:
    """How many calls of functions `work` makes."""
    count = 0

    def counted(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def is_linear(few: int, some: int, many: int) -> bool:
    """Of sizes n, 2n and 4n: the second step costs twice the first, within a hundredth."""
    return many - some <= 2.02 * (some - few)


@pytest.mark.parametrize("form", FORMS)
def test_planning_is_linear_in_the_aggregates(ana, form):
    def planned(number):
        items = ", ".join(f"{FORMS[form].format(i=i)} AS s{i}" for i in range(1, number + 1))
        return calls(lambda: ana.cost(f"SELECT {items} FROM visits"))

    planned(25)
    assert is_linear(planned(25), planned(50), planned(100))


def test_planning_is_linear_in_the_values_of_a_list_of_which_ten_thousand_are_read(ana):
    def planned(number):
        values = ", ".join(map(str, range(number)))
        return calls(lambda: ana.cost(f"SELECT COUNT(*) AS n FROM visits WHERE charge IN ({values})"))

    planned(500)
    assert is_linear(planned(500), planned(1000), planned(2000))
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
