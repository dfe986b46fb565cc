"""`dpsql user add|list|token|remove`: who may connect to `dpsql serve`, and as what."""

from __future__ import annotations

import argparse

from dpsql.cli.manner import say
from dpsql.cli.registry import COMMANDS, Commands, command, opened

_ROLES = ["analyst", "auditor", "owner"]


def add_to(commands: Commands) -> None:
    """The command and what it can do."""
    parser = commands.add_parser("user", help=COMMANDS["user"])
    parts = parser.add_subparsers(dest="part", required=True, metavar="PART")
    added = command(parts, "add", "let somebody connect; prints their token, once")
    added.add_argument("name", metavar="NAME")
    added.add_argument("--role", required=True, choices=_ROLES)
    _add_grant(added, "that of NAME")
    added.set_defaults(run=_add)
    command(parts, "list", "who may connect, and as what").set_defaults(run=_list)
    for name, about, run in (
        ("token", "make a new token; the one before it counts no longer", _token),
        ("remove", "let somebody connect no more", _remove),
    ):
        named = command(parts, name, about)
        named.add_argument("name", metavar="NAME")
        named.set_defaults(run=run)
        if name == "token":
            _add_grant(named, "the one it was for")


def _add_grant(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument("--grant", metavar="GRANT", help=f"which grant pays for what NAME asks (default: {default})")


def _add(chosen: argparse.Namespace) -> int:
    with opened(chosen) as keeper:
        print(keeper.admit(chosen.name, role=chosen.role, grant=chosen.grant))
    say("this token is shown once; only a hash of it is kept")
    return 0


def _list(chosen: argparse.Namespace) -> int:
    with opened(chosen) as keeper:
        for user in keeper.users():
            print("\t".join(filter(None, (user.name, user.role.value, user.grant))))
    return 0


def _token(chosen: argparse.Namespace) -> int:
    with opened(chosen) as keeper:
        print(keeper.new_token(chosen.name, grant=chosen.grant))
    say("this token is shown once; the one before it counts no longer")
    return 0


def _remove(chosen: argparse.Namespace) -> int:
    with opened(chosen) as keeper:
        keeper.dismiss(chosen.name)
    say(f"{chosen.name} can connect no more; what was granted stays until `dpsql revoke`")
    return 0
