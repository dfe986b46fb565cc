"""The stories a newcomer runs first."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def test_the_demo_runs_to_its_end_without_waiting(capsys, monkeypatch):
    """C014, as `python -m dpsql.demonstration` tells it: two exact counts reveal Bob; two noisy ones do not."""
    monkeypatch.setattr("dpsql.demonstration.attack.REPEATS", 2)
    runpy.run_module("dpsql.demonstration", run_name="__main__")
    told = capsys.readouterr().out
    assert "1: Bob has flu" in told
    assert "DP201" in told
    assert told.rstrip().endswith("reasons.")


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_every_example_runs(example, capsys):
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()
