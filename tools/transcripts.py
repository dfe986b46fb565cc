"""The outputs that the pages show, made by running what stands above them.

A block ```console holds commands after `$ ` and what they print; a block ```text right below a block ```python is what
that one prints. `--write` runs them and writes down what came; a test compares. Noise is new in each run, so the rows
of a table are compared in shape alone; prices, margins outside of tables and every word must be the same. A line of
the page that is `…` stands for any lines, and `…` inside a line for anything.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from unittest import mock

ROOT: Final = Path(__file__).parent.parent
PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
_BLOCK: Final = re.compile(r"^```(?P<kind>console|python|text)\n(?P<body>.*?)^```$", re.M | re.S)
_NUMBER: Final = re.compile(r"[-−]?\d[\d\s.,]*")
_FLEETING: Final = re.compile(r"\b[0-9a-f]{8,}\b|\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(\.\d+)?( UTC|Z)?")
_LEGEND: Final = " · ⚠ the noise may be all there is: do not use these cells"
_OF_NOISE: Final = ("⚠ the noise may", "note: a count below 0")
"""What is said of an answer only where its noise makes it so."""
_ELSEWHERE: Final = ("pip install", "git clone", "make ", "cd ", "$EDITOR")
"""Commands that set up a machine: what they do is shown by other tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An output as a page shows it."""

    start: int
    end: int
    """Where in the page it stands."""
    text: str
    command: str


def outputs(page: str) -> Iterator[tuple[Shown | None, str]]:
    """Everything a page runs, in order: what it shows of the output, if anything, and what is run. Python begins with
    a line `#python`, so that both kinds share one order."""
    blocks = list(_BLOCK.finditer(page))
    for place, block in enumerate(blocks):
        if block["kind"] == "python":
            following = blocks[place + 1] if place + 1 < len(blocks) else None
            below = (
                following is not None
                and following["kind"] == "text"
                and not page[block.end() : following.start()].strip()
            )
            shown = _of(following, following["body"], "python") if following is not None and below else None
            yield shown, "#python\n" + block["body"]
        elif block["kind"] == "console":
            yield from _of_console(block)


def _of(block: re.Match[str], text: str, command: str) -> Shown:
    return Shown(start=block.start("body"), end=block.end("body"), text=text, command=command)


def _of_console(block: re.Match[str]) -> Iterator[tuple[Shown, str]]:
    """Each command with the lines up to the next one. A command goes on after a backslash."""
    position = block.start("body")
    parts = re.split(r"(?m)^(?=\$ )", block["body"])
    for part in parts:
        match = re.match(r"\$ ((?:.*\\\n)*.*)\n", part)
        if match:
            shown = part[match.end() :]
            begin = position + match.end()
            yield Shown(start=begin, end=begin + len(shown), text=shown, command=match[1]), match[1]
        position += len(part)


def printed(run: str, folder: Path, names: dict[str, object]) -> str | None:
    """What it prints, errors among it; None: it is not run here."""
    if run.startswith("#python\n"):
        return _python(run.removeprefix("#python\n"), names)
    if run.startswith(_ELSEWHERE):
        return None
    words = shlex.split(run)
    if words[0] == "dpsql" and not re.search(r"(?<!\\)[|<>&;$`]", re.sub(r"'[^']*'|\"[^\"]*\"", "", run)):
        return _command(words[1:])
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "NO_COLOR": "1"}
    done = subprocess.run(
        ["bash", "-c", run],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout


def _python(source: str, names: dict[str, object]) -> str:
    """A block with >>> says itself what it prints."""
    if ">>>" not in source:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(source, "page", "exec"), names)
        return out.getvalue()
    parsed = doctest.DocTestParser().get_doctest(source, names, "page", None, 0)
    report: list[str] = []
    if doctest.DocTestRunner().run(parsed, out=report.append, clear_globs=False).failed:
        raise AssertionError("".join(report))
    names.update(parsed.globs)
    return ""


def _command(words: list[str]) -> str:
    from dpsql.cli.main import main

    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)  # a terminal with all letters
    empty = mock.patch.object(sys, "stdin", io.StringIO())
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), contextlib.suppress(SystemExit), empty:
        main(words)
    out.seek(0)
    return out.read()


def shape(text: str) -> list[str]:
    """The lines without what is new in each run."""
    lines = (line for line in text.rstrip("\n").split("\n") if not line.startswith(_OF_NOISE))
    return [_line_shape(line) for line in lines]


def _line_shape(line: str) -> str:
    line = _FLEETING.sub("h", line).replace(_LEGEND, "")
    if "├" in line and "•" in line:  # a bar of a chart with its margin
        return line.split()[0]
    if re.fullmatch(r"[\d\s.,-]+", line):  # the numbers below it
        return "axis"
    if line.startswith(("│", "|", "┌", "├", "└", "+")):
        line = re.sub(r"± +\?", "± 0", line)  # of an average over next to nobody: known or not, as the noise falls
        line = _NUMBER.sub("0", line.replace(" ⚠", "  ").replace("≈", " "))
        line = re.sub(r"[─-]+", "─", line)
    return re.sub(r"\s+", " ", line).rstrip()


def agrees(shown: str, came: str) -> bool:
    """Whether what the page shows is what came, apart from what the page leaves out."""
    pattern = ""
    for line in shape(shown):
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(re.escape(part) for part in line.split("…")) + "\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in shape(came))) is not None


def differences(page: Path) -> list[str]:
    """What the page shows that did not come."""
    return [
        f"{page.name}: {shown.command}\n--- shown\n{shown.text}--- came\n{came}"
        for shown, came in run(page.read_text(encoding="utf-8"))
        if not agrees(shown.text, came)
    ]


def run(page: str) -> Iterator[tuple[Shown, str]]:
    """Each output of a page with what came now. The page has a folder of its own, and one set of Python names."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            names: dict[str, object] = {}
            for shown, what in outputs(page):
                came = printed(what, Path(folder), names)
                if shown is not None and came is not None:
                    yield shown, came
        finally:
            os.chdir(before)


def written(page: str) -> str:
    """The page with what comes now; an output that is shown in part stays as it is where it agrees."""
    text, moved = page, 0
    for shown, came in run(page):
        if agrees(shown.text, came):
            continue
        came = came.rstrip("\n") + "\n" if came.strip() else ""
        text = text[: shown.start + moved] + came + text[shown.end + moved :]
        moved += len(came) - (shown.end - shown.start)
    return text


def main(arguments: list[str]) -> int:
    """Compare, or with --write bring the pages up to date; pages may be named."""
    named = [Path(word).resolve() for word in arguments if not word.startswith("-")]
    wrong = 0
    for page in named or PAGES:
        if "--write" in arguments:
            text = page.read_text(encoding="utf-8")
            page.write_text(written(text), encoding="utf-8")
            continue
        for line in differences(page):
            print(line)
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
