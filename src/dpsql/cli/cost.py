"""`dpsql cost "SQL"`: price and margins of a question, before it is asked. The same as `--dry-run`."""

from __future__ import annotations

import argparse

from dpsql.cli.ask import add_question, asked
from dpsql.cli.asking import Wishes
from dpsql.cli.prefix import DRY_RUN, without
from dpsql.cli.registry import COMMANDS, Commands


def add_to(commands: Commands) -> None:
    """The command and its options."""
    add_question(commands, "cost", COMMANDS["cost"], run)


def run(chosen: argparse.Namespace) -> int:
    """A few lines on standard output; nothing is read, nothing is spent."""
    return asked(chosen, [without(DRY_RUN, chosen.sql)], Wishes(dry_run=True))
