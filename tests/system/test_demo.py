"""The stories a newcomer runs first."""

import runpy
from pathlib import Path

import pytest

from dpsql.demonstration import attack
from dpsql.demonstration.stage import Page

ROOT = Path(__file__).parent.parent.parent


def test_the_package_tells_the_attack_without_waiting(capsys, monkeypatch):
    monkeypatch.setattr(attack, "pages", lambda stage: [Page(title="The attack", blocks=("on Bob",))])
    runpy.run_module("dpsql.demonstration", run_name="__main__")
    assert capsys.readouterr().out == "\n1. The attack\n\non Bob\n"


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_every_example_runs(example, capsys):
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()
