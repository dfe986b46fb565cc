"""Check 5: the budget is a stop; it survives a restart, and processes share it.

A system fails where a question that the grant cannot pay is answered; where a new process begins with a new budget;
where two processes that ask at the same time are told more than one grant pays for; or where a refusal costs something.
"""

import json
import subprocess
import sys

import pytest
from persistent_clinic import QUESTIONS, question

import dpsql

ASKING = """
import json, sys
import dpsql
with dpsql.connect(sys.argv[1], user="ana") as ana:
    print("ready", flush=True)
    sys.stdin.readline()
    told = {}
    for sql in sys.argv[2:]:
        try:
            told[sql] = [cell.value for (cell,) in ana.sql(sql)]
        except dpsql.DpsqlError as error:
            told[sql] = error.code
print(json.dumps(told))
"""
EACH = 8


@pytest.fixture(scope="module")
def told(policy):
    """What two processes are told that ask at the same time, together for more than the grant pays."""
    asked = [[question(number) for number in range(first, first + EACH)] for first in (1, 1 + EACH)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", ASKING, str(policy), *questions],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for questions in asked
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    found = [json.loads(process.communicate(timeout=120)[0]) for process in processes]
    return found[0] | found[1]


def test_two_processes_are_told_what_one_grant_pays_for(told):
    answered = [sql for sql, said in told.items() if isinstance(said, list)]
    assert len(told) == 2 * EACH
    assert len(answered) == QUESTIONS
    assert {said for said in told.values() if not isinstance(said, list)} == {"DP201"}


def test_after_a_restart_the_budget_is_as_empty_as_before(told, policy):
    with dpsql.connect(policy, user="ana") as ana:
        assert (ana.budget.left, ana.budget.spent, ana.budget.total) == (0, ana.budget.total, ana.budget.total)
        for _ in range(2):
            with pytest.raises(dpsql.BudgetExhausted) as stopped:
                ana.sql(question(99))
        assert "Fix" in str(stopped.value)
        assert ana.budget.left == 0


def test_what_was_paid_for_stays_free(told, policy):
    with dpsql.connect(policy, user="ana") as ana:
        for sql, said in told.items():
            if isinstance(said, list):
                assert [cell.value for (cell,) in ana.sql(sql)] == said


def test_the_grant_of_somebody_else_is_their_own(told, policy):
    with dpsql.connect(policy, user="ben") as ben:
        assert ben.budget.spent == 0
        assert ben.sql(question(99)).cost.epsilon > 0
