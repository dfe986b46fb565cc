"""`dpsql cost`, `explain` and `simulate`: one question in other words, and nothing is spent."""

import io
import json
import sys

import pytest

import dpsql
from asked_clinic import COUNT
from dpsql.cli.main import main
from tests.kits.cases import cases


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


@pytest.mark.parametrize("words", ["", "DRY RUN"])
def test_a_hint_in_front_is_read(policy, capsys, words):
    _, out, _ = told(capsys, "cost", f"{COUNT}; /*+ dp(epsilon=0.5) */ {words} {COUNT}", policy)
    assert [line.split()[2] for line in out.splitlines() if line.startswith("would cost")] == ["1", "0.5"]


@cases(__file__, "command", "words")
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
    code, out, _ = told(capsys, "explain", f"EXPLAIN PRIVACY (FORMAT /* for programs */ JSON) {COUNT}", policy)
    assert (code, json.loads(out)["version"]) == (0, 1)
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


# `where` of an error counts from the beginning of the given text, comments and earlier statements included.

WRONG = "SELECT COUNT(*) FROM people WHERE nothing_here > 3"
SEVERAL = f"-- first; no statement\n{COUNT};\n\n/* second */ {WRONG};\n{COUNT}"


def marked(capsys, text, *words):
    """What `where` marks in the text that was given."""
    assert main([*map(str, words), "--format", "json"]) == 3
    error = json.loads(capsys.readouterr().err.splitlines()[-1])
    return text[slice(*error["where"])]


@pytest.mark.parametrize("text", [f"-- why\n{WRONG}", f"/* why */ {WRONG}", SEVERAL])
def test_in_a_question_a_file_and_standard_input(policy, capsys, monkeypatch, tmp_path, text):
    assert marked(capsys, text, policy, "-c", text) == "nothing_here"
    (tmp_path / "some.sql").write_text(text)
    assert marked(capsys, text, policy, "-f", tmp_path / "some.sql") == "nothing_here"
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    assert marked(capsys, text, policy, "-f", "-") == "nothing_here"


@pytest.mark.parametrize(
    ("command", "words"), [("cost", "DRY RUN"), ("explain", "EXPLAIN PRIVACY"), ("simulate", "SIMULATE")]
)
def test_in_a_command_that_puts_its_own_words_before_the_question(policy, capsys, command, words):
    for text in (WRONG, f"-- why\n{WRONG}", f"{words} {WRONG}", f"{COUNT}; {words} {WRONG}"):
        assert marked(capsys, text, command, text, policy) == "nothing_here"


def test_a_proposal_has_none_of_the_words_that_a_command_adds(policy, capsys):
    assert main(["cost", "SELECT COUNT(*) FROM peple", str(policy)]) == 3
    assert "  Try   SELECT COUNT(*) FROM people\n" in capsys.readouterr().err


def test_in_the_files_of_a_plan(policy, capsys, tmp_path):
    (tmp_path / "some.sql").write_text(SEVERAL)
    assert main(["plan", str(tmp_path / "some.sql"), "--policy", str(policy), "--format", "jsonl"]) == 0
    refused = [json.loads(line)["error"] for line in capsys.readouterr().out.splitlines()]
    assert [error and SEVERAL[slice(*error["where"])] for error in refused] == [None, "nothing_here", None]


@pytest.mark.parametrize("text", [f"-- why\n{WRONG}", f"/* a; */ EXPLAIN PRIVACY DIFF {COUNT}; -- and\n{WRONG}"])
def test_in_python(policy, text):
    with dpsql.connect(policy) as ana, pytest.raises(dpsql.DpsqlError) as caught:
        ana.sql(text)
    assert text[slice(*caught.value.at)] == "nothing_here"
    assert caught.value.sql == text
    line, carets = str(caught.value).splitlines()[1:3]
    assert line[carets.index("^") : carets.rindex("^") + 1] == "nothing_here"
