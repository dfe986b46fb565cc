"""`dpsql policy apply`: write into the ledger what the policy file says; where there is no ledger, make it."""

from __future__ import annotations

import argparse
import sys

from dpsql import open  # noqa: A004 - dpsql.open, as everywhere
from dpsql.cli.place import POLICY, Commands, command


def add_to(commands: Commands) -> None:
    """The command and what it can do."""
    parser = commands.add_parser("policy", help="write what the policy file says into its ledger")
    parts = parser.add_subparsers(dest="part", required=True, metavar="PART")
    applied = command(
        parts,
        "apply",
        "write promise, owners and grants of the policy into its ledger, and make it where there is none",
    )
    applied.add_argument(
        "--new-promise",
        action="store_true",
        help="after `dpsql budget close`: make the promise of the file, in addition to what was promised before",
    )
    applied.add_argument(
        "--new-version", metavar="LABEL", help="the data have changed: answers that are stored are of the old version"
    )
    applied.set_defaults(run=_apply)


def _apply(chosen: argparse.Namespace) -> int:
    """What people are promised from here on. Names and types of the data are read, no row is."""
    with open(chosen.policy or POLICY, ledger=chosen.ledger) as owner:
        if chosen.new_promise:
            owner.promise_again()
        promised = owner.keeper.promised()
        if chosen.new_version is not None:
            owner.new_data_version(chosen.new_version)
        print(promised)
        for line in owner.grants_changed:
            print(line)
        print(f"ledger {owner.keeper.id}, {owner.keeper.verify()} entries", file=sys.stderr)
    if chosen.new_version is not None:
        print(
            f"data version {chosen.new_version}: what is asked again is paid again, from the same budget. A server "
            "that runs takes it on when it is started again",
            file=sys.stderr,
        )
    return 0
