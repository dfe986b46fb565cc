"""`dpsql budget show|history|renew|close`: what is left of the promise and of each grant; a new period, and the end."""

from __future__ import annotations

import argparse

from dpsql.cli.manner import say, tell
from dpsql.cli.registry import COMMANDS, Commands, add_since, command, opened


def add_to(commands: Commands) -> None:
    """The command and what it can do."""
    parser = commands.add_parser("budget", help=COMMANDS["budget"])
    parts = parser.add_subparsers(dest="part", required=True, metavar="PART")
    command(parts, "show", "what the promise and each grant have left").set_defaults(run=_show)
    history = command(parts, "history", "every payment, a line each")
    history.add_argument("--of", metavar="NAME", help="of this analyst or grant only")
    add_since(history, "from this day on (UTC)")
    history.set_defaults(run=_history)
    renewed = command(parts, "renew", "begin a new period of the promise: every budget starts again from nothing")
    renewed.set_defaults(run=_renew)
    closed = command(parts, "close", "end the promise and every grant; what was promised stays promised")
    closed.add_argument("--reason", required=True, help="why; it stands in the ledger and in the audit")
    closed.set_defaults(run=_close)


def _show(chosen: argparse.Namespace) -> int:
    with opened(chosen) as keeper:
        tell(keeper.budget_lines(), chosen)
    return 0


def _history(chosen: argparse.Namespace) -> int:
    with opened(chosen) as keeper:
        tell(map(str, keeper.history(of=chosen.of, since=chosen.since)), chosen)
    return 0


def _renew(chosen: argparse.Namespace) -> int:
    with opened(chosen) as keeper:
        tell([keeper.renew()], chosen)
    return 0


def _close(chosen: argparse.Namespace) -> int:
    with opened(chosen) as keeper:
        tell([keeper.close_promise(chosen.reason)], chosen)
    say("nothing is answered until `dpsql policy apply --new-promise`")
    return 0
