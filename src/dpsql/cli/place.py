"""Which ledger a command is about: that of a policy, or one that is named. No data source is opened for it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import dpsql
from dpsql.cli.ending import MEANINGS
from dpsql.cli.reading import read_by
from dpsql.cli.registry import Commands
from dpsql.written import moment

if TYPE_CHECKING:
    from dpsql import Keeper

POLICY = "dpsql.toml"


def command(commands: Commands, name: str, about: str) -> argparse.ArgumentParser:
    """A command on a ledger, with the words that say which."""
    parser = commands.add_parser(name, help=about, description=about[:1].upper() + about[1:] + ".", epilog=MEANINGS)
    parser.add_argument("--policy", help="the policy file (default: dpsql.toml, unless --ledger is said)")
    parser.add_argument("--ledger", metavar="FILE", help="the ledger itself, where there is no policy at hand")
    return parser


def opened(chosen: argparse.Namespace) -> Keeper:
    """The ledger the arguments name."""
    return dpsql.open_ledger(policy_of(chosen), ledger=chosen.ledger)


def policy_of(chosen: argparse.Namespace) -> str | None:
    """The policy file; None where a ledger alone is named."""
    return chosen.policy or (None if chosen.ledger else POLICY)


def add_since(parser: argparse.ArgumentParser, about: str) -> None:
    """From when on a command tells: a day or a time of UTC, as in 2026-10-01 or 2026-10-01T18:00."""
    parser.add_argument("--since", action=read_by(moment), metavar="DATE", help=about)
