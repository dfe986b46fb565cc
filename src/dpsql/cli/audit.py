"""`dpsql audit`: what was promised, what was kept, and every price derived again. No data are read."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from dpsql import BadParameter
from dpsql.cli.manner import BAD_USE, BROKEN_LEDGER, say, tell
from dpsql.cli.registry import COMMANDS, Commands, add_since, command, opened, policy_of

_WRITERS = {
    ".md": lambda audit, place: audit.markdown(place=place),
    ".html": lambda audit, place: audit.html(place=place),
}


def add_to(commands: Commands) -> None:
    """The command and its options."""
    parser = command(commands, "audit", COMMANDS["audit"])
    add_since(parser, "tell of what happened from this day on (UTC)")
    parser.add_argument("--report", type=Path, metavar="FILE", help="also write it to a file that ends in .md or .html")
    parser.add_argument(
        "--texts", action="store_true", help="with the texts of questions, which analysts may keep secret"
    )
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """The report on standard output; 9 where something does not hold."""
    write = None if chosen.report is None else _WRITERS.get(chosen.report.suffix)
    if chosen.report is not None and write is None:
        endings = " or ".join(_WRITERS)
        raise BadParameter(
            f"--report {chosen.report} does not end in {endings}",
            why="the ending says in which format the report is written",
            fix=f"name a file that ends in {endings}",
        )
    with opened(chosen) as keeper:
        audit = keeper.audit(since=chosen.since, texts=chosen.texts)
    if audit.since is not None and audit.since > audit.made:
        say(
            f"--since {audit.since:%Y-%m-%d %H:%M} UTC is to come: it is {audit.made:%Y-%m-%d %H:%M} UTC, and nothing "
            "has happened since then; say an earlier day"
        )
        return BAD_USE
    tell([str(audit)], chosen)
    if write is not None:
        try:
            chosen.report.touch(mode=0o600)  # it tells who asked, and what with --texts; its owner decides who reads it
            chosen.report.write_text(write(audit, _place(chosen)), encoding="utf-8")
        except OSError as error:
            raise BadParameter(
                f"--report {chosen.report} cannot be written: {error.strerror}",
                why="the report was to be kept there",
                fix="name a file in a folder that exists and that you may write to",
            ) from None
        say(f"written to {chosen.report}")
    return 0 if audit.holds else BROKEN_LEDGER


def _place(chosen: argparse.Namespace) -> str:
    """The options that say which ledger it is, as one would type them."""
    said = (("--policy", policy_of(chosen)), ("--ledger", chosen.ledger))
    return " ".join(f"{option} {shlex.quote(value)}" for option, value in said if value is not None)
