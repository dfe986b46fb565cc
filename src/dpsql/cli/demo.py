"""`dpsql demo`: an invented hospital to ask, a tour of it, and with --attack the story of Bob."""

from __future__ import annotations

import argparse
import os
import selectors
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import dpsql
from dpsql import BadParameter
from dpsql.cli import ask
from dpsql.cli.manner import is_plain, say
from dpsql.cli.registry import COMMANDS, Commands

if TYPE_CHECKING:  # stories are loaded when they are told, not by every command
    from dpsql.demonstration.stage import Stage

_NOW_YOU: Final = """
Now you: dpsql demo -c "SELECT city, COUNT(*) AS n FROM patients GROUP BY city"
Next:    dpsql demo --attack, an attack on one of the patients"""


_PATIENCE: Final = 0.5
"""Seconds in which questions have to come from a pipe."""
_OF_QUESTIONS: Final = {
    **dict.fromkeys(("epsilon", "within", "confidence", "max_cost", "intervals", "output", "plot")),
    **dict.fromkeys(("dry_run", "strict_accuracy", "quiet"), False),
    "format": "table",
}
"""Options that speak of questions, with their values where nobody says them."""


def add_to(commands: Commands) -> None:
    """The command and its options."""
    about = COMMANDS["demo"]
    parser = commands.add_parser("demo", help=about, description=about)
    parser.add_argument("--attack", action="store_true", help="how counts give somebody away, and what stops it")
    parser.add_argument("--no-pause", action="store_true", help="to the end without waiting for a key, and no shell")
    ask.add_questions(parser)
    parser.set_defaults(run=run, target="demo")


def run(chosen: argparse.Namespace) -> int:
    """The story, or the answers to what is asked, on standard output; everything else on standard error."""
    if not (chosen.said or chosen.attack or chosen.no_pause or sys.stdin.isatty()):
        chosen.said = _piped()
    _require_sense(chosen)
    if chosen.said:
        return ask.run(chosen)
    from dpsql.demonstration import attack, tour

    stage = _stage(chosen)
    if chosen.attack:
        stage.tell(attack.pages(stage))
        return 0
    with dpsql.demo() as ana:
        stage.tell(tour.pages(ana, stage))
    if not _waits(chosen):
        print(_NOW_YOU)
        return 0
    from dpsql.cli import shell

    with dpsql.demo() as ana:  # a hospital of their own: what the tour has spent is not theirs to miss
        left = f"You have {ana.budget.shown} to spend"
        print("\n" + stage.lettered(f"Now you. {left}. \\? lists what the shell can do, \\q leaves."), flush=True)
        return shell.run(ana, source="demo", plain=stage.plain, colour=stage.bold, history=not chosen.no_history)


def _piped() -> tuple[tuple[str, str], ...] | None:
    """The questions on standard input; None where nothing comes: whoever starts programs may leave a pipe open."""
    from dpsql.cli.asking import STDIN, text_of

    if _is_silent():
        say("note: standard input is open and nothing came, so it is not read; questions: dpsql demo -f FILE")
        return None
    text = text_of(STDIN, why="its statements were to be asked")
    return (("-c", text),) if text.strip() else None


def _is_silent() -> bool:
    with suppress(OSError, ValueError), selectors.DefaultSelector() as waiting:  # a file is read at once
        waiting.register(sys.stdin, selectors.EVENT_READ)
        return not waiting.select(_PATIENCE)
    return False


def _require_sense(chosen: argparse.Namespace) -> None:
    """A story is no question, and has no price, format or file: what was said for nothing would mislead."""
    of_questions = [name for name, unsaid in _OF_QUESTIONS.items() if getattr(chosen, name) != unsaid]
    if chosen.said and chosen.attack:
        raise BadParameter("a question and --attack are both said", why="one is answered, one is told", fix="say one")
    if of_questions and not chosen.said:
        raise BadParameter(
            f"--{of_questions[0].replace('_', '-')} was said, and no question",
            why="it says how a question is answered",
            fix='say a question: dpsql demo -c "SELECT …"; or leave the option out',
        )


def _stage(chosen: argparse.Namespace) -> Stage:
    """The terminal it is told in: letters it has, and a reader who is waited for if there is one."""
    from dpsql.demonstration.stage import Stage

    plain = is_plain(chosen)
    unadorned = plain or chosen.no_color or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    bold = sys.stdout.isatty() and not unadorned
    return Stage(plain=plain, bold=bold, hear=_heard if _waits(chosen) else lambda words: None)


def _waits(chosen: argparse.Namespace) -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty() and not chosen.no_pause


def _heard(words: str) -> str | None:
    print(f"\n{words}", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline() or None
