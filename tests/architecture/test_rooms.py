"""Rules that matter are executable: imports, the public door, exact values, theorem pages, error codes, the demo."""

import ast
import importlib
import importlib.util
import inspect
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

import dpsql
import dpsql.errors
from tests.kits.cases import cases
from tests.kits.scripts import script

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "dpsql"


@cache
def trees() -> Mapping[str, ast.Module]:
    """Every file of the package, read once, by its path."""
    files = sorted(SOURCE.rglob("*.py"))
    return {file.relative_to(SOURCE).as_posix(): ast.parse(file.read_text(encoding="utf-8")) for file in files}


def test_nobody_imports_what_their_room_may_not():
    rules = script("import_rules")
    found = [
        line
        for file in SOURCE.rglob("*.py")
        for line in rules.violations(file.relative_to(SOURCE).as_posix(), file.read_text(encoding="utf-8"))
    ]
    assert found == []


@cases(__file__, "path", "source")
def test_the_import_rules_catch_a_planted_import(path, source):
    assert len(script("import_rules").violations(path, source)) == 1


@pytest.mark.parametrize("room", ["cli", "serve", "notebook", "demonstration", "dialect", "dbapi", "door", "suggest"])
def test_no_interface_may_import_what_it_does_not(room):
    rules = script("import_rules")
    ours = [tree for path, tree in trees().items() if path == f"{room}.py" or path.startswith(f"{room}/")]
    used = {name.split(".")[1] for tree in ours for _, name in rules.imported(tree) if name.startswith("dpsql.")}
    assert rules.MAY_IMPORT[room] <= used


def test_the_public_door_is_small_sorted_and_real_and_says_what_it_returns():
    assert dpsql.__all__ == sorted(dpsql.__all__)
    assert all(hasattr(dpsql, name) for name in dpsql.__all__)
    missing = [f"{path}:{node.name}" for path, node in public_functions() if not ast.get_docstring(node)]
    assert missing == []


def opened_in(tree: ast.AST) -> list[int]:
    """Lines that call .open() on something."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "open"
    ]


def test_exact_values_are_opened_by_mechanisms_only():
    assert opened_in(ast.parse("value.open()")) == [1]
    assert {path.partition("/")[0] for path, tree in trees().items() if opened_in(tree)} <= {"mechanisms"}


def test_nothing_is_printed_logged_or_asserted_by_the_library():
    for path, tree in trees().items():
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        speaks = Path(path).parent.name in {"cli", "demonstration"}
        assert speaks or not names & {"print", "logging", "warnings", "eval", "exec"}, path
        asserts = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Assert)]
        assert asserts == [] or Path(path).name == "engine_kit.py", path  # its laws are tests


def test_every_proof_is_pinned_to_the_code_it_proves():
    prints = script("fingerprints")
    pages = list((ROOT / "docs" / "theorems").glob("*.md"))
    assert len(pages) > 20
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert prints.LINE.search(text), f"{page.name} names no function it proves"
        assert prints.stale(text) == [], f"{page.name}: reread the proof, then make fingerprints"


def test_every_proven_function_states_theorem_precondition_and_rounding():
    prints = script("fingerprints")
    missing = []
    for page in (ROOT / "docs" / "theorems").glob("*.md"):
        for match in prints.LINE.finditer(page.read_text(encoding="utf-8")):
            node = prints.definition(match["module"], match["name"])
            if isinstance(node, ast.FunctionDef) and "." not in match["name"] and not match["name"].startswith("_"):
                told = ast.get_docstring(node) or ""
                missing += [
                    f"{match['name']}: {word}" for word in ("Theorem", "Requires", "Rounds") if word not in told
                ]
    assert missing == []


def test_a_changed_body_makes_a_proof_stale(monkeypatch, tmp_path):
    prints = script("fingerprints")
    (tmp_path / "src" / "m").mkdir(parents=True)
    file = tmp_path / "src" / "m" / "__init__.py"
    monkeypatch.setattr(prints, "ROOT", tmp_path)
    file.write_text("def f(x):\n    'Doc.'\n    return x / 2   # half\n")
    page = prints.pinned("proves: m:f\n")
    assert prints.stale(page) == []
    file.write_text("def f(x):\n    return x/2\n")
    assert prints.stale(page) == []
    file.write_text("def f(x):\n    return x / 3\n")
    assert prints.stale(page) != []


def public_functions():
    for path, tree in trees().items():
        if path.partition("/")[0] in {"privacy", "sensitivity", "randomness", "mechanisms", "accounting", "local"}:
            for node in tree.body:
                if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                    yield path, node


PRIVACY = {
    *("epsilon", "delta", "rho", "lower", "upper", "bounds", "neighbours", "relation", "l1", "l2", "delta_prime"),
    *("cost_per_query", "max_keys", "selection_share", "delta_per_query", "budget"),
    *("rows_per_person", "rows_per_group", "groups_per_person"),
}
CONTRACT = {("Person", "relation")}
"""add_remove unless the owner says otherwise: the contract's own word, printed in every explanation."""


def defaults_of(node: ast.AST) -> list[tuple[str, str]]:
    """(parameter, default) of a function, (field, default) of a class."""
    if isinstance(node, ast.ClassDef):
        fields = [part for part in node.body if isinstance(part, ast.AnnAssign) and part.value is not None]
        return [(part.target.id, ast.unparse(part.value)) for part in fields]
    if not isinstance(node, ast.FunctionDef):
        return []
    given = node.args
    placed = [*given.posonlyargs, *given.args]
    pairs = [
        *zip(placed[len(placed) - len(given.defaults) :], given.defaults, strict=True),
        *zip(given.kwonlyargs, given.kw_defaults, strict=True),
    ]
    return [(argument.arg, ast.unparse(default)) for argument, default in pairs if default is not None]


def silent_defaults(tree: ast.AST) -> list[tuple[str, str]]:
    """What decides about privacy though nobody said it. None is "not said", and a δ of 0 the strictest promise."""
    zero = {"0", "0.0", "Fraction(0)"}
    return [
        (node.name, name)
        for node in ast.walk(tree)
        for name, default in defaults_of(node)
        if name in PRIVACY and not (default == "None" or (name == "delta" and default in zero))
        if default != "field(init=False)" and (node.name, name) not in CONTRACT
    ]


def test_no_privacy_parameter_has_a_default():
    assert {(path, *place) for path, tree in trees().items() for place in silent_defaults(tree)} == set()


@cases(__file__, "source")
def test_a_planted_default_is_seen(source):
    assert len(silent_defaults(ast.parse(source))) == 1


def error_classes():
    return [kind for _, kind in inspect.getmembers(dpsql.errors, inspect.isclass) if issubclass(kind, dpsql.DpsqlError)]


def test_every_error_code_is_unique_drawn_and_documented():
    codes = [kind.code for kind in error_classes()]
    assert len(codes) == len(set(codes))
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    for kind in error_classes():
        if kind is not dpsql.DpsqlError:
            assert re.search(rf"{kind.__name__}\s+{kind.code}", dpsql.errors.__doc__), kind
            assert f"## {kind.code}" in page, kind


def test_the_documents_link_to_files_that_exist_and_every_proof_is_in_the_index():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} -> {target}"
    index = (ROOT / "docs" / "proofs.md").read_text(encoding="utf-8")
    listed = re.findall(r"\(theorems/(\w+)\.md\)", index)
    assert sorted(listed) == sorted(page.stem for page in (ROOT / "docs" / "theorems").glob("*.md"))


def test_no_addresses_in_the_lock():
    assert "://" not in (ROOT / "constraints.txt").read_text(encoding="utf-8")


COMMAND = (
    "import sys; sys.argv = ['dpsql', *{words}]\nfrom dpsql.cli.entry import main\ntry: main()\nexcept SystemExit: pass"
)


@pytest.mark.parametrize(
    "code",
    ["import dpsql", *(COMMAND.format(words=words) for words in (["--version"], ["--help"], ["check", "--help"]))],
)
def test_importing_dpsql_and_its_help_load_the_standard_library_alone(code):
    assert loaded_by(code) - loaded_by("") <= {"dpsql", "__main__", "__mp_main__"}


@cache
def loaded_by(code: str) -> set[str]:
    """What a Python that runs it has loaded beside the standard library."""
    told = "import sys; print(*{name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{told}"], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_every_public_name_is_found_where_type_checkers_look_for_it():
    """What is loaded on first use is the same object as what the imports for type checkers name."""
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    typed = next(node for node in tree.body if isinstance(node, ast.If))
    named = {
        alias.asname or alias.name: getattr(importlib.import_module(node.module), alias.name)
        for node in typed.body
        for alias in node.names
    }
    assert {name: getattr(dpsql, name) for name in named} == named
    assert set(named) == {name for name in dpsql._ON_FIRST_USE if not name.endswith("load_ipython_extension")}
    assert set(dpsql.__all__) <= set(dir(dpsql))
