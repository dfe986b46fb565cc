"""`dpsql table suggest visits.charge --spend 0.1`: a line for the policy, found by a private question that is paid."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from dpsql.cli.manner import add_plain, say
from dpsql.cli.place import POLICY, command
from dpsql.cli.reading import read_by
from dpsql.cli.registry import Commands
from dpsql.cli.telling import tell
from dpsql.written import number

if TYPE_CHECKING:
    from dpsql import Owner, Suggestion

_BOUNDS: Final = "bounds"
_ROWS: Final = "rows-per-person"
_KEYS: Final = "keys"


def add_to(parts: Commands) -> None:
    """A part of the command `table`."""
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
