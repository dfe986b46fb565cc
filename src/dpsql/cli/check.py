"""`dpsql check`: what is left to do before a policy can be used, a line each. No row is read."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from dpsql import PolicyFile
from dpsql.cli.ending import MEANINGS
from dpsql.cli.place import POLICY, Commands

UNFINISHED: Final = 8


def add_to(commands: Commands) -> None:
    """The command and its options."""
    parser = commands.add_parser(
        "check",
        help="list what is left to do in the policy file",
        description="List every line that waits to be confirmed and every mistake, with file and line. Names and types "
        "of the data are read, no row is.",
        epilog=MEANINGS,
    )
    parser.add_argument("--policy", default=POLICY, help="the policy file (default: dpsql.toml)")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """The list on standard output; what is worth knowing on standard error."""
    review = PolicyFile(chosen.policy).review()
    for line in review.lines():
        print(line)
    for note in review.notes:
        print(f"note: {note}", file=sys.stderr)
    if review.unreachable is not None and not review.tasks:
        raise review.unreachable
    if review.unreachable is not None:
        print(review.unreachable, file=sys.stderr)
    return UNFINISHED if review.tasks else 0
