"""What every command shares: an end that scripts understand, whoever stops reading or waiting."""

import subprocess
import sys

import pytest

import dpsql
from dpsql.cli import audit
from dpsql.cli.main import main, parser
from dpsql.cli.manner import FORMATS, INTERVALS
from dpsql.cli.registry import COMMANDS
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
