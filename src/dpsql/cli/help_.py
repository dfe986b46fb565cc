"""`dpsql help [TOPIC]`: what an error code or a theorem means. Nothing is opened or read for it."""

from __future__ import annotations

import argparse
import sys
from shutil import get_terminal_size

import dpsql
from dpsql.cli.manner import tell
from dpsql.cli.registry import COMMANDS, Commands


def add_to(commands: Commands) -> None:
    """The command and its topic."""
    about = COMMANDS["help"]
    parser = commands.add_parser("help", help=about, description=f"Tell {about}; without a topic, list them all.")
    parser.add_argument("topic", nargs="*", metavar="TOPIC", help="DP102, or proof M1")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """The page on standard output."""
    topic = " ".join(chosen.topic) or None
    if not sys.stdout.isatty():  # the very text of dpsql.help
        tell([dpsql.help(topic)], chosen)
        return 0
    tell([dpsql.help(topic, columns=min(get_terminal_size((100, 24)).columns, 100))], chosen)
    return 0
