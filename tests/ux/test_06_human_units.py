"""Check 6: what is left is told in questions, not in ε alone.

A system fails where it says no number of questions; where the number is not how many can really be asked; or where it
does not fall as they are asked.
"""

import re

import pytest
from persistent_clinic import QUESTIONS, question

import dpsql

ABOUT = re.compile(r"about (\d+) more quer")


def more(said: object) -> int:
    (found,) = ABOUT.findall(str(said))
    return int(found)


def test_the_number_is_how_many_can_be_asked(policy):
    with dpsql.connect(policy, user="ana") as ana:
        assert more(ana.budget) == QUESTIONS
        for number in range(3):
            ana.sql(question(number))
        left = more(ana.budget)
        assert left == QUESTIONS - 3
        for number in range(left):
            ana.sql(question(10 + number))
        assert more(ana.budget) == 0
        with pytest.raises(dpsql.BudgetExhausted):
            ana.sql(question(99))


def test_a_dear_question_counts_for_several(policy):
    with dpsql.connect(policy, user="ben") as ben:
        ben.sql(f"{question(1)} COST 0.1")
        assert more(ben.budget) == 4  # 0.4 is left, at 0.1 each


def test_it_is_told_in_sql_and_by_the_command_line_too(policy, command):
    with dpsql.connect(policy, user="ben") as ben:
        ((number, note),) = ben.sql("SELECT queries_remaining, note FROM dp.budget")
        assert number == more(note) == more(ben.budget)
    asked = ["-c", "SELECT queries_remaining FROM dp.budget", "--as", "ben", "--format", "csv", "--quiet"]
    assert command([str(policy), *asked]).out.split() == ["queries_remaining", str(number)]
