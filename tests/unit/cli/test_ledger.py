"""`dpsql ledger …` and `dpsql audit`: results on standard output, everything else beside it, a report in a file, and a
code for scripts where something does not hold."""

import csv
import io
import json
import sys
from html import unescape
from pathlib import Path

import pytest

from dpsql.cli.main import main
from dpsql.session.auditing import Walk
from dpsql.session.keeper import Keeper
from tests.kits.refusals import raised


def test_verify_by_the_policy_or_the_ledger_alone(run, clinic, capsys):
    code, out, err = run("ledger", "verify")
    assert (code, err) == (0, "")
    assert "chain intact" in out
    assert main(["ledger", "verify", "--ledger", str(clinic.parent / "clinic.duckdb.ledger")]) == 0
    assert "chain intact" in capsys.readouterr().out


def test_a_ledger_that_does_not_verify_is_code_9(run, broken):
    for words in (("verify",), ("show",), ("export",), ("backup", "copy.db")):
        code, out, err = run("ledger", *words)
        assert (code, out) == (9, "")
        assert "DP901" in err


def test_show_has_a_line_for_each_entry_and_texts_only_where_they_are_asked_for(run):
    code, out, _ = run("ledger", "show")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == [str(n) for n in range(1, len(out.splitlines()) + 1)]
    assert "SELECT" not in out
    assert "SELECT COUNT" in run("ledger", "show", "--texts")[1]
    assert run("ledger", "show", "--since", "2020-01-01") == (0, out, "")
    assert run("ledger", "show", "--since", "9000-01-01T00:00") == (0, "", "")


def test_export_is_json_lines_or_csv(run):
    _, lines, _ = run("ledger", "export")
    found = [json.loads(line) for line in lines.splitlines()]
    _, table, _ = run("ledger", "export", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(table, newline="")))
    assert [row["kind"] for row in rows] == [each["kind"] for each in found]
    assert "charge" in {each["kind"] for each in found}
    assert "SELECT" not in lines + table


@pytest.mark.parametrize("format_", ["csv", "jsonl"])
@pytest.mark.parametrize("steering", ["\x1b[2J", "\x9b31m", "\u202e"])
def test_an_export_steers_no_terminal_and_is_exact_elsewhere(run, monkeypatch, format_, steering):
    """An analyst's SQL is printed on the owner's terminal."""
    monkeypatch.setattr(
        Keeper, "export", lambda self, *_, **__: iter([f"1,charge,SELECT '{steering}'\r\n", "2,store,\r\n"])
    )
    exact = run("ledger", "export", "--format", format_, "--texts")[1]
    assert steering in exact
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shown = run("ledger", "export", "--format", format_, "--texts")[1]
    assert steering not in shown
    assert len(shown.splitlines()) == 2


def test_charges_that_a_restored_ledger_has_lost_are_written_off(run, clinic, tmp_path):
    run("ledger", "backup", tmp_path / "copy.db")
    run("freeze", "--reason", "a look")
    run("ledger", "restore", tmp_path / "copy.db", "--replace")
    code, _, err = run("ledger", "verify")
    assert code == 9
    assert "missing" in err
    assert run("audit")[0] == 9
    code, _, err = run("ledger", "write-off")
    assert (code, "what was lost counts as spent" in err) == (0, True)
    assert "frozen: entries were lost" in err
    assert "dpsql unfreeze" in err
    assert "every question is refused" in run("audit")[1]
    assert run("ledger", "verify")[0] == 0
    assert "lost charges written off 1×" in run("audit")[1]


def test_where_nothing_is_missing_nothing_is_written_off(run):
    before = run("ledger", "show")
    assert run("ledger", "write-off") == (0, "", "nothing is missing: nothing was written off\n")
    assert run("ledger", "show") == before


def test_backup_and_restore_and_the_key_only_where_it_is_asked_for(run, tmp_path, clinic):
    run("ledger", "backup", tmp_path / "a.db")
    run("ledger", "backup", tmp_path / "b.db", "--with-key")
    assert not (tmp_path / "a.db.key").exists()
    assert (tmp_path / "b.db.key").exists()
    copy = tmp_path / "copy.db"
    code, out, err = run("ledger", "backup", copy)
    assert (code, out, str(copy) in err) == (0, "", True)
    assert run("ledger", "backup", copy)[0] == 6
    assert run("ledger", "restore", copy)[0] == 6
    code, _, err = run("ledger", "restore", tmp_path / "none.db")  # --replace would not help
    assert (code, "there is no file" in err) == (2, True)
    code, out, err = run("ledger", "restore", copy, "--replace")
    assert (code, out) == (0, "")
    assert "replaced-1" in err
    (clinic.parent / "clinic.duckdb.ledger").unlink()
    assert run("ledger", "verify")[0] == 7
    assert run("ledger", "restore", copy)[0] == 0
    assert run("ledger", "verify")[0] == 0


@pytest.mark.parametrize("command", [["ledger", "verify"], ["audit"], ["user", "list"], ["budget", "show"]])
def test_a_policy_that_cannot_be_read_is_code_8(tmp_path, capsys, command):
    assert main([*command, "--policy", str(tmp_path / "none.toml")]) == 8
    assert "DP501" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["ledger"], ["ledger", "burn"], ["freeze"]])
def test_bad_words_are_code_2(words, capsys):
    assert raised(SystemExit, lambda: main(words)).code == 2


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
