"""`dpsql cost`, `explain` and `simulate`: one question in other words, and nothing is spent."""

import json

import pytest

import dpsql
from asked_clinic import COUNT, declared
from dpsql.cli.main import main


@pytest.fixture
def policy(tmp_path):
    return declared(tmp_path)


def told(capsys, *words):
    code = main(list(map(str, words)))
    return code, *capsys.readouterr()


def test_the_price_is_told_and_not_paid_also_to_a_machine(policy, capsys):
    code, out, _ = told(capsys, "cost", COUNT, policy)
    assert (code, out.splitlines()[0].split()[:3]) == (0, ["would", "cost", "1"])
    # Laplace noise of scale 2 stays within 2 ln 20 = 5.99 in 95 % of all cases
    assert "COUNT(*) ± 6" in told(capsys, "cost", COUNT, policy, "--epsilon", "0.5")[1]
    with dpsql.connect(policy) as ana:
        assert ana.budget.spent == 0
    assert "refused      the budget does not suffice" in told(capsys, "cost", COUNT, policy, "--epsilon", "3.5")[1]
    _, out, _ = told(capsys, "cost", COUNT, policy, "--format", "json")
    assert {"what": "cost", "value": "1"} in json.loads(out)["rows"]
    assert told(capsys, "cost", "SELECT id FROM people", policy)[0] == 4


@pytest.mark.parametrize(
    ("command", "words"),
    [("cost", "DRY RUN"), ("cost", "dry  run"), ("explain", "EXPLAIN PRIVACY"), ("simulate", "SIMULATE")],
)
def test_a_question_may_say_what_the_command_says(policy, capsys, command, words):
    """As the proposal of an error does, which is copied from the terminal."""
    plain = told(capsys, command, COUNT, policy)
    assert plain[0] == 0
    assert told(capsys, command, f"{words} {COUNT}; {words} {COUNT}", policy)[0] == 0
    said = told(capsys, command, f" {words} {COUNT}", policy)
    assert said[0] == 0
    if command != "simulate":  # whose numbers are random
        assert said == plain


def test_an_explanation_in_words_and_for_programs(policy, capsys):
    code, out, _ = told(capsys, "explain", f"EXPLAIN PRIVACY (FORMAT JSON) {COUNT}", policy)
    assert code == 0
    assert out == told(capsys, "explain", COUNT, policy, "--format", "json")[1]
    code, out, _ = told(capsys, "explain", f"EXPLAIN PRIVACY DIFF {COUNT}; {COUNT} WHERE id < 5", policy)
    assert code == 0
    assert out.startswith("--- first\n+++ second\n")
    code, out, err = told(capsys, "explain", COUNT, policy, "--format", "json")
    assert (code, err) == (0, "")
    assert "derivation" in json.loads(out)
    code, out, err = told(capsys, "explain", "SELECT id FROM people", policy, "--format", "json")
    assert (code, out, json.loads(err)["code"]) == (4, "", "DP101")


def test_a_simulation_is_the_statement_simulate(policy, capsys, monkeypatch):
    asked = []
    real = dpsql.Analyst.sql
    monkeypatch.setattr(
        dpsql.Analyst, "sql", lambda analyst, sql, **_: asked.append(sql) or real(analyst, "SHOW dp.epsilon")
    )
    assert told(capsys, "simulate", COUNT, policy)[0] == 0
    assert asked == [f"SIMULATE {COUNT}"]
