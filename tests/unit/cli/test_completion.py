"""`dpsql completion`: every command, part and option, in words a shell can read."""

import subprocess

import pytest

from dpsql.cli.main import main

_COMPLETED = """
source "$1"
complete_() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _dpsql; echo "${COMPREPLY[*]}"; }
complete_ dpsql led
complete_ dpsql ledger ""
complete_ dpsql ledger show --te
complete_ dpsql hospital --inter
complete_ dpsql completion f
"""


def script(capsys, shell):
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def test_bash_completes(tmp_path, capsys):
    (tmp_path / "dpsql.bash").write_text(script(capsys, "bash"))
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
    found = script(capsys, shell)
    for word in ("ledger", "audit", "doctor", "--max-cost", "--new-promise"):
        assert word in found
