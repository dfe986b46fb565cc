"""The command begins quietly, whenever it is stopped."""

import signal
import subprocess
import sys

import pytest

WHILE_LOADING = """
import os, signal, sys


class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            os.kill(os.getpid(), signal.SIGINT)


sys.meta_path.insert(0, Stop())
from dpsql.cli.entry import main

sys.exit(main())
"""


def started(handling, code, *words):
    """A process that starts with this handling of SIGINT, whatever that of the tests is."""
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, handling),
    )


LOADED_BY = ("demo", "-c", "SELECT COUNT(*) FROM patients")


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("dpsql.cli.ask", ("help",)),
        *((module, LOADED_BY) for module in ("numpy", "duckdb", "dpsql.sql.parse", "dpsql.session.opening")),
    ],
)
def test_ctrl_c_while_something_is_loaded_is_code_130_without_a_word(module, words):
    run = started(signal.SIG_DFL, WHILE_LOADING.format(module=module), *words)
    assert (run.returncode, run.stdout, run.stderr) == (130, b"", b"")


def test_a_command_started_with_ctrl_c_ignored_goes_on():
    """As a background job of a shell is."""
    run = started(signal.SIG_IGN, WHILE_LOADING.format(module="dpsql.cli.ask"), "help", "DP102")
    assert (run.returncode, run.stderr) == (0, b"")
    assert run.stdout.startswith(b"DP102")
