"""The second derivation of every sensitivity shares no code with the first (rule 11)."""

import ast
from pathlib import Path

import pytest

from tests.kits.cases import cases

SOURCE = Path(__file__).parent.parent.parent / "src" / "dpsql"
DERIVE = [SOURCE / "plan" / "derive.py", *sorted((SOURCE / "plan" / "derivation").glob("*.py"))]
MAY_IMPORT = ("dpsql.sql.relations", "dpsql.sql.scalars", "dpsql.catalog", "dpsql.privacy", "dpsql.errors")
MAY_REACH = (*MAY_IMPORT, "dpsql.sql.intervals", "dpsql.require", "dpsql.enclosure", "dpsql.safe_text")


def imported(source: str) -> set[str]:
    """Modules of dpsql a source imports; `from a import b` counts as a.b too, where b is a module."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names if file_of(f"{node.module}.{alias.name}")}
        elif isinstance(node, ast.ImportFrom):
            found.add("dpsql.relative")
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.split(".")[0] == "dpsql"}


def file_of(module: str) -> Path | None:
    path = SOURCE.joinpath(*module.split(".")[1:])
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def within(module: str, allowed: tuple[str, ...]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in allowed)


def forbidden(source: str) -> set[str]:
    return {module for module in imported(source) if not within(module, MAY_IMPORT) and not is_part_of_derive(module)}


def is_part_of_derive(module: str) -> bool:
    return within(module, ("dpsql.plan.derive", "dpsql.plan.derivation"))


def test_there_is_something_to_look_at():
    assert {"derive.py", "joins.py", "rows.py"} <= {file.name for file in DERIVE}
    assert imported((SOURCE / "plan" / "derive.py").read_text(encoding="utf-8")) >= {"dpsql.sql.relations"}


@pytest.mark.parametrize("file", DERIVE, ids=lambda file: file.name)
def test_derive_imports_only_what_it_reads(file):
    assert forbidden(file.read_text(encoding="utf-8")) == set()


@cases(__file__, "line")
def test_a_planted_import_is_found(line):
    assert forbidden(line)


def test_nothing_it_imports_leads_to_the_first_derivation():
    waiting, seen = [file.read_text(encoding="utf-8") for file in DERIVE], set()
    while waiting:
        for module in imported(waiting.pop()) - seen:
            seen.add(module)
            file = file_of(module)
            if file is not None and file != SOURCE / "__init__.py":
                waiting.append(file.read_text(encoding="utf-8"))
    beyond = {module for module in seen if not within(module, MAY_REACH) and not is_part_of_derive(module)}
    assert beyond == set()
