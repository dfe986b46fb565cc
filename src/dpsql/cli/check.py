"""`dpsql check`: what is left to do before a policy can be used, a line each. No row is read."""

from __future__ import annotations

import argparse
from typing import Final

import dpsql
from dpsql.cli.manner import MEANINGS, add_plain, manner_of, tell
from dpsql.cli.registry import COMMANDS, POLICY, Commands

UNFINISHED: Final = 8


def add_to(commands: Commands) -> None:
    """The command and its options."""
    parser = commands.add_parser(
        "check",
        help=COMMANDS["check"],
        description="List every line that waits to be confirmed and every mistake, with file and line. Names and types "
        "of the data are read, no row is. Files that other users of the machine can read are named; files or folders "
        "that they can write are left to do.",
        epilog=MEANINGS,
    )
    parser.add_argument("--policy", default=POLICY, help="the policy file (default: dpsql.toml)")
    add_plain(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """The list on standard output; what is worth knowing on standard error."""
    review = dpsql.PolicyFile(chosen.policy).review()
    tell(review.lines(), chosen)
    manner = manner_of(chosen)
    for note in review.notes:
        manner.say(f"note: {note}")
    for exposure in review.exposed:
        manner.say(f"{'left to do' if exposure.writable else 'note'}: {exposure}")
    if review.unreachable is not None and not review.tasks:
        raise review.unreachable
    if review.unreachable is not None:
        manner.say(str(review.unreachable))
    return UNFINISHED if review.tasks or any(exposure.writable for exposure in review.exposed) else 0
