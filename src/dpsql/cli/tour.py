"""`dpsql tour`: a lesson of five minutes, with one question to the reader after each step."""

from __future__ import annotations

import argparse

from dpsql.cli.demo import add_stage_options, stage_of
from dpsql.cli.registry import COMMANDS, Commands


def add_to(commands: Commands) -> None:
    """The command and its options."""
    parser = commands.add_parser("tour", help=COMMANDS["tour"])
    add_stage_options(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """The lesson on standard output; what waits for a key on standard error."""
    from dpsql import demo
    from dpsql.demonstration import lesson

    stage = stage_of(chosen)
    with demo() as ana:
        stage.tell(lesson.pages(ana, stage))
    return 0
