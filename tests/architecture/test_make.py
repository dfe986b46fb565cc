"""What the Makefile, the hooks and the folders say of one another."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")


def recipe(target: str) -> list[str]:
    (lines,) = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.M)
    return [line.strip().replace("$(BIN)", ".venv/bin") for line in lines.splitlines()]


def test_the_hooks_run_what_make_check_runs_and_nothing_from_elsewhere():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    entries = re.findall(r"^ +entry: (.+)$", hooks, re.M)
    assert entries == [command.removesuffix(" .") for command in recipe("check")]
    assert re.findall(r"repo: (.+)$", hooks, re.M) == ["local"]
    assert "://" not in hooks


def test_the_fast_tests_are_there_and_of_every_room():
    """But of rooms that only show or invent."""
    (said,) = re.findall(r"^FAST := (.*?)(?: \$\(addprefix --ignore=(\S+),(.*)\))?$", MAKEFILE, re.M)
    taken, left_out = said[0].split(), [f"{said[1]}{name}" for name in said[2].split()]
    assert all((ROOT / word).exists() for word in (*taken, *left_out))
    rooms = {path.name for path in (ROOT / "src" / "dpsql").iterdir() if (path / "__init__.py").exists()}
    covered = {Path(word).parts[2] for word in taken}
    assert rooms - covered <= {"charts", "demonstration", "notebook", "serve", "suggest", "synthetic", "testing"}
