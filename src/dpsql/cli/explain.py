"""`dpsql explain "SQL"`: how the answer would be protected, step by step. The same as EXPLAIN PRIVACY."""

from __future__ import annotations

import argparse

from dpsql.cli.ask import add_question, asked
from dpsql.cli.asking import Wishes
from dpsql.cli.prefix import EXPLAIN, without
from dpsql.cli.registry import COMMANDS, Commands


def add_to(commands: Commands) -> None:
    """The command and its options."""
    add_question(commands, "explain", COMMANDS["explain"], run)


def run(chosen: argparse.Namespace) -> int:
    """The explanation on standard output, as JSON what programs check again; nothing is read, nothing is spent."""
    texts, found = [without(EXPLAIN, chosen.sql)], EXPLAIN.match(chosen.sql)
    if chosen.format == "json" or (found is not None and found[1]):
        return asked(chosen, texts, Wishes(before="EXPLAIN PRIVACY (FORMAT JSON)", verbatim=True))
    return asked(chosen, texts, Wishes(before="EXPLAIN PRIVACY"))
