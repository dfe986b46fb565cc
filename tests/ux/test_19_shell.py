"""Check 19: a command line with history, completion, formats and exit codes.

A system fails where a person at a terminal has to type a name whole or a statement on one line; where what they typed
is gone after they leave; where a program cannot read an answer, or gets remarks mixed into it; or where a script cannot
tell from the exit code what went wrong. It also fails where completion gives away what only the data know.
"""

import csv
import io
import json
import os
import sys
from pathlib import Path

import pytest
from persistent_clinic import made

from dpsql.cli.main import main

sys.path.append(str(Path(__file__).parent.parent / "system"))
from terminal import Terminal

from tests.kits.cases import cases

ASKED = "SELECT city, COUNT(*) AS n FROM patients GROUP BY city"
PROMPT = "ana@clinic>"


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("here") / "clinic"
    folder.mkdir()
    return made(folder)


def at_prompt(text):
    return text.rstrip().endswith(PROMPT)


def at_terminal(policy, **terminal):
    command = [sys.executable, "-m", "dpsql.cli.main", str(policy), "--as", "ana"]
    said = {
        "TERM": "xterm",
        "LC_ALL": "C.UTF-8",
        "XDG_STATE_HOME": str(policy.parent / "state"),
        "PAGER": "",
        **terminal,
    }
    return Terminal(command, lines=40, environment={**os.environ, **said})


def test_a_person_completes_continues_and_finds_what_was_typed(policy):
    with at_terminal(policy) as first:
        first.until(at_prompt)
        first.type("SELECT ci\t, COUNT(*) AS n FR\t pat\t")  # a few letters of each name
        first.until("SELECT city, COUNT(*) AS n FROM patients")
        first.enter("")
        first.until("...>")  # not ended yet, so it goes on
        first.type("WHERE city IN ('Ba\t, 'Be\t) GROUP BY city;")
        first.until("('Basel', 'Bern')")
        first.enter("")
        first.until(lambda text: " ± " in text and "cost 0.05" in text and at_prompt(text))
        first.type("\x04")
        assert first.ended() == 0
    with at_terminal(policy, PYTHONIOENCODING="ascii", LC_ALL="C") as later:  # a terminal that has no symbols
        assert "budget ######" in later.until(at_prompt)
        later.type("\x1b[A")
        later.until("('Basel', 'Bern')")  # typed the last time
        later.type("\x03")
        later.until(at_prompt)
        later.enter(f"{ASKED};")
        assert "plus or minus" in later.until(lambda text: "release #" in text and at_prompt(text))
        later.enter("\\q")
        assert later.ended() == 0
        assert later.seen.isascii()


def told(capsys, *words):
    """The exit code, and what came on each way out."""
    code = main(list(words))
    return code, *capsys.readouterr()


def test_formats_are_clean_for_programs(policy, capsys):
    ask = (str(policy), "--as", "ana", "-c", ASKED, "--format")
    code, out, err = told(capsys, *ask, "csv")
    assert [row["city"] for row in csv.DictReader(io.StringIO(out))] == ["Basel", "Bern"]
    assert (code, "cost" in out, "cost" in err) == (0, False, True)
    found = json.loads(told(capsys, *ask, "json")[1])
    assert {"value", "low", "high", "margin"} <= found["rows"][0]["n"].keys()
    assert len([json.loads(line) for line in told(capsys, *ask, "jsonl")[1].splitlines()]) == 2
    assert told(capsys, *ask, "markdown")[1].startswith("| city | n |")


@cases(__file__, "words=", "code=")
def test_a_script_knows_from_the_exit_code_what_happened(policy, capsys, words, code):
    found, out, err = told(capsys, str(policy), "--as", "ana", *words)
    assert found == code
    assert bool(out) is (code == 0)
    assert ("Fix" in err) is (code != 0)


def test_who_is_not_let_in_and_what_is_not_there_have_codes_of_their_own(policy, capsys, tmp_path):
    assert told(capsys, str(policy), "--as", "nobody", "-c", ASKED)[0] == 6
    assert told(capsys, f"unix:{tmp_path / 'none'}", "-c", ASKED)[0] in (6, 7)
    (tmp_path / "dpsql.toml").write_text("version = 1\n", encoding="utf-8")
    assert told(capsys, str(tmp_path / "dpsql.toml"), "-c", ASKED)[0] == 8
