"""`dpsql cost`, `explain` and `simulate` "SQL": what DRY RUN, EXPLAIN PRIVACY and SIMULATE say, free of charge.

The question may say so itself, as in `dpsql cost "DRY RUN SELECT …"`: errors propose such questions.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import dpsql
from dpsql.cli.ask import add_question, asked
from dpsql.cli.asking import Wishes
from dpsql.cli.registry import COMMANDS, Commands

if TYPE_CHECKING:
    from dpsql import Statement


def add_to(commands: Commands) -> None:
    """The commands and their options."""
    for name, run in (("cost", cost), ("explain", explain), ("simulate", simulate)):
        add_question(commands, name, COMMANDS[name], run)


def cost(chosen: argparse.Namespace) -> int:
    """Price and margins in a few lines on standard output: the same as `--dry-run`."""
    return asked(chosen, _queries(chosen.sql, "dry_run"), Wishes(dry_run=True))


def explain(chosen: argparse.Namespace) -> int:
    """The explanation on standard output, as JSON what programs check again."""
    statements = _queries(chosen.sql, "explain", "explain_json")
    if chosen.format == "json" or any(each.purpose == "explain_json" for each in dpsql.script(chosen.sql)):
        return asked(chosen, statements, Wishes(before="EXPLAIN PRIVACY (FORMAT JSON)", verbatim=True))
    return asked(chosen, statements, Wishes(before="EXPLAIN PRIVACY"))


def simulate(chosen: argparse.Namespace) -> int:
    """An answer about nobody on standard output: its shape, on rows that are made from the policy alone."""
    return asked(chosen, _queries(chosen.sql, "simulate"), Wishes(before="SIMULATE"))


def _queries(text: str, *purposes: str) -> list[Statement]:
    """The statements, without the words that the command says itself."""
    return [each.query if each.purpose in purposes else each for each in dpsql.script(text)]
