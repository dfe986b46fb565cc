"""A proof is pinned to the code it proves.

A page under docs/theorems/ lists the functions it proves, one per line, as `proves: module:function  fingerprint`.
The fingerprint is of the code, not of its layout, comments or docstrings. When the body changes, the test fails
until somebody has reread the proof and run `make fingerprints`.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs" / "theorems"
LINE = re.compile(r"^proves: (?P<module>[\w.]+):(?P<name>[\w.]+)(?:  (?P<print>[0-9a-f]{12}|unpinned))?$", re.M)


def definition(module: str, name: str) -> ast.AST:
    """The function or class `name` (dots for methods) in `module`."""
    path = (ROOT if module.startswith("tests.") else ROOT / "src") / Path(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    node: ast.AST = ast.parse(file.read_text(encoding="utf-8"))
    for part in name.split("."):
        inside = [child for child in ast.iter_child_nodes(node) if getattr(child, "name", None) == part]
        if not inside:
            raise LookupError(f"{module} has no {name}")
        node = inside[0]
    return node


def fingerprint(module: str, name: str) -> str:
    """Of a definition's code, not of its layout, comments or docstrings: changes when the meaning may have changed."""
    node = definition(module, name)
    for child in ast.walk(node):
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(child) is not None:
            child.body = child.body[1:] or [ast.Pass()]
    return hashlib.sha256(_canonical(node).encode()).hexdigest()[:12]


def _canonical(value: object) -> str:
    """A printed form of a syntax tree that is the same on every version of Python: what is empty is left out."""
    if isinstance(value, ast.AST):
        fields = ((name, field) for name, field in ast.iter_fields(value) if field not in (None, []))
        return f"{type(value).__name__}({', '.join(f'{name}={_canonical(field)}' for name, field in fields)})"
    if isinstance(value, list):
        return f"[{', '.join(map(_canonical, value))}]"
    return repr(value)


def stale(text: str) -> list[str]:
    """The `proves:` lines of a page whose fingerprint is not that of the code."""
    return [match[0] for match in LINE.finditer(text) if match["print"] != fingerprint(match["module"], match["name"])]


def pinned(text: str) -> str:
    """The page with every fingerprint brought up to date."""
    return LINE.sub(lambda m: f"proves: {m['module']}:{m['name']}  {fingerprint(m['module'], m['name'])}", text)


def main() -> int:
    write, found = "--write" in sys.argv, []
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if write:
            page.write_text(pinned(text), encoding="utf-8")
        else:
            found += [f"{page.name}: {line}" for line in stale(text)]
    print("\n".join(found) or "theorem pages: pinned")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
