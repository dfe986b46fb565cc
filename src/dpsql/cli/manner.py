"""How a command speaks: which format, with or without symbols, how much besides the result. Results go to standard
output; everything else, this module's `say`, to standard error."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import dpsql
from dpsql import BadParameter, DpsqlError
from dpsql.cli.output import Output, clean

FORMATS: Final = ("table", "records", "csv", "json", "jsonl", "markdown", "parquet", "arrow")
INTERVALS: Final = ("inline", "columns", "none")
"""The names in `dpsql.formats` and what can become of margins there, which need not be loaded to be listed."""


class Manner(NamedTuple):
    """How to speak."""

    form: str = "table"
    intervals: str | None = None
    plain: bool = False
    quiet: bool = False

    def say(self, text: str) -> None:
        """A remark, unless nobody wants any."""
        if not self.quiet:
            say(text, plain=self.plain)

    @property
    def says_all_in_json(self) -> bool:
        """Price and notes are in the result itself, and whoever reads standard error reads JSON."""
        return self.form == "json"

    @property
    def shows_progress(self) -> bool:
        """On a terminal only, and not where a screen reader would read every stage."""
        return sys.stderr.isatty() and not (self.plain or self.quiet or os.environ.get("TERM") == "dumb")


def add_manner(parser: argparse.ArgumentParser) -> None:
    """The options that say how a result is shown."""
    shown = parser.add_argument_group("how the answer is shown")
    shown.add_argument("--format", choices=FORMATS, default="table", help="of the result (default: table)")
    shown.add_argument(
        "--intervals",
        choices=INTERVALS,
        help="margins in the cell of their number, as columns x_low and x_high, or not at all (default: inline; "
        "columns for csv, parquet and arrow)",
    )
    shown.add_argument("--output", type=Path, metavar="FILE", help="write the result there instead of standard output")
    add_plain(shown)
    shown.add_argument("--quiet", action="store_true", help="the result alone: no cost line, no notes")


def add_plain(parser: argparse._ActionsContainer) -> None:
    """For terminals without symbols, and for ears."""
    parser.add_argument(
        "--plain", action="store_true", help="ASCII tables and words instead of symbols, as for a screen reader"
    )
    parser.add_argument("--no-color", action="store_true", help="no colour in the shell; NO_COLOR does the same")


def manner_of(chosen: argparse.Namespace) -> Manner:
    """How the arguments ask to be spoken to. A terminal that has no symbols gets none."""
    return Manner(
        form=getattr(chosen, "format", "table"),
        intervals=getattr(chosen, "intervals", None),
        plain=is_plain(chosen),
        quiet=getattr(chosen, "quiet", False),
    )


def is_plain(chosen: argparse.Namespace) -> bool:
    """Whether to do without symbols."""
    asked: bool = getattr(chosen, "plain", False)
    return asked or not all(_has_symbols(way.encoding) for way in (sys.stdout, sys.stderr))


def _has_symbols(encoding: str | None) -> bool:
    return (encoding or "").lower().replace("-", "") in ("utf8", "utf16", "utf32")


def output_of(chosen: argparse.Namespace) -> Output:
    """Where the result goes; bytes do not go to a terminal. A format that needs a library that is not there is refused
    here, before anything is asked."""
    dpsql.formats[chosen.format].require()
    if dpsql.formats[chosen.format].is_binary and chosen.output is None and sys.stdout.isatty():
        raise BadParameter(
            f"{chosen.format} is not written to a terminal",
            why="its bytes would be taken for commands of the terminal",
            fix=f"say --output answer.{chosen.format}, or send it on: … > answer.{chosen.format}",
        )
    return Output(chosen.output)


def say(text: str, *, plain: bool = False) -> None:
    """Something besides the result. No letter of it steers the terminal."""
    lines = clean(text)
    sys.stdout.flush()
    _beside(dpsql.without_symbols(lines) if plain else lines)


def say_error(error: DpsqlError, manner: Manner) -> None:
    """What went wrong: in words, or as JSON where the result would have been JSON."""
    if manner.says_all_in_json:
        import json

        _beside(json.dumps(error.as_json()))
    else:
        say(str(error), plain=manner.plain)


def _beside(text: str) -> None:
    """On standard error. Where that cannot be written, the exit code is left to tell."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)
