"""`dpsql audit`: the statement on standard output, a report in a file, 9 where something does not hold."""

from html import unescape
from pathlib import Path

import pytest

from dpsql.cli.main import main
from dpsql.session.auditing import Walk


def test_the_statement(run):
    code, out, err = run("audit")
    assert (code, err) == (0, "")
    for words in ("chain intact", "one patient", "kept: 1 spent", "1/1 prices derived again", "refused 0"):
        assert words in out
    # 1 / (1 + e^-4) = 0.98201…, rounded up
    assert "a 50–50 guess about any one patient becomes at most 98.21 %" in out


@pytest.mark.parametrize(("name", "mark"), [("report.md", "# Audit"), ("report.html", "<!DOCTYPE html>")])
def test_a_report_is_written_without_texts_unless_they_are_asked_for(run, tmp_path, name, mark):
    code, _, err = run("audit", "--report", tmp_path / name)
    text = (tmp_path / name).read_text()
    assert (code, str(tmp_path / name) in err) == (0, True)
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert text.startswith(mark)
    assert "SELECT" not in text
    run("audit", "--texts", "--report", tmp_path / name)
    assert "SELECT" in (tmp_path / name).read_text()


@pytest.mark.parametrize("name", ["report.pdf", "nowhere/report.md"])
def test_a_report_that_cannot_be_written(run, tmp_path, name):
    code, _, err = run("audit", "--report", tmp_path / name)
    assert code == 2
    assert name in err
    assert all(word in err for word in ("DP410", "Why", "Fix"))


def test_a_broken_ledger_is_not_audited(run, broken):
    code, out, err = run("audit")
    assert (code, out) == (9, "")
    assert "DP901" in err


def test_a_price_that_differs_is_code_9(run, monkeypatch):
    monkeypatch.setattr(Walk, "_derived", lambda *_: (None, "another price"))
    code, out, _ = run("audit")
    assert code == 9
    assert "0/1 prices" in out
    assert "another price" in out


def test_a_day_to_come_is_refused_with_words(run, tmp_path):
    code, out, err = run("audit", "--since", "8999-01-01", "--report", tmp_path / "report.md")
    assert (code, out) == (2, "")
    assert "--since 8999-01-01 00:00 UTC is to come" in err
    assert not (tmp_path / "report.md").exists()


@pytest.mark.parametrize("name", ["report.md", "report.html"])
def test_a_report_says_the_command_that_makes_it_again(run, clinic, tmp_path, name):
    run("audit", "--since", "2020-10-01", "--report", tmp_path / name)
    where = f"--policy {clinic}"
    again = unescape((tmp_path / name).read_text())
    assert f"dpsql ledger verify {where} && dpsql audit {where} --since 2020-10-01T00:00:00" in again


def test_a_place_with_blanks_is_one_word(clinic, tmp_path, capsys):
    there = clinic.parent / "a copy.ledger"
    there.symlink_to(clinic.parent / "clinic.duckdb.ledger")
    Path(f"{there}.key").symlink_to(clinic.parent / "clinic.duckdb.ledger.key")
    main(["audit", "--ledger", str(there), "--report", str(tmp_path / "report.md")])
    assert capsys.readouterr().err.startswith("written to")
    assert f"&& dpsql audit --ledger '{there}'\n" in (tmp_path / "report.md").read_text()


def test_a_copy_that_is_older_than_what_this_machine_has_seen(run, tmp_path, capsys, command, monkeypatch):
    copy = tmp_path / "copy.db"
    run("ledger", "backup", copy, "--with-key")
    run("freeze", "--reason", "a later entry")
    assert main(["audit", "--ledger", str(copy)]) == 9
    assert "audit it with a DPSQL_STATE of its own" in " ".join(capsys.readouterr().err.split())
    monkeypatch.setenv("DPSQL_STATE", str(tmp_path / "another machine"))
    assert "1/1 prices derived again" in command(["audit", "--ledger", str(copy)]).out
