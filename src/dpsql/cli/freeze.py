"""`dpsql freeze` and `dpsql unfreeze`: stop every answer, and go on."""

from __future__ import annotations

import argparse

from dpsql.cli.manner import say
from dpsql.cli.registry import COMMANDS, Commands, command, opened


def add_to(commands: Commands) -> None:
    """Both commands."""
    for name, about, run in (
        ("freeze", COMMANDS["freeze"], _freeze),
        ("unfreeze", COMMANDS["unfreeze"], _unfreeze),
    ):
        parser = command(commands, name, about)
        parser.add_argument("--reason", required=True, help="why; it stands in the ledger and in the audit")
        parser.set_defaults(run=run)


def _freeze(chosen: argparse.Namespace) -> int:
    with opened(chosen) as keeper:
        keeper.freeze(chosen.reason)
    say("frozen: every question is refused until `dpsql unfreeze`")
    return 0


def _unfreeze(chosen: argparse.Namespace) -> int:
    with opened(chosen) as keeper:
        keeper.unfreeze(chosen.reason)
    say("questions are answered again")
    return 0
