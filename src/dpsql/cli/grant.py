"""`dpsql grant` and `dpsql revoke`: who may spend how much of the promise."""

from __future__ import annotations

import argparse

from dpsql import BadParameter
from dpsql.cli.manner import say
from dpsql.cli.registry import COMMANDS, Commands, command, opened, read_by
from dpsql.require import shown
from dpsql.written import number


def add_to(commands: Commands) -> None:
    """Both commands."""
    given = command(commands, "grant", COMMANDS["grant"])
    given.add_argument("name", nargs="?", metavar="NAME")
    given.add_argument("--budget", required=True, action=read_by(number), metavar="EPSILON", help="in ε of the promise")
    given.add_argument("--max-per-query", action=read_by(number), metavar="EPSILON", help="what one answer may cost")
    given.add_argument("--tables", type=lambda text: text.split(","), metavar="A,B", help="these tables only")
    given.add_argument("--expires", metavar="DATE", help="the first day (UTC) without the grant")
    given.add_argument("--sees-releases", action="store_true", help="answers to others are told again, for nothing")
    given.set_defaults(run=_grant)
    taken = command(commands, "revoke", COMMANDS["revoke"])
    taken.add_argument("name", metavar="NAME")
    taken.set_defaults(run=_revoke)


def _grant(chosen: argparse.Namespace) -> int:
    if chosen.name is None:
        raise BadParameter(
            "the grant names no analyst",
            why="each analyst has a budget of their own",
            fix=f"write the name first: dpsql grant ana --budget {shown(chosen.budget)}",
        )
    with opened(chosen) as keeper:
        keeper.grant(
            chosen.name,
            budget=chosen.budget,
            max_per_query=chosen.max_per_query,
            tables=chosen.tables,
            expires=chosen.expires,
            sees_releases=chosen.sees_releases or None,
        )
        left = keeper.left_of_grant(chosen.name)
    where = "on every table" if chosen.tables is None else f"on {', '.join(chosen.tables)}"
    each = "" if chosen.max_per_query is None else f", at most {shown(chosen.max_per_query)} a query"
    say(f"{chosen.name} may spend {shown(chosen.budget)} in all, {where}{each}")
    if not left:
        say(
            f"note: {chosen.name} has spent that much already, or more: only stored answers are told now. A budget"
            " counts from the first question on; dpsql budget show says what was spent"
        )
    return 0


def _revoke(chosen: argparse.Namespace) -> int:
    with opened(chosen) as keeper:
        keeper.revoke(chosen.name)
    say(f"{chosen.name} may spend nothing more; tokens that name this grant have ended")
    return 0
