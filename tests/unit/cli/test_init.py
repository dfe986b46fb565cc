"""`dpsql init`, `check` and `table`: what goes where, and how each ends."""

import re

import duckdb
import pytest

from dpsql.cli.main import main


@pytest.fixture
def here(tmp_path, monkeypatch):
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as database:
        database.execute("CREATE TABLE patients (patient_id BIGINT PRIMARY KEY, age INTEGER, city VARCHAR)")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(here, capsys):
    def run(*words):
        code = main(list(words))
        found = capsys.readouterr()
        return code, found.out, found.err

    return run


def test_from_a_database_to_a_policy_that_can_be_used(run, here):
    code, out, err = run("init", "duckdb://clinic.duckdb")
    assert (code, err) == (0, "")
    assert "No rows, no statistics and no row counts were read." in out
    assert "dpsql check" in out
    told = re.search(r"(\d+) lines marked # CONFIRM, (\d+) about tables and (\d+) about the person", out)
    every, of_tables, other = map(int, told.groups())
    counted = re.search(r"(\d+) lines to confirm, (\d+) to decide", out)
    assert (every, of_tables) == (of_tables + other, sum(map(int, counted.groups())))
    code, out, _ = run("check")
    assert code == 8
    assert "dpsql.toml:" in out
    assert "patients.city" in out
    assert run("plan", "dpsql.toml")[0] == 8  # unconfirmed: nothing can be asked
    assert run("policy", "apply")[0] == 8
    assert run("ledger", "verify")[0] == 8
    assert sorted(path.name for path in here.iterdir()) == ["clinic.duckdb", "dpsql.toml"]
    assert run("table", "list")[1] == "patients\tperson = patient_id\t5 to confirm\n"
    assert "[table.patients]" in run("table", "show", "patients")[1]
    code, out, err = run("table", "confirm", "patients.age")
    assert (code, out.count("\n")) == (0, 1)
    assert "1 confirmed, 11 left" in err
    code, out, err = run("table", "confirm", "--all")
    assert code == 0
    assert "promise.epsilon  needs your decision" in err  # what nobody has decided is left, and said
    assert "promise" not in out
    assert run("check")[0] == 8
    assert run("table", "confirm", "patients", "promise", "defaults")[0] == 0
    code, out, err = run("check")
    assert code == 0
    assert out == "✓ policy complete. 1 table, 1 unit of protection: one patient, with all their rows.\n"
    assert run("policy", "apply")[0] == 0


def test_ways_it_is_refused(run, here):
    assert run("init", "duckdb://none.duckdb")[0] == 7
    assert run("init", "patients.csv")[0] == 7
    assert run("init", "duckdb://clinic.duckdb", "--like", "none.csv")[0] == 2
    assert run("check")[0] == 8  # there is no policy
    assert run("init", "clinic.duckdb")[0] == 0
    before = (here / "dpsql.toml").read_bytes()
    code, out, err = run("init", "clinic.duckdb")
    assert (code, out) == (2, "")
    assert "--force" in err
    assert run("init", "clinic.duckdb", "--force")[0] == 0
    assert (here / "dpsql.toml").read_bytes() == before
    assert run("table", "confirm")[0] == 2
    assert run("table", "confirm", "none")[0] == 2
    assert run("table", "suggest", "patients.age", "--spend", "1")[0] == 8  # nothing is confirmed
    (here / "clinic.duckdb").unlink()
    assert run("table", "confirm", "--all", "patients", "promise", "defaults")[0] == 0
    assert run("check")[0] == 7
