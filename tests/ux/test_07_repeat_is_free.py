"""Check 7: the same question costs nothing the second time, and gives the same numbers.

A system fails where a repeat is charged, or draws new noise: then a dashboard eats its budget, and an attacker averages
the noise away. Also where the way it is written, another order of rows or a restart makes it another question.
"""

import pytest

import dpsql

QUESTION = "SELECT city, COUNT(*) AS n FROM patients WHERE flu GROUP BY city"
WRITTEN_OTHERWISE = [
    QUESTION,
    "select city, count(*) as n from patients where flu group by city;",
    "SELECT  city,\n  COUNT(*) AS n -- sick\nFROM patients\nWHERE flu\nGROUP BY city",
    "SELECT p.city, COUNT(*) AS n FROM patients AS p WHERE p.flu GROUP BY p.city",
    "SELECT city, COUNT(*) AS n FROM patients WHERE flu GROUP BY city ORDER BY n DESC",
    "SELECT city, COUNT(*) * 1 AS n FROM patients WHERE flu GROUP BY city HAVING COUNT(*) > -1000",
]


@pytest.fixture(scope="module")
def first(policy):
    with dpsql.connect(policy, user="ana") as ana:
        return told(ana.sql(QUESTION)), ana.budget.spent


def told(answer):
    return {city: n.value for city, n in answer}


@pytest.mark.parametrize("sql", WRITTEN_OTHERWISE)
def test_written_in_another_way_it_is_the_same_question(first, policy, sql):
    with dpsql.connect(policy, user="ana") as ana:  # each time a restart
        assert ana.cost(sql) == 0  # and that is known before
        answer = ana.sql(sql)
        assert (told(answer), answer.cost.epsilon, ana.budget.spent) == (first[0], 0, first[1])


def test_many_repeats_are_one_number(first, policy):
    with dpsql.connect(policy, user="ana") as ana:
        numbers = {tuple(told(ana.sql(QUESTION)).values()) for _ in range(25)}
        assert numbers == {tuple(first[0].values())}
        assert ana.budget.spent == first[1]


def test_it_is_said_that_it_was_free(first, policy, command):
    shown = command([str(policy), "-c", QUESTION, "--as", "ana"])
    assert "cost 0.00" in shown.out + shown.err


def test_new_noise_is_bought_by_those_alone_who_ask_for_it(first, policy):
    with dpsql.connect(policy, user="ana") as ana:
        answer = ana.sql(QUESTION.replace("SELECT", "SELECT /*+ dp(fresh) */"))
        assert answer.cost.epsilon > 0
        assert ana.budget.spent > first[1]
