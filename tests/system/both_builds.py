"""What the fixtures are read as under one build of the SQL parser: `python both_builds.py pure` or `compiled`.

The compiled build puts extension modules beside the sources of the same package. Without them the sources are loaded.
"""

from __future__ import annotations

import importlib.machinery as machinery
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

BUILDS = ("pure", "compiled")
PARTS = ("tokenizer_core", "parser", "expressions.core")
"""Modules that say which build is at work."""
SENTENCES = 400


def read_by(build: str) -> dict[str, object]:
    """Tree, places and verdict of every text, from a process of its own."""
    found = subprocess.run([sys.executable, __file__, build], capture_output=True, text=True, check=True)
    return json.loads(found.stdout)


def without_extensions(package: Path) -> None:
    """Load this package from its sources alone."""

    def finder(path: str) -> machinery.FileFinder:
        if not Path(path).is_relative_to(package):
            raise ImportError(path)
        return machinery.FileFinder(path, (machinery.SourceFileLoader, machinery.SOURCE_SUFFIXES))

    sys.path_hooks.insert(0, finder)


def report() -> dict[str, object]:
    import sqlglot

    from fixtures import ALL
    from hospital import opened, well_behaved
    from sentences import sentence

    analyst = opened(well_behaved())
    texts = [fixture.sql for fixture in ALL]
    texts += [sentence(analyst.place.catalog, f"builds.{number}").text for number in range(SENTENCES)]
    files = {part: sys.modules[f"{sqlglot.__name__}.{part}"].__file__ for part in PARTS}
    return {"files": files, "read": {text: read(analyst, text) for text in texts}}


def read(analyst, text: str) -> list[str]:
    """The tree with its places, and the verdict with its words or its price."""
    import dpsql
    from dpsql.sql.parse import parse

    try:
        tree = repr(parse(text, dialect="duckdb"))
        plan = analyst.query(text).sealed.plan
    except dpsql.DpsqlError as error:
        return [error.code, str(error), repr(error.at)]
    return [tree, str(plan.terms.cost), repr(plan.recalled.identity)]


if __name__ == "__main__":
    if sys.argv[1] == "pure":
        without_extensions(Path(find_spec("sqlglot").origin).parent)
    sys.path.insert(0, str(Path(__file__).parent))
    sys.stdout.write(json.dumps(report()))
