"""A shell without a terminal: what it would show is text, what they would answer is a list."""

import io
import os
from contextlib import suppress
from itertools import count

import duckdb
import pytest

import dpsql
from dpsql.cli.shell import loop
from dpsql.cli.shell.reader import LineReader
from dpsql.cli.shell.screen import Screen
from dpsql.cli.shell.state import Shell


class Scene:
    """A shell, what it has said, and what the person will answer."""

    def __init__(self, asker):
        self.answers = []
        self.asked = []
        self.out, self.err = io.StringIO(), io.StringIO()
        screen = Screen(
            out=self.out, err=self.err, ascii=False, paged=False, key=self._key,
            size=lambda: os.terminal_size((100, 40)),
        )  # fmt: skip
        self.shell = Shell(asker=asker, screen=screen, reader=LineReader(source=io.StringIO()), source="clinic")

    def _key(self, prompt):
        self.asked.append(prompt)
        if not self.answers:
            raise EOFError
        return self.answers.pop(0)

    def said(self):
        """What was shown since this was asked last."""
        text = self.out.getvalue() + self.err.getvalue()
        for stream in (self.out, self.err):
            stream.seek(0)
            stream.truncate()
        return text


@pytest.fixture(autouse=True)
def faults_are_raised(monkeypatch):
    """A shell tells a bug in one sentence and goes on; a test shall see the bug itself."""

    def raised(error):
        raise error

    monkeypatch.setattr(loop, "our_fault", raised)


@pytest.fixture(scope="session")
def owner():
    rows = duckdb.connect()
    people = rows.sql(
        "SELECT range AS id, range % 90 AS age, CASE range % 2 WHEN 0 THEN 'Bern' ELSE 'Basel' END AS city "
        "FROM range(400)"
    )
    with dpsql.open(":memory:") as found:
        found.register(
            "people", people, person="id", unique=True, bounds={"age": (0, 100)},
            keys={"city": ["Basel", "Bern"]}, hidden=["id"],
        )  # fmt: skip
        found.promise(epsilon=1000)
        found.defaults(cost_per_query=0.05, noise="laplace", max_keys=10)
        yield found
    with suppress(duckdb.Error):
        rows.close()


_NUMBERS = count()


@pytest.fixture
def scene(owner):
    """Everybody who asks is somebody else: nothing of the others is told again."""
    return Scene(owner.grant(f"ana{next(_NUMBERS)}", budget=1))


@pytest.fixture
def scene_of():
    return Scene
