"""`dpsql ledger …`: results on standard output, everything else beside it, and a code for scripts."""

import csv
import io
import json
import sys

import pytest

from dpsql.cli.main import main
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
