"""`dpsql demo`: an invented hospital, a tour of it, and with --attack the story of Bob."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dpsql.cli.manner import add_plain, is_plain

if TYPE_CHECKING:  # the engine is loaded when the demo is asked for, not by every command
    from dpsql.demonstration.stage import Page, Stage

_NOW_YOU = """
Now you. In Python:

    import dpsql
    ana = dpsql.demo()
    print(ana.sql("SELECT city, COUNT(*) AS n FROM patients GROUP BY city"))

Next: dpsql tour, a lesson of five minutes; dpsql demo --attack, why it is safe."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command and its options."""
    parser = commands.add_parser("demo", help="look around in an invented hospital, or attack somebody in it")
    parser.add_argument(
        "--attack", action="store_true", help="the story of Bob: what counts give away, and what stops it"
    )
    add_stage_options(parser)
    parser.set_defaults(run=run)


def add_stage_options(parser: argparse.ArgumentParser) -> None:
    """How a story is told."""
    add_plain(parser)
    parser.add_argument("--no-pause", action="store_true", help="to the end without waiting for a key")


def run(chosen: argparse.Namespace) -> int:
    """The story on standard output; what waits for a key on standard error."""
    from dpsql import demo
    from dpsql.demonstration import attack, tour

    stage = stage_of(chosen)
    if chosen.attack:
        return told(stage, attack.pages(stage))
    with demo() as ana:
        told(stage, tour.pages(ana, stage))
        print(_NOW_YOU)
    return 0


def told(stage: Stage, pages: Iterable[Page]) -> int:
    """Tell the pages; exit code 0."""
    stage.tell(pages)
    return 0


def stage_of(chosen: argparse.Namespace) -> Stage:
    """The terminal it is told in: letters it has, and a reader who is waited for if there is one."""
    from dpsql.demonstration.stage import Stage

    plain = is_plain(chosen)
    bold = sys.stdout.isatty() and not (plain or chosen.no_color or os.environ.get("NO_COLOR"))
    waits = sys.stdin.isatty() and sys.stdout.isatty() and not chosen.no_pause
    return Stage(plain=plain, bold=bold, hear=_heard if waits else lambda words: None)


def _heard(words: str) -> str | None:
    print(f"\n{words}", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline() or None
