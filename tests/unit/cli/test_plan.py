"""`dpsql plan`: one JSON object per statement, from names and types alone. `dpsql cost`, `explain` and `simulate`: one
question in other words, and nothing is spent."""

import io
import json
import subprocess
import sys

import duckdb
import pytest

import dpsql
from asked_clinic import COUNT
from dpsql.cli.main import main
from tests.kits.cases import cases

POLICY = """
version = 1
source.url = "duckdb://{file}"
promise = {{ epsilon = 3, delta = 1e-6 }}
[defaults]
cost_per_query = 0.1
selection_share = 0.25
delta_per_query = 1e-9
max_keys = 1000
noise = "laplace"
[table.visits]
person = "patient_id"
rows_per_person = 4
groups_per_person = 2
columns.patient_id = {{ hidden = true }}
columns.charge = {{ bounds = [0, 100] }}
columns.diagnosis = {{ keys = "private" }}
[table.wards]
public = true
columns.name = {{}}
"""

SQL = """
-- what a count costs; not two statements
SELECT COUNT(*) AS n FROM visits;
SELECT patient_id FROM visits;
SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis;;
SELECT name FROM wards
"""
KEYS = {"file", "index", "verdict", "code", "cost", "delta", "margins", "error"}


@pytest.fixture
def folder(tmp_path):
    with duckdb.connect(str(tmp_path / "data.duckdb")) as connection:
        connection.execute("CREATE TABLE visits (patient_id BIGINT, charge DOUBLE, diagnosis VARCHAR)")
        connection.execute("CREATE TABLE wards (name VARCHAR)")
    (tmp_path / "dpsql.toml").write_text(POLICY.format(file=tmp_path / "data.duckdb"), encoding="utf-8")
    (tmp_path / "questions.sql").write_text(SQL, encoding="utf-8")
    return tmp_path


def planned(folder, capsys, *files):
    code = main(["plan", *map(str, files), "--policy", str(folder / "dpsql.toml")])
    out = capsys.readouterr().out
    return code, [json.loads(line) for line in out.splitlines()]


def test_one_object_per_statement(folder, capsys):
    code, found = planned(folder, capsys, folder / "questions.sql")
    assert code == 0
    assert all(set(each) == KEYS for each in found)
    assert [each["index"] for each in found] == [0, 1, 2, 3]
    assert [each["verdict"] for each in found] == ["accepted", "refused", "accepted", "accepted"]
    assert {each["file"] for each in found} == {str(folder / "questions.sql")}
    count, rows, groups, public = found
    assert (count["cost"], count["delta"], count["code"], count["error"]) == (0.1, 0, None, None)
    assert set(count["margins"]) == {"n"}
    # Laplace noise of scale 4/0.1 stays within 40 ln 20 = 119.8 in 95 % of all cases; an integer margin reaches it.
    assert 119 <= count["margins"]["n"] <= 121
    assert (rows["code"], rows["cost"], rows["margins"]) == ("DP101", None, {})
    assert set(rows["error"]) == {"code", "title", "where", "why", "fix", "try", "docs"}
    assert groups["delta"] == pytest.approx(1e-9)
    assert (public["cost"], public["margins"]) == (0, {})


def test_text_that_cannot_be_read_is_one_refused_object_and_an_empty_file_none(folder, capsys):
    (folder / "broken.sql").write_text("SELECT COUNT(*) FROM visits; SELECT 'never ends; SELECT 1", encoding="utf-8")
    _, found = planned(folder, capsys, folder / "broken.sql")
    assert [(each["index"], each["verdict"], each["code"]) for each in found] == [(0, "refused", "DP100")]
    (folder / "empty.sql").write_text(" ; -- nothing\n;", encoding="utf-8")
    assert planned(folder, capsys, folder / "empty.sql") == (0, [])
    (folder / "more.sql").write_text("SELECT SUM(charge) FROM visits", encoding="utf-8")
    _, found = planned(folder, capsys, folder / "more.sql", folder / "questions.sql")
    assert [each["index"] for each in found] == [0, 0, 1, 2, 3]


def test_bytes_that_are_no_text_are_refused_as_they_are_when_asked(folder, command):
    """Other letters in their place would be another question."""
    (folder / "bytes.sql").write_bytes('SELECT COUNT(*) AS "Zürich" FROM visits'.encode("latin-1"))
    found = command(["plan", str(folder / "bytes.sql"), "--policy", str(folder / "dpsql.toml")], 2)
    assert found.out == ""
    assert "bytes.sql is not UTF-8 text" in found.err


def test_rows_change_nothing_and_no_ledger_is_made(folder, capsys):
    before = sorted(path.name for path in folder.iterdir())
    planned(folder, capsys, folder / "questions.sql")
    assert sorted(path.name for path in folder.iterdir()) == before
    _, before = planned(folder, capsys, folder / "questions.sql")
    with duckdb.connect(str(folder / "data.duckdb")) as connection:
        connection.execute("INSERT INTO visits SELECT range, 50, 'flu' FROM range(1000)")
    _, after = planned(folder, capsys, folder / "questions.sql")
    assert before == after


def test_what_is_not_there_ends_with_its_code(folder, command):
    shown = command(["plan", str(folder / "none.sql"), "--policy", str(folder / "dpsql.toml")], 2)
    assert shown.out == ""
    assert "none.sql cannot be read" in shown.err
    assert "DP5" in command(["plan", str(folder / "questions.sql"), "--policy", str(folder / "none.toml")], 8).err
    (folder / "data.duckdb").unlink()
    assert "DP602" in command(["plan", str(folder / "questions.sql"), "--policy", str(folder / "dpsql.toml")], 7).err


def test_no_name_in_an_error_steers_the_terminal(folder, command):
    assert main(["plan", str(folder / "no\x1b[31m.sql"), "--policy", str(folder / "dpsql.toml")]) == 2
    (folder / "dpsql.toml").write_text('"un\\u001b[31mheard" = 1\n' + POLICY, encoding="utf-8")
    shown = command(["plan", "x.sql", "--policy", str(folder / "dpsql.toml")], 8)
    assert "\x1b" not in shown.err
    assert "no\\x1b[31m.sql cannot be read" in shown.err


@pytest.mark.parametrize("text", ["not toml", "", "[source]\nurl = 'duckdb:///none.duckdb'\n"])
def test_a_wrong_policy(folder, command, text):
    (folder / "dpsql.toml").write_text(text, encoding="utf-8")
    shown = command(["plan", str(folder / "questions.sql"), "--policy", str(folder / "dpsql.toml")], 8)
    assert shown.out == ""
    assert "DP501" in shown.err


def test_as_a_command_with_standard_input(folder):
    done = subprocess.run(
        [sys.executable, "-m", "dpsql.cli.main", "plan", "-", "--policy", str(folder / "dpsql.toml")],
        input="SELECT COUNT(*) FROM visits; SELECT * FROM visits",
        capture_output=True,
        text=True,
        check=True,
    )
    assert [json.loads(line)["verdict"] for line in done.stdout.splitlines()] == ["accepted", "refused"]
    assert done.stderr == ""


def test_private_questions_are_priced_with_their_statement(folder, capsys):
    (folder / "inner.sql").write_text(
        "SELECT COUNT(*) AS n FROM visits WHERE charge > PRIVATE (SELECT COUNT(*) FROM visits);\n"
        "WITH w AS PRIVATE (SELECT COUNT(*) AS n FROM visits) SELECT n + 1 FROM w;\n",
        encoding="utf-8",
    )
    _, (both, free) = planned(folder, capsys, folder / "inner.sql")
    assert (both["verdict"], both["cost"], set(both["margins"])) == ("accepted", 0.1, {"n"})
    # half of the price for each question: scale 4/0.05, 95 % within 80 ln 20 = 239.7
    assert 239 <= both["margins"]["n"] <= 241
    assert (free["verdict"], free["cost"], free["margins"]) == ("accepted", 0.1, {})


def test_a_table_has_prices_margins_and_whether_all_of_it_fits(folder, command):
    words = ["plan", str(folder / "questions.sql"), "--policy", str(folder / "dpsql.toml"), "--format", "table"]
    out = command(words).out
    assert "SELECT COUNT(*) AS n FROM visits" in out
    assert "n ± 120" in out  # scale 4/0.1: 95 % within 40 ln 20 = 119.8
    assert "refused DP101" in out
    assert "4 questions · total 0.2 of 3 promised: fits" in out
    (folder / "questions.sql").write_text("SELECT COUNT(*) FROM visits COST 2; SELECT COUNT(*) FROM visits COST 1.5")
    plain = command([*words, "--plain"]).out
    assert plain.isascii()
    assert "total 3.5 of 3 promised: does not fit" in plain


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
