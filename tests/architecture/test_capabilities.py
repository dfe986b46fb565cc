"""Every capability of the checklist that exists so far is named by a test."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parent.parent

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
