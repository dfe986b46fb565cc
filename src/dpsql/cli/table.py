"""`dpsql table list|show|confirm|suggest`: the tables of a policy as they stand in its file."""

from __future__ import annotations

import argparse

import dpsql
from dpsql import BadParameter
from dpsql.cli import table_suggest
from dpsql.cli.ending import MEANINGS
from dpsql.cli.manner import add_plain, is_plain, say
from dpsql.cli.place import POLICY
from dpsql.cli.registry import COMMANDS, Commands
from dpsql.cli.telling import tell


def add_to(commands: Commands) -> None:
    """The command and what it can do."""
    parser = commands.add_parser("table", help=COMMANDS["table"])
    parts = parser.add_subparsers(dest="part", required=True, metavar="PART")
    _part(parts, "list", "every table, the way to its person, and what waits to be confirmed").set_defaults(run=_list)
    shown = _part(parts, "show", "what the file says about a table, with the numbers of its lines")
    shown.add_argument("name", metavar="TABLE")
    shown.set_defaults(run=_show)
    confirmed = _part(parts, "confirm", "take # CONFIRM out of the lines of a table, a column or a section")
    confirmed.add_argument("names", nargs="*", metavar="TABLE[.COLUMN]", help="or a section: person, promise, defaults")
    confirmed.add_argument("--all", action="store_true", help="every line of the file but those that need a decision")
    confirmed.set_defaults(run=_confirm)
    table_suggest.add_to(parts)


def _part(parts: Commands, name: str, about: str) -> argparse.ArgumentParser:
    parser = parts.add_parser(name, help=about, description=about[:1].upper() + about[1:] + ".", epilog=MEANINGS)
    parser.add_argument("--policy", default=POLICY, help="the policy file (default: dpsql.toml)")
    add_plain(parser)
    return parser


def _list(chosen: argparse.Namespace) -> int:
    tell(dpsql.PolicyFile(chosen.policy).tables(), chosen)
    return 0


def _show(chosen: argparse.Namespace) -> int:
    tell(dpsql.PolicyFile(chosen.policy).table(chosen.name), chosen)
    return 0


def _confirm(chosen: argparse.Namespace) -> int:
    """What was confirmed, a line each; how much is left goes to standard error."""
    if not chosen.names and not chosen.all:
        raise BadParameter(
            "say what is confirmed: names, or --all",
            why="each line that is confirmed decides who is protected, and how",
            fix="dpsql table confirm visits visits.charge promise, or dpsql table confirm --all",
        )
    found = dpsql.PolicyFile(chosen.policy).confirm(*chosen.names, everything=chosen.all)
    tell(found.lines, chosen)
    for line in found.undecided:
        say(line, plain=is_plain(chosen))
    done = f"{len(found.lines)} confirmed" if found.lines else "nothing was waiting there"
    rest = f"{done}, {found.left} left" if found.left else f"{done}; what remains, if anything: dpsql check"
    needed = ": nobody has decided them. Look at each, then name its table, column or section"
    say(f"{rest}{needed if found.undecided else ''}")
    return 0
