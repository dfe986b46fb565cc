"""Every capability of the checklist is importable from the package alone, and named by a test."""

import ast
import json
import re
import subprocess
import sys

from tests import ROOT
from tests.kits.rows import read_rows

TESTS = ROOT / "tests"

WITHOUT_SQL_OR_LEDGER = [
    *range(1, 15), 16, 17, *range(19, 49), 64, 67, 68, *range(70, 94), 95, 98, 99,
    *range(101, 110), *range(111, 115), *range(116, 128),
]  # fmt: skip
THROUGH_SQL = [15, 18, 49, 50, 51, 52, 53, 57, 63, 65, 66, 69, 97, 115]


def named_capabilities() -> set[str]:
    """C ids in the docstrings of test functions and test classes."""
    found: set[str] = set()
    for file in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name.lower().startswith("test"):
                found |= set(re.findall(r"\bC\d{3}\b", ast.get_docstring(node) or ""))
    return found


def test_every_capability_is_named_by_a_test():
    wanted = {f"C{number:03d}" for number in WITHOUT_SQL_OR_LEDGER + THROUGH_SQL}
    assert sorted(wanted - named_capabilities()) == []


PUBLIC_NAMES = dict(read_rows(__file__, "public names"))
"""What a user imports for each capability, from `dpsql`. C127 is a page: docs/theory.md."""

STATEMENTS = dict(read_rows(__file__, "statements"))
"""What an analyst writes for the capabilities that are SQL, of the demo hospital. Planned, not asked."""

ALONE = """
import importlib, json, sys
names, statements = json.load(sys.stdin)

def found(name):
    thing, path = importlib.import_module("dpsql"), "dpsql"
    for part in name.split("."):
        path = f"{path}.{part}"
        try:
            thing = getattr(thing, part)
        except AttributeError:
            thing = importlib.import_module(path)
    return thing

missing = []
for capability, listed in names.items():
    for name in listed.split():
        try:
            found(name)
        except (ImportError, AttributeError) as error:
            missing.append(f"{capability}: {name}: {error}")
analyst = found("demo")()
for capability, sql in statements.items():
    try:
        analyst.query(sql)
    except found("DpsqlError") as error:
        missing.append(f"{capability}: {sql}: {error}")
json.dump({"missing": missing, "modules": sorted(sys.modules), "path": sys.path}, sys.stdout)
"""


def without_tests(names, statements, *, where):
    """What a Python has to say that sees the installed package and neither this folder nor the project."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", ALONE],
        input=json.dumps([names, statements]),
        cwd=where,
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout)
    assert not {str(ROOT), str(TESTS)} & set(told["path"])
    assert not [name for name in told["modules"] if name.partition(".")[0] in {"tests", "pytest"}]
    return told["missing"]


def test_every_capability_is_importable_without_the_tests(tmp_path):
    assert set(PUBLIC_NAMES) == {f"C{number:03d}" for number in range(1, 127)}
    assert (ROOT / "docs" / "theory.md").exists()
    assert not [name for name in " ".join(PUBLIC_NAMES.values()).split() if re.search(r"(^|\.)_", name)]
    assert without_tests(PUBLIC_NAMES, STATEMENTS, where=tmp_path) == []


def test_a_capability_that_left_the_package_is_missed(tmp_path):
    names = {
        "C117": "privacy.divergence.kl",
        "C044": "mechanisms.noisy_max.gone",
        "C108": "accounting.curves.gaussian_delta",
    }
    missing = without_tests(names, {"C054": "SELECT UNHEARD_OF(age) FROM patients"}, where=tmp_path)
    assert [line.partition(":")[0] for line in missing] == ["C044", "C108", "C054"]
