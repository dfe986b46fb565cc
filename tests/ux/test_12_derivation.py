"""Check 12: EXPLAIN PRIVACY shows, before anything is asked, how an answer is protected: rules, scales, in words.

A system fails where an auditor cannot read from it who is protected, how far one person moves each number, which noise
of which scale hides that, which proven rule says so, what it costs and what is assumed; where the numbers in it do not
follow from each other; or where it speaks of another plan than the one that runs.
"""

import json
import math
import re
from fractions import Fraction
from pathlib import Path

import pytest
from persistent_clinic import made, question

import dpsql

DOCS = Path(__file__).parents[2] / "docs"
QUESTION = "SELECT city, COUNT(*) AS n, AVG(age) AS age FROM patients GROUP BY city"


@pytest.fixture(scope="module")
def ana(policy):
    with dpsql.connect(policy, user="ana") as ana:
        yield ana


@pytest.fixture(scope="module")
def text(ana):
    return str(ana.sql(f"EXPLAIN PRIVACY {QUESTION}"))


@pytest.fixture(scope="module")
def tree(ana):
    return json.loads(str(ana.sql(f"EXPLAIN PRIVACY (FORMAT JSON) {QUESTION}")))


def test_it_says_who_is_protected_and_what_a_guess_becomes(text):
    """C018"""
    assert "one patient" in text
    assert re.search(r"a 50–50 guess about any one patient becomes at most 51\.25 %", text)  # 1 / (1 + e^-0.05)
    assert round(100 / (1 + math.exp(-0.05)), 2) == 51.25


def test_it_has_a_tree_with_sensitivity_noise_and_scale_of_each_number(text):
    derivation = text.partition("DERIVATION")[2].partition("EXPECTED")[0]
    assert derivation.count("sensitivity") >= 3  # rows, values and their sum
    assert len(re.findall(r"discrete Laplace noise of scale", derivation)) >= 3
    assert "2 public groups" in derivation
    assert "scan patients" in derivation


def test_every_step_names_a_rule_and_every_rule_a_proof(text):
    rules = set(re.findall(r"\b[TM]\d+\b", text.partition("PROOFS")[0]))
    parts = re.split(r"\b([TM]\d+) ", text.partition("PROOFS")[2])[1:]
    proven = {
        rule: re.findall(r"docs/(theorems/\w+\.md)", said) for rule, said in zip(parts[::2], parts[1::2], strict=True)
    }
    assert rules
    assert rules <= set(proven)
    assert all(pages and (DOCS / pages[0]).exists() for pages in proven.values())


def test_it_says_price_assumptions_and_what_is_not_covered(text):
    for words in ("COST", "0.05 of 0.5 left in your grant", "ASSUMES", "age within 0 and 110", "NOT COVERED"):
        assert words in text
    assert "Nothing was spent, no data was read." in text


def test_its_numbers_follow_from_each_other(tree):
    """Each Laplace number of sensitivity l1 and scale b costs l1/b, and they add up; the margin is where 5 % is left:
    2 r^(m+1) / (1 + r) with r = e^(-1/b)."""
    slots = tree["steps"][0]["slots"]
    price = sum(Fraction(slot["l1"]) / Fraction(slot["noise"]["scale"]) for slot in slots)
    assert price == Fraction(tree["price"]["epsilon"]) == Fraction("0.05")
    (margin,) = [int(column["margin"]) for column in tree["expected"] if column["name"] == "n"]
    r = math.exp(-1 / float(slots[0]["noise"]["scale"]))
    beyond = [2 * r ** (m + 1) / (1 + r) for m in (margin - 1, margin)]
    assert beyond[1] <= 0.05 < beyond[0]


def test_it_is_the_plan_that_runs(ana, tree):
    assert ana.budget.spent == 0  # up to here nothing was asked
    answer = ana.sql(QUESTION)
    assert answer.cost.epsilon == Fraction(tree["price"]["epsilon"]) == ana.budget.spent
    (margin,) = [int(column["margin"]) for column in tree["expected"] if column["name"] == "n"]
    assert {cell.margin for cell in answer["n"]} == {margin}


def test_it_is_the_same_whatever_the_data_hold(ana, tmp_path):
    """Also of a clinic where nobody is."""
    import duckdb

    policy = made(tmp_path)
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as database:
        database.execute("DELETE FROM patients")
    with dpsql.connect(policy, user="ana") as other:
        assert (
            str(other.sql(f"EXPLAIN PRIVACY {question(7)}")).partition("COST")[0]
            == (str(ana.sql(f"EXPLAIN PRIVACY {question(7)}")).partition("COST")[0])
        )
