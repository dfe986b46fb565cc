"""What every command shares: an end that scripts understand, whoever stops reading or waiting."""

import subprocess
import sys

import pytest

from dpsql.cli import audit
from dpsql.cli.main import main


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


@pytest.mark.parametrize("words", [[], ["unheard-of"], ["audit", "--unheard-of"]])
def test_what_is_no_command_is_code_2(words):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
