"""`dpsql config`: where profiles stand, and which there are. A token is never shown."""

from __future__ import annotations

import argparse

import dpsql
from dpsql.cli.manner import MEANINGS, say
from dpsql.cli.profiles import Profile, profiles, profiles_file
from dpsql.cli.registry import COMMANDS, Commands


def add_to(commands: Commands) -> None:
    """The command; it has no options."""
    parser = commands.add_parser("config", help=COMMANDS["config"], epilog=MEANINGS)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """A line for each profile on standard output."""
    path = profiles_file()
    say(f"profiles: {path}" + ("" if path.exists() else " (not there yet)"))
    for name, profile in profiles().items():
        print("\t".join(map(dpsql.printable, (name, str(profile.target), profile.user or "", _token(profile)))))
    return 0


def _token(profile: Profile) -> str:
    if profile.token_file is not None:
        return f"token from {profile.token_file}"
    return "" if profile.token is None else "token"
