"""`where` of an error counts from the beginning of the given text, comments and earlier statements included."""

import io
import json
import sys

import pytest

import dpsql
from asked_clinic import COUNT, declared
from dpsql.cli.main import main

WRONG = "SELECT COUNT(*) FROM people WHERE nothing_here > 3"
SEVERAL = f"-- first; no statement\n{COUNT};\n\n/* second */ {WRONG};\n{COUNT}"


@pytest.fixture
def policy(tmp_path):
    return declared(tmp_path)


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
