"""`dpsql cost`, `explain` and `simulate` "SQL": what DRY RUN, EXPLAIN PRIVACY and SIMULATE say, free of charge.

The question may say so itself, as in `dpsql cost "DRY RUN SELECT …"`: errors propose such questions.
"""

from __future__ import annotations

import argparse
import re
from typing import Final

import dpsql
from dpsql.cli.ask import add_question, asked
from dpsql.cli.asking import Wishes
from dpsql.cli.registry import COMMANDS, Commands

DRY_RUN: Final = re.compile(r"\A\s*DRY\s+RUN\b", re.IGNORECASE)
EXPLAIN: Final = re.compile(r"\A\s*EXPLAIN\s+PRIVACY\b(?:\s*\(\s*FORMAT\s+(JSON)\s*\))?(?!\s+DIFF\b)", re.IGNORECASE)
"""Its group: the explanation is wanted as JSON."""
SIMULATE: Final = re.compile(r"\A\s*SIMULATE\b", re.IGNORECASE)
_NOT_A_BREAK: Final = re.compile(r"[^\r\n]")


def add_to(commands: Commands) -> None:
    """The commands and their options."""
    for name, run in (("cost", cost), ("explain", explain), ("simulate", simulate)):
        add_question(commands, name, COMMANDS[name], run)


def cost(chosen: argparse.Namespace) -> int:
    """Price and margins in a few lines on standard output: the same as `--dry-run`."""
    return asked(chosen, [without(DRY_RUN, chosen.sql)], Wishes(dry_run=True))


def explain(chosen: argparse.Namespace) -> int:
    """The explanation on standard output, as JSON what programs check again."""
    texts, found = [without(EXPLAIN, chosen.sql)], EXPLAIN.match(chosen.sql)
    if chosen.format == "json" or (found is not None and found[1]):
        return asked(chosen, texts, Wishes(before="EXPLAIN PRIVACY (FORMAT JSON)", verbatim=True))
    return asked(chosen, texts, Wishes(before="EXPLAIN PRIVACY"))


def simulate(chosen: argparse.Namespace) -> int:
    """An answer about nobody on standard output: its shape, on rows that are made from the policy alone."""
    return asked(chosen, [without(SIMULATE, chosen.sql)], Wishes(before="SIMULATE"))


def without(words: re.Pattern[str], text: str) -> str:
    """The text with blanks for the words in front of each statement, so that every place in it stays the same."""
    for statement in dpsql.script(text):
        if found := words.match(statement.sql):
            start, end = statement.offset, statement.offset + found.end()
            text = f"{text[:start]}{_NOT_A_BREAK.sub(' ', text[start:end])}{text[end:]}"
    return text
