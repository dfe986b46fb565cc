"""`dpsql init URL`: a policy suggested from the catalogue of a source. No row is read."""

from __future__ import annotations

import argparse

import dpsql
from dpsql.cli.manner import MEANINGS, add_plain, tell
from dpsql.cli.registry import COMMANDS, POLICY, Commands


def add_to(commands: Commands) -> None:
    """The command and its options."""
    parser = commands.add_parser(
        "init",
        help=COMMANDS["init"],
        description="Write a policy file from names, types, keys, checks and comments of a database. No row, no "
        "statistic and no row count is read. Every line waits to be confirmed.",
        epilog=MEANINGS,
    )
    parser.add_argument("url", metavar="URL", help="as in duckdb:///srv/hospital.duckdb, or the path of a DuckDB file")
    parser.add_argument("--output", default=POLICY, metavar="FILE", help="the policy file (default: dpsql.toml)")
    parser.add_argument("--like", metavar="CSV", help="a public file with the same columns: its values suggest bounds")
    parser.add_argument("--force", action="store_true", help="write over a file that is there")
    add_plain(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """What was read and proposed, and what to do next."""
    suggested = dpsql.suggest_policy(chosen.url, output=chosen.output, like=chosen.like, force=chosen.force)
    tell(suggested.lines, chosen)
    return 0
