"""The command begins quietly, whenever it is stopped."""

import os
import subprocess
import sys

WHILE_LOADING = """
import os, signal, sys


class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == "dpsql.cli.ask":
            os.kill(os.getpid(), signal.SIGINT)


sys.meta_path.insert(0, Stop())
from dpsql.cli.entry import main

sys.exit(main())
"""


def test_ctrl_c_while_the_commands_are_loaded_is_code_130_without_a_word():
    run = subprocess.run(
        [sys.executable, "-c", WHILE_LOADING, "help"], capture_output=True, env=os.environ, check=False
    )
    assert (run.returncode, run.stdout, run.stderr) == (130, b"", b"")
