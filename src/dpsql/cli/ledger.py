"""`dpsql ledger verify|show|export|backup|restore|write-off`: the ledger itself, without the data it is about."""

from __future__ import annotations

import argparse
from pathlib import Path

import dpsql
from dpsql.cli.manner import say, tell
from dpsql.cli.output import Output
from dpsql.cli.registry import COMMANDS, Commands, add_since, command, opened, policy_of


def add_to(commands: Commands) -> None:
    """The command and what it can do."""
    parser = commands.add_parser("ledger", help=COMMANDS["ledger"])
    parts = parser.add_subparsers(dest="part", required=True, metavar="PART")
    command(parts, "verify", "check every entry, the head and all totals").set_defaults(run=_verify)
    for name, about, run in (
        ("show", "print the entries, a line each", _show),
        ("export", "write the entries as JSON lines or CSV to standard output", _export),
    ):
        listed = command(parts, name, about)
        add_since(listed, "entries from this day on (UTC)")
        listed.add_argument("--texts", action="store_true", help="with the texts of questions: for the owner")
        listed.set_defaults(run=run)
        if name == "export":
            listed.add_argument("--format", default="jsonl", choices=["jsonl", "csv"])
    lost = command(parts, "write-off", "count as spent what a restored ledger has lost; it is frozen then")
    lost.set_defaults(run=_write_off)
    saved = command(parts, "backup", "copy the ledger to a file, also while it is in use")
    saved.add_argument("file", type=Path, metavar="FILE")
    saved.add_argument("--with-key", action="store_true", help="copy the key too, to FILE.key; keep it elsewhere")
    saved.set_defaults(run=_backup)
    back = command(parts, "restore", "put a copy where the ledger was")
    back.add_argument("file", type=Path, metavar="FILE")
    back.add_argument("--replace", action="store_true", help="although there is one; it is kept under another name")
    back.set_defaults(run=_restore)


def _write_off(chosen: argparse.Namespace) -> int:
    with opened(chosen) as keeper:
        number, frozen = keeper.write_off(), keeper.frozen
    if number is None:
        say("nothing is missing: nothing was written off")
        return 0
    say(f"what was lost counts as spent; {number} entries")
    if frozen is not None:
        say(f"frozen: {frozen}")
        say(
            "look at the grants (`dpsql ledger show`, `dpsql revoke`), make tokens anew (`dpsql user add`), then "
            "`dpsql unfreeze`"
        )
    return 0


def _verify(chosen: argparse.Namespace) -> int:
    with opened(chosen) as keeper:
        number = keeper.verify()
    print(f"{number} entries, chain intact, totals are the sum of the entries")
    return 0


def _show(chosen: argparse.Namespace) -> int:
    with opened(chosen) as keeper:
        tell(map(str, keeper.rows(since=chosen.since, texts=chosen.texts)), chosen)
    return 0


def _export(chosen: argparse.Namespace) -> int:
    with opened(chosen) as keeper:
        output = Output(None)
        for line in keeper.export(chosen.format, since=chosen.since, texts=chosen.texts):
            output.write(line)
    return 0


def _backup(chosen: argparse.Namespace) -> int:
    with opened(chosen) as keeper:
        keeper.backup(chosen.file, with_key=chosen.with_key)
    say(f"copied to {chosen.file}")
    return 0


def _restore(chosen: argparse.Namespace) -> int:
    kept = dpsql.restore_ledger(chosen.file, policy_of(chosen), ledger=chosen.ledger, replace=chosen.replace)
    say("restored; run `dpsql ledger verify`, and where charges are missing `dpsql ledger write-off`")
    if kept is not None:
        say(f"what it replaced is kept in {kept}")
    return 0
