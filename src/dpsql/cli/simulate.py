"""`dpsql simulate "SQL"`: the shape of an answer, on rows that are made from the policy alone. The same as SIMULATE."""

from __future__ import annotations

import argparse

from dpsql.cli.ask import add_question, asked
from dpsql.cli.asking import Wishes
from dpsql.cli.prefix import SIMULATE, without
from dpsql.cli.registry import COMMANDS, Commands


def add_to(commands: Commands) -> None:
    """The command and its options."""
    add_question(commands, "simulate", COMMANDS["simulate"], run)


def run(chosen: argparse.Namespace) -> int:
    """An answer about nobody on standard output; nothing is read, nothing is spent."""
    return asked(chosen, [without(SIMULATE, chosen.sql)], Wishes(before="SIMULATE"))
