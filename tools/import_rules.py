"""Who may import whom, as data. `make check` runs this; a violation is printed with its line."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "dpsql"
OPEN = {"codec", "errors", "require", "enclosure", "points", "written", "codes", "safe_text", "closing"}

BELOW_SESSION = {
    "privacy",
    "randomness",
    "sensitivity",
    "mechanisms",
    "accounting",
    "catalog",
    "sql",
    "plan",
    "engines",
    "ledger",
}
MAY_IMPORT: dict[str, set[str]] = {  # everything absent is forbidden
    "privacy": set(),
    "randomness": set(),
    "sensitivity": {"privacy"},
    "mechanisms": {"privacy", "randomness", "sensitivity"},
    "accounting": {"privacy"},
    "local": {"privacy", "randomness", "mechanisms"},
    "catalog": {"privacy"},
    "sql": {"privacy", "sensitivity", "catalog"},
    "plan": {"privacy", "sensitivity", "catalog", "sql", "mechanisms", "accounting"},
    "engines": {"privacy", "catalog"},
    "ledger": {"privacy", "accounting"},
    "charts": set(),
    "synthetic": {"catalog", "engines"},
    "session": BELOW_SESSION | {"charts", "synthetic"},
    "suggest": {"catalog", "engines", "session"},
    "dbapi": {"session"},
    "dialect": {"dbapi"},
    "cli": {"demonstration"},
    "serve": set(),
    "notebook": set(),
    "demonstration": {"privacy", "mechanisms", "charts"},
    "door": {"session", "serve", "demonstration"},
    "testing": {"privacy", "mechanisms", "catalog", "engines"},
    "codec": set(),
    "errors": set(),
    "require": set(),
    "enclosure": set(),
    "points": set(),
    "written": set(),
    "codes": set(),
    "safe_text": set(),
    "closing": set(),
    "__init__": BELOW_SESSION | {"charts", "local", "session", "serve", "suggest", "demonstration", "door", "notebook"},
}

NUMPY = {"randomness", "mechanisms", "sensitivity", "accounting", "local", "testing"}
FENCED: dict[str, set[str]] = {  # third-party package -> the places that may import it
    "numpy": NUMPY,
    "dp_accounting": {"accounting/pld.py"},
    "sqlglot": set(),
    "html": {"safe_text.py"},  # one place escapes
    "duckdb": {
        *(
            f"engines/{name}.py"
            for name in ("duckdb", "duckdb_schema", "duckdb_sources", "duckdb_views", "hardening", "desk")
        ),
        "demonstration/hospital.py",  # makes the invented rows; what is asked of them goes through the public door
    },
    "sqlite3": {"ledger/sqlite.py", "ledger/backup.py"},
    "psycopg": {"ledger/postgres.py"},
    "pandas": {"session/tables.py"},
    "polars": {"session/tables.py"},
    "pyarrow": {"session/tables.py"},
    "prompt_toolkit": {"cli"},
    "matplotlib": {"charts/image.py"},
    "IPython": {"notebook"},
    "sqlalchemy": {"dialect.py", "dialect"},
    "opendp": set(),
    "scipy": set(),
    "mpmath": set(),
}


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every imported name, absolute, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield node.lineno, "." * node.level + module
            if module == "dpsql":
                yield from ((node.lineno, f"dpsql.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)


def _is_room(target: str) -> bool:
    """A module or package of ours; anything else behind `from dpsql import` is a name of the public door."""
    return bool(target) and ((SOURCE / target).is_dir() or (SOURCE / f"{target}.py").exists())


def violations(path: str, source: str) -> list[str]:
    """What `source`, living at `path` below src/dpsql, imports against the rules."""
    package = path.partition("/")[0].removesuffix(".py")
    if package not in MAY_IMPORT:
        return [f"{path}: no rule says what {package} may import"]
    allowed = {package} | OPEN | MAY_IMPORT[package]
    found = []
    for line, name in imported(ast.parse(source)):
        top, _, rest = name.partition(".")
        target = rest.partition(".")[0]
        if name.startswith("."):
            found.append(f"{path}:{line}: relative import")
        elif top == "dpsql" and _is_room(target) and target not in allowed:
            found.append(f"{path}:{line}: {package} may not import {name}")
        elif top in FENCED and not FENCED[top] & {package, path}:
            found.append(f"{path}:{line}: {top} may not be imported here")
    return found


def main() -> int:
    found = [
        line
        for file in sorted(SOURCE.rglob("*.py"))
        for line in violations(file.relative_to(SOURCE).as_posix(), file.read_text(encoding="utf-8"))
    ]
    print("\n".join(found) or "import rules: kept")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
