"""The points are told to whoever listens in this process, by name alone; nothing else can make them do anything."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import dpsql.points
from dpsql.points import Point, reached

SOURCE = Path(dpsql.points.__file__).parent

LISTENING = """
import sys
from dpsql.points import Point, reached
heard = []
sys.addaudithook(lambda event, values: heard.append((event, values)) if event.startswith("dpsql.") else None)
for point in Point:
    reached(point)
assert heard == [("dpsql.reached", (point.name,)) for point in Point], heard
"""


def test_a_point_nobody_listens_at_is_nothing_and_no_word_is_there_twice():
    assert [reached(point) for point in Point] == [None] * len(Point)
    assert len({point.value for point in Point}) == len(Point)


def test_a_listener_hears_names_and_no_values():
    subprocess.run([sys.executable, "-c", LISTENING], check=True, env=os.environ)


def test_in_dpsql_only_the_command_line_and_workers_listen():
    """The command line shows where a question is, in fixed words, and a worker is not ended while a charge is written,
    or between draw and store; nothing that answers hears a point."""
    listening = {
        file.relative_to(SOURCE).as_posix()
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == "addaudithook"
    }
    assert listening == {"cli/manner.py", "serve/workers.py"}
    tree = ast.parse(Path(dpsql.points.__file__).read_text())
    imports = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert imports == {"sys"}  # no environment, no files
