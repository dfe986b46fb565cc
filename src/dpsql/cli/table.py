"""`dpsql table list|show|confirm|suggest`: the tables of a policy as they stand in its file, and lines to put there."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import dpsql
from dpsql import BadParameter
from dpsql.cli.manner import MEANINGS, add_plain, is_plain, say, tell
from dpsql.cli.registry import COMMANDS, POLICY, Commands, command, read_by
from dpsql.written import number

if TYPE_CHECKING:
    from dpsql import Owner, Suggestion


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
    _add_suggest(parts)


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


_BOUNDS: Final = "bounds"
_ROWS: Final = "rows-per-person"
_KEYS: Final = "keys"


def _add_suggest(parts: Commands) -> None:
    """`dpsql table suggest visits.charge --spend 0.1`: a line for the policy, found by a private question."""
    parser = command(
        parts, "suggest", "find bounds, a limit of rows or keys by a private question, paid by the promise"
    )
    parser.add_argument("about", metavar="TABLE[.COLUMN]", help="a column; for rows-per-person, a table")
    parser.add_argument("--what", default=_BOUNDS, choices=list(_WAYS), help=f"what is looked for (default: {_BOUNDS})")
    parser.add_argument(
        "--spend", required=True, action=read_by(number), metavar="X", help="what it may cost, in ε of the promise"
    )
    parser.add_argument(
        "--share",
        default=Fraction(99, 100),
        action=read_by(number),
        metavar="P",
        help="how many people should be within, from 0 to 1 (default: 0.99); not for keys",
    )
    add_plain(parser)
    parser.set_defaults(run=_suggest)


_WAYS: Final[Mapping[str, Callable[[Owner, argparse.Namespace], Suggestion]]] = {
    _BOUNDS: lambda owner, said: owner.suggest_bounds(said.about, spend=said.spend, share=said.share),
    _ROWS: lambda owner, said: owner.suggest_rows_per_person(said.about, spend=said.spend, share=said.share),
    _KEYS: lambda owner, said: owner.suggest_keys(said.about, spend=said.spend),
}


def _suggest(chosen: argparse.Namespace) -> int:
    """The line on standard output, what it means on standard error."""
    from dpsql import open as open_owner

    with open_owner(chosen.policy or POLICY, ledger=chosen.ledger, adopt=False) as owner:
        found = _WAYS[chosen.what](owner, chosen)
        left = owner.budget.shown
    tell([str(found)], chosen)
    if found.written is None:
        say(f"the noise hides up to about {found.unseen} people at one place: spend more")
    elif chosen.what != _KEYS:
        say(
            f"what fewer than about {found.unseen} people have may lie outside: noise hides them, and a higher --spend"
            " hides fewer"
        )
    if found.beyond:
        say("there are larger values still: the end of the grid is proposed")
    say(f"{left} of the promise left; the line is yours to copy into the policy")
    return 0
