"""`dpsql plan FILE.sql …`: what the questions of some files would cost. Nothing is read but names and types."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

import dpsql
from dpsql.cli.ending import MEANINGS
from dpsql.cli.manner import add_plain, is_plain
from dpsql.cli.overview import overview
from dpsql.cli.registry import COMMANDS, Commands
from dpsql.cli.texts import text_of

if TYPE_CHECKING:
    from dpsql import Planner

_CODES = f"It ends with 0 where every statement has a line, refused ones too. {MEANINGS}"


def add_to(commands: Commands) -> None:
    """The command and its options."""
    parser = commands.add_parser("plan", help=COMMANDS["plan"], epilog=_CODES)
    parser.add_argument("files", nargs="+", metavar="FILE.sql", help="files of SQL statements; - is standard input")
    parser.add_argument("--policy", default="dpsql.toml", help="the policy file (default: dpsql.toml)")
    parser.add_argument(
        "--format",
        choices=["table", "jsonl"],
        help="a table with a total, or one JSON object per statement (default: table on a terminal, else jsonl)",
    )
    add_plain(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """One line per statement on standard output; everything else on standard error."""
    with dpsql.Planner(chosen.policy) as planner:
        return _priced(planner, chosen)


def _priced(planner: Planner, chosen: argparse.Namespace) -> int:
    as_table = (chosen.format or ("table" if sys.stdout.isatty() else "jsonl")) == "table"
    listed = []
    for name in chosen.files:
        text = text_of(name, why="its questions were to be priced")
        for verdict in planner.verdicts(text):
            if as_table:
                listed.append((name, verdict))
            else:
                print(json.dumps({"file": name, **verdict.as_json()}))
    if as_table:
        print(overview(listed, promised=planner.promised, plain=is_plain(chosen)), end="")
    return 0
