"""`dpsql policy apply|diff|history|schema`: the policy file, and what its ledger has applied of it."""

from __future__ import annotations

import argparse
import json

import dpsql
from dpsql.cli.manner import say, tell
from dpsql.cli.registry import COMMANDS, POLICY, Commands, command, opened


def add_to(commands: Commands) -> None:
    """The command and what it can do."""
    parser = commands.add_parser("policy", help=COMMANDS["policy"])
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
    version = applied.add_mutually_exclusive_group()
    version.add_argument(
        "--new-version",
        metavar="LABEL",
        help="the data have changed, or what is declared: answers that are stored are of the old version",
    )
    version.add_argument(
        "--keep-version",
        action="store_true",
        help="although declarations have changed: only what used one of them is asked anew",
    )
    applied.set_defaults(run=_apply)
    command(parts, "diff", "what applying the file would change, and what that means").set_defaults(run=_diff)
    about = "print the JSON Schema of policy files, for editors"
    parts.add_parser("schema", help=about, description=about[:1].upper() + about[1:] + ".").set_defaults(run=_schema)
    command(parts, "history", "when what was declared, promised or granted").set_defaults(run=_history)


def _apply(chosen: argparse.Namespace) -> int:
    """What people are promised from here on. Names and types of the data are read, no row is."""
    if chosen.new_version is None and not chosen.keep_version:
        dpsql.policy_diff(chosen.policy or POLICY, ledger=chosen.ledger).require_comparable()
    from dpsql import open as open_owner

    with open_owner(chosen.policy or POLICY, ledger=chosen.ledger) as owner:
        if chosen.new_promise:
            owner.promise_again()
        promised = owner.keeper.promised()
        if chosen.new_version is not None:
            owner.new_data_version(chosen.new_version)
        tell([str(promised), *owner.grants_changed], chosen)
        say(f"ledger {owner.keeper.id}, {owner.keeper.verify()} entries")
    if chosen.new_version is not None:
        say(
            f"data version {chosen.new_version}: what is asked again is paid again, from the same budget. A server "
            "that runs takes it on when it is started again"
        )
    return 0


def _diff(chosen: argparse.Namespace) -> int:
    """Nothing is written; the source is looked at for names and types."""
    tell(dpsql.policy_diff(chosen.policy or POLICY, ledger=chosen.ledger).lines(), chosen)
    return 0


def _history(chosen: argparse.Namespace) -> int:
    with opened(chosen) as keeper:
        tell(keeper.policy_history(), chosen)
    return 0


def _schema(chosen: argparse.Namespace) -> int:
    """Neither a policy nor a source is needed."""
    print(json.dumps(dpsql.policy_schema(), indent=2))
    return 0
