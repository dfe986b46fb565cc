"""What the command line says of itself: its page, `dpsql help`, and `dpsql completion` in words a shell can read."""

import subprocess
import sys

import pytest

import dpsql
from dpsql.cli.main import main
from tests.kits.scripts import script

_COMPLETED = """
source "$1"
complete_() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _dpsql; echo "${COMPREPLY[*]}"; }
complete_ dpsql led
complete_ dpsql ledger ""
complete_ dpsql ledger show --te
complete_ dpsql hospital --inter
complete_ dpsql completion f
"""


def completion_of(capsys, shell):
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def test_bash_completes(tmp_path, capsys):
    (tmp_path / "dpsql.bash").write_text(completion_of(capsys, "bash"))
    done = subprocess.run(
        ["bash", "-c", _COMPLETED, "bash", str(tmp_path / "dpsql.bash")], capture_output=True, text=True, check=True
    )
    command, parts, option, asking, shell = done.stdout.splitlines()
    assert done.stderr == ""
    assert command == "ledger"
    assert {"verify", "show", "export", "--help"} <= set(parts.split())
    assert (option, asking, shell) == ("--texts", "--intervals", "fish")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_completed(capsys, shell):
    found = completion_of(capsys, shell)
    for word in ("ledger", "audit", "doctor", "--max-cost", "--new-promise"):
        assert word in found


def test_the_page_is_written_from_the_parser():
    tool = script("cli_reference")
    written = tool.PAGE.read_text(encoding="utf-8")
    assert written == tool.page(), "python tools/cli_reference.py --write"
    for word in ("`--max-cost X`", "### dpsql doctor", "#### dpsql ledger verify", "| 130 | interrupted |"):
        assert word in written


@pytest.mark.parametrize("words", [(), ("DP102",), ("proof", "M1"), ("m1",)])
@pytest.mark.parametrize("columns", [60, 200])
def test_help_prints_what_python_says(words, columns, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    found = command(["help", *words])
    assert found.out == dpsql.help(" ".join(words) or None) + "\n"
    assert found.err == ""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert command(["help", *words]).out == dpsql.help(" ".join(words) or None, columns=min(columns, 100)) + "\n"


def test_an_unknown_topic_ends_as_an_unknown_name(command):
    found = command(["help", "DP12"], 3)
    assert found.out == ""
    assert "Did you mean DP102?" in found.err


@pytest.mark.parametrize("kind", [dpsql.Refused, dpsql.BadParameter])
def test_the_json_of_an_error_names_the_command(kind, command):
    _, *words = kind("what", why="why", fix="fix").as_json()["docs"].split()
    assert command(words).out.startswith(kind.code)
