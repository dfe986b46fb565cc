"""`dpsql budget show|history`: what is left of the promise and of each grant, and what was paid."""

from __future__ import annotations

import argparse

from dpsql.cli.place import Commands, add_since, command, opened


def add_to(commands: Commands) -> None:
    """The command and what it can do."""
    parser = commands.add_parser("budget", help="what is left, and what was paid")
    parts = parser.add_subparsers(dest="part", required=True, metavar="PART")
    command(parts, "show", "what the promise and each grant have left").set_defaults(run=_show)
    history = command(parts, "history", "every payment, a line each")
    history.add_argument("--of", metavar="NAME", help="of this analyst only")
    add_since(history, "from this day on (UTC)")
    history.set_defaults(run=_history)


def _show(chosen: argparse.Namespace) -> int:
    with opened(chosen) as keeper:
        for line in keeper.budget_lines():
            print(line)
    return 0


def _history(chosen: argparse.Namespace) -> int:
    with opened(chosen) as keeper:
        for line in keeper.history(of=chosen.of, since=chosen.since):
            print(line)
    return 0
