"""`dpsql explain "SQL"`: how the answer would be protected, step by step. The same as EXPLAIN PRIVACY."""

from __future__ import annotations

import argparse

from dpsql.cli.ask import add_question, asked
from dpsql.cli.asking import Wishes
from dpsql.cli.place import Commands


def add_to(commands: Commands) -> None:
    """The command and its options."""
    add_question(commands, "explain", "how the answer to a question would be protected, for nothing", run)


def run(chosen: argparse.Namespace) -> int:
    """The explanation on standard output, as JSON what programs check again; nothing is read, nothing is spent."""
    if chosen.format == "json":
        return asked(chosen, [chosen.sql], Wishes(before="EXPLAIN PRIVACY (FORMAT JSON)", verbatim=True))
    return asked(chosen, [chosen.sql], Wishes(before="EXPLAIN PRIVACY"))
