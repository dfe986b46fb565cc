"""The stories a newcomer runs first."""

import re
import runpy
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def test_make_demo_tells_the_attack_to_its_end_without_waiting(command):
    (line,) = re.findall(r"^\t@?\$\(DEMO\)/bin/dpsql (demo.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    told = command(shlex.split(line)).out
    assert "Bob" in told
    assert "±" in told


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_every_example_runs(example, capsys):
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()
