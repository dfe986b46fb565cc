"""`dpsql doctor` names what is wrong, ends with its code, and changes nothing."""

import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path

from asked_clinic import asked, back, declared
from dpsql.cli import doctor
from dpsql.cli.main import main

ROOT = Path(__file__).parent.parent.parent.parent


def told(capsys, *words):
    code = main(["doctor", *map(str, words)])
    return code, *capsys.readouterr()


def test_every_extra_is_looked_for():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(doctor.EXTRAS) == set(extras) - {"dev", "docs", "all"}


def test_a_folder_without_a_policy_is_healthy_and_a_missing_extra_names_the_pip_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, out, err = told(capsys)
    assert (code, err) == (0, "")
    assert "python" in out
    assert "no dpsql.toml in this folder" in out
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    code, out, _ = told(capsys, "--plain")
    assert code == 0  # dpsql works without any of them
    assert "pip install matplotlib" in out


def test_a_whole_clinic_and_one_without_a_ledger(tmp_path, capsys):
    policy = declared(tmp_path)
    before = sorted(tmp_path.iterdir())
    code, out, _ = told(capsys, "--policy", policy)
    assert code == 0
    assert "not made yet" in out
    assert sorted(tmp_path.iterdir()) == before
    (tmp_path / "x").mkdir()
    kept = asked(tmp_path / "x")
    back(kept)
    code, out, _ = told(capsys, "--policy", kept)
    assert code == 0
    assert "entries, verified" in out


def test_a_policy_that_cannot_be_used(tmp_path, capsys):
    (tmp_path / "dpsql.toml").write_text("not toml")
    code, out, err = told(capsys, "--policy", tmp_path / "dpsql.toml")
    assert code == 8
    assert "NO  policy" in out
    assert "Fix" in err


def test_what_is_wrong_is_told_once_and_steers_no_terminal(tmp_path, capsys):
    policy = declared(tmp_path)
    policy.write_text(policy.read_text() + '\n["un\\u001b[31mheard"]\nx = 1\n')
    code, out, err = told(capsys, "--policy", policy)
    assert code == 8
    assert (out.count("NO "), err.count("DP501")) == (1, 1)
    assert "\x1b" not in out + err
    assert "un\\x1b[31mheard" in err


def test_a_broken_ledger_is_code_9(tmp_path, capsys):
    policy = asked(tmp_path)
    back(policy)
    with closing(sqlite3.connect(tmp_path / "clinic.duckdb.ledger")) as database:
        database.execute("UPDATE head SET snapshot = CAST(snapshot || ' ' AS BLOB)")
        database.commit()
    code, out, _ = told(capsys, "--policy", policy)
    assert code == 9
    assert "NO  ledger" in out


def test_a_clock_that_stands_before_the_ledger(tmp_path, capsys, monkeypatch):
    policy = asked(tmp_path)
    back(policy)
    monkeypatch.setattr(doctor, "_SLACK", -10 * doctor._SLACK)  # as if the ledger were written in twenty minutes
    code, out, err = told(capsys, "--policy", policy)
    assert code == 9
    assert "NO  clock" in out
    assert "set the clock" in err
