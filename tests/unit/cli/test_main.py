"""What every command shares: an end that scripts understand, whoever stops reading or waiting."""

import io
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import dpsql
from asked_clinic import COUNT
from dpsql import connect
from dpsql.cli import audit
from dpsql.cli.main import main, parser
from dpsql.cli.manner import FORMATS, INTERVALS
from dpsql.cli.registry import COMMANDS
from dpsql.errors import BadParameter
from tests.kits.cases import cases
from tests.kits.refusals import raised


def test_whoever_has_read_enough_is_no_error(clinic):
    command = [sys.executable, "-m", "dpsql.cli.main", "ledger", "export", "--policy", str(clinic)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        run.stdout.close()
        assert run.stderr.read() == b""
    assert run.returncode == 0


def test_ctrl_c_is_code_130(clinic, monkeypatch):
    def interrupted(chosen):
        raise KeyboardInterrupt

    monkeypatch.setattr(audit, "run", interrupted)
    assert main(["audit", "--policy", str(clinic)]) == 130


def test_a_file_that_cannot_be_read_is_not_called_unwritten(monkeypatch, capsys):
    def unreadable(chosen):
        open("/nowhere/notes.txt")  # noqa: SIM115 - there is none

    monkeypatch.setattr(audit, "run", unreadable)
    assert main(["audit"]) == 2
    err = capsys.readouterr().err
    assert "/nowhere/notes.txt cannot be read or written: No such file or directory" in err
    assert "answers" not in err


def test_standard_output_that_is_full_is_named():
    with open("/dev/full", "w") as full:
        run = subprocess.run(
            [sys.executable, "-m", "dpsql.cli.main", "help", "DP102"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert run.returncode == 2
    assert "standard output cannot be written: No space left on device" in run.stderr


@pytest.mark.parametrize("words", [["audit", "--unheard-of"], ["--unheard-of"], ["audit", "x", "y"]])
def test_what_is_no_option_is_code_2(words):
    assert raised(SystemExit, lambda: main(words)).code == 2


def test_what_is_no_command_is_code_2_and_the_nearest_is_named(capsys):
    assert main(["adit", "-c", "SELECT 1"]) == 2
    assert "did you mean dpsql audit?" in capsys.readouterr().err


def test_the_help_names_every_command_and_every_ending(capsys):
    error = raised(SystemExit, lambda: main(["--help"]))
    told = " ".join(capsys.readouterr().out.split())
    assert error.code == 0
    for word in ("plan", "policy", "serve", "audit", "config", "-c SQL", "--max-cost", "130 interrupted"):
        assert word in told


def test_the_commands_and_formats_that_are_listed_are_those_there_are():
    (commands,) = (action for action in parser()._actions if action.dest == "command")
    assert {action.dest: action.help for action in commands._choices_actions} == COMMANDS
    assert tuple(dpsql.formats) == FORMATS
    assert {word for form in dpsql.formats.values() for word in form.intervals} == set(INTERVALS)


# Options are read strictly; what is refused is said with a code, a fix and the name of the option.

SERVE = ["serve", "--socket", "door"]
GRANT = ["grant", "bob"]
NUMBERS = {
    "--budget": GRANT,
    "--max-per-query": GRANT,
    "--connections": SERVE,
    "--mode": SERVE,
    "--patience": SERVE,
    "--idle": SERVE,
    "--timeout": SERVE,
}


@pytest.mark.parametrize("option", NUMBERS)
@pytest.mark.parametrize("text", ["１", "١٦", "1_0", "7_7", " 1", "much", "", "-1", "nan", "inf", "1e999999"])
def test_what_is_no_number_is_code_2(option, text, capsys):
    assert main([*NUMBERS[option], f"{option}={text}"]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"DP410  {option} cannot be ")
    assert f"Fix   write {option} " in told


@pytest.mark.parametrize("option", ["--patience", "--idle", "--timeout"])
@pytest.mark.parametrize("text", ["0", "86401", "1e50"])
def test_nobody_waits_for_nothing_or_for_ever(option, text):
    raised(BadParameter, lambda: parser().parse_args([*SERVE, option, text]), match=option)


@pytest.mark.parametrize("text", ["8", "0o600", "1777", "00600", "rw"])
def test_a_mode_is_nine_bits(text):
    raised(BadParameter, lambda: parser().parse_args([*SERVE, "--mode", text]), match="--mode")


def test_numbers_are_what_was_written():
    words = ["--mode", "0660", "--connections", "3", "--patience", "0.1", "--timeout", "86400"]
    chosen = parser().parse_args([*SERVE, *words])
    assert (chosen.socket, chosen.mode, chosen.connections) == (Path("door"), 0o660, 3)
    assert (chosen.patience, chosen.idle, chosen.timeout) == (Fraction(1, 10), 600, 86400)


@pytest.mark.parametrize("words", [["audit"], ["ledger", "show"], ["ledger", "export"], ["budget", "history"]])
@pytest.mark.parametrize("text", ["yesterday", "２０２６-10-01", "0001-01-01T00:00:00+23:00", "2026-02-30"])
def test_what_is_no_date_is_code_2(words, text, capsys):
    assert main([*words, "--since", text]) == 2
    assert capsys.readouterr().err.startswith("DP410  --since cannot be ")


# A standard stream that is closed ends no command with a traceback, and no answer is paid for that nobody gets.


def spent(policy):
    with connect(policy) as ana:
        return ana.budget.spent


def test_without_standard_output_nothing_is_paid(policy, command, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    said = command([str(policy), "-c", COUNT], 2).err
    assert "standard output is closed" in said
    assert "Fix" in said
    assert spent(policy) == 0


def test_a_result_that_goes_to_a_file_and_freezing_need_no_standard_output(policy, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert main([str(policy), "-c", COUNT, "--format", "csv", "--output", str(tmp_path / "n.csv")]) == 0
    assert (tmp_path / "n.csv").read_text().startswith("COUNT")
    assert main(["freeze", "--reason", "a mistake", "--policy", str(policy)]) == 0


@pytest.mark.parametrize("closed", ["stdin", "stderr"])
def test_the_other_streams_are_done_without(policy, command, monkeypatch, closed):
    monkeypatch.setattr(sys, closed, None)
    assert command([str(policy), "-c", COUNT, "--format", "csv"]).out.startswith("COUNT")


def test_statements_from_a_closed_standard_input_are_none(policy, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert main([str(policy), "-f", "-"]) == 3  # DP100: there is no statement to answer
    assert spent(policy) == 0


# Files of statements and policies as editors save them: with a byte order mark, in another encoding, empty.


@pytest.mark.parametrize("command", ["-f", "plan"])
@cases(__file__, "content=", "code=", "words=")
def test_a_file_of_statements(policy, tmp_path, capsys, command, content, code, words):
    (tmp_path / "some.sql").write_bytes(content)
    file = str(tmp_path / "some.sql")
    asked = ["plan", file, "--policy", str(policy)] if command == "plan" else [str(policy), "-f", file]
    assert main(asked) == code
    told = capsys.readouterr()
    assert words in " ".join(told.err.split())
    assert '"refused"' not in told.out


@pytest.mark.parametrize("text", ["", "\n", "-- nothing yet\n", "\ufeff", ";"])
def test_a_text_without_a_statement_says_so(policy, tmp_path, capsys, monkeypatch, text):
    (tmp_path / "some.sql").write_text(text, encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    for words in (["-f", str(tmp_path / "some.sql")], ["-f", "-"]):
        assert main([str(policy), *words]) == 3
        assert "there is no statement to answer" in capsys.readouterr().err


def test_standard_input_in_another_encoding(policy, capsys, monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO("SELECT 'Genève'".encode("latin1")), encoding="utf-8", errors="surrogateescape")
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main([str(policy), "-f", "-"]) == 2
    assert "standard input is not UTF-8 text, at character 12" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "it is empty"), (b" \n", "dpsql init duckdb://FILE"), (b"# Gen\xe8ve", "iconv -f LATIN1 -t UTF-8")],
)
def test_a_policy_that_cannot_be_read(tmp_path, capsys, content, words):
    (tmp_path / "dpsql.toml").write_bytes(content)
    assert main([str(tmp_path / "dpsql.toml"), "-c", COUNT]) == 8
    assert words in " ".join(capsys.readouterr().err.split())


def test_odd_ways_to_say_something(policy, capsys):
    policy.write_bytes(b"\xef\xbb\xbf" + policy.read_bytes())
    assert main([str(policy), "-c", COUNT]) == 0
    assert main(["grant", "--budget", "5", "--policy", str(policy)]) == 2
    assert "dpsql grant ana --budget 5" in capsys.readouterr().err
