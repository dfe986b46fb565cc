"""Check 1: a new machine has its first private answer within five minutes, after three commands, with no account.

A system fails where the page for newcomers asks for more than three commands, where what is installed is larger than
200 MB or takes an optional package along, where the first answer needs a file, a setting, an account or a network, or
where it has no margin. The time is printed and not judged here: it depends on the machine.
"""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent.parent
MEGABYTE = 10**6

ALONE = """
import os, socket, sys

def refused(*arguments):
    raise OSError("there is no network here")

socket.socket.connect = refused
from dpsql.cli.main import main
code = main(["demo", "--no-pause"])
loaded = sorted({"pyarrow", "pandas", "polars", "matplotlib", "IPython", "sqlalchemy"} & sys.modules.keys())
print(code, loaded, f"{sum(os.times()[:2]):.1f}", file=sys.stderr)
"""


def needed(names, seen):
    """The distributions that these pull in, without any extra."""
    for requirement in map(Requirement, names):
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        if requirement.name not in seen:
            seen[requirement.name] = found = distribution(requirement.name)
            needed(found.requires or (), seen)
    return seen


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_what_is_installed_is_small_and_has_no_optional_package(project):
    installed = needed(project["dependencies"], {})
    assert {"duckdb", "numpy", "prompt_toolkit"} <= installed.keys()
    assert not {name.lower() for name in installed} & {"pyarrow", "pandas", "polars", "matplotlib", "sqlglot"}
    files = [file.locate() for found in installed.values() for file in found.files or ()]
    files += (ROOT / "src").rglob("*.py")
    size = sum(Path(file).stat().st_size for file in files if Path(file).is_file()) / MEGABYTE
    sys.stdout.write(f"{', '.join(installed)}: {size:.0f} MB\n")
    assert 20 < size <= 200  # less than 20 would mean that the files were not found


def test_a_newcomer_types_three_commands_at_most(project):
    assert project["scripts"]["dpsql"] == "dpsql.cli.entry:main"
    page = (ROOT / "docs" / "tutorials" / "1-five-minutes.md").read_text(encoding="utf-8")
    begins, _, _ = page.partition("## ")
    commands = re.findall(r"^\$ (.*)$", begins, re.MULTILINE)
    assert 1 <= len(commands) <= 3
    assert commands[-1].startswith("dpsql demo")


def test_the_first_answer_needs_nothing_but_the_command(tmp_path):
    """In an empty folder, with an empty home, without a network, and with nobody to press a key."""
    source = str(ROOT / "src")
    environment = {"HOME": str(tmp_path), "PYTHONPATH": source, "PYTHONIOENCODING": "utf-8", "PATH": "/usr/bin:/bin"}
    told = subprocess.run(
        [sys.executable, "-c", ALONE],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
    )
    *said, last = told.stderr.strip().split("\n")
    code, loaded, seconds = re.fullmatch(r"(\d+) (\[.*\]) ([\d.]+)", last).groups()
    assert (told.returncode, code, loaded, said) == (0, "0", "[]", [])
    sys.stdout.write(f"{seconds} s of CPU time, from the start of Python to the end of the tour\n")
    first = told.stdout.partition("│ Basel")[2].partition("\n")[0]
    assert re.search(r"\d ± \d", first)
    assert "cost 0.05" in told.stdout
    assert list(tmp_path.iterdir()) == []  # nothing is left behind
