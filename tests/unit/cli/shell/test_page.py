"""The page of the shell shows the commands there are, and a session as it comes."""

import io
import os
import re
import shutil
import sys

import dpsql
from dpsql.cli.shell import run
from tests.kits.scripts import script

PROMPT = "ana@hospital> "
ANSWERED = re.compile(r"(?<=\[y/N\] )(\w)$", re.MULTILINE)
"""What they said to a question."""
TOOL = script("shell_commands")


def test_the_commands_are_those_of_the_table():
    page = TOOL.page()
    assert page == TOOL.PAGE.read_text(encoding="utf-8")
    assert page.count("\n| `\\") == len(TOOL.COMMANDS)


def masked(text):
    """Noise draws other digits every time, and a price has as many of them as it needs."""
    return re.sub(r"\d(?:[\d.\u2009]*\d)?", "#", text)


def test_the_session_is_what_comes(monkeypatch):
    shown = re.search(r"```text\n(.*?)```", TOOL.PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    typed = [line.removeprefix(PROMPT) for line in shown.splitlines() if line.startswith(PROMPT)]
    said = ANSWERED.findall(shown)
    lines = [each for line in typed for each in ([line, said.pop(0)] if line.startswith("\\more") else [line])]
    out = io.StringIO()
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((80, 24)))
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, out)
    monkeypatch.setattr(sys, "stdin", _Echoing("".join(f"{line}\n" for line in lines), out))
    with dpsql.demo() as ana:
        assert run(ana, source="hospital") == 0
    assert masked(out.getvalue()) == masked(shown)


class _Echoing(io.StringIO):
    """What is typed is seen, as on a terminal."""

    def __init__(self, text, out):
        super().__init__(text)
        self._out = out

    def readline(self, size=-1):
        line = super().readline(size)
        self._out.write(line)
        return line
