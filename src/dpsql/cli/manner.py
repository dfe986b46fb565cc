"""How a command speaks and ends: in which format, with or without symbols, with which remarks, and the exit code.
Results go to standard output; everything else, this module's `say`, to standard error."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import get_terminal_size
from typing import Final, NamedTuple

import dpsql
from dpsql import BadParameter, DpsqlError
from dpsql.cli.output import Output, clean, escaped
from dpsql.codes import CODES, EXITS
from dpsql.points import EVENT, Point

BAD_USE: Final = 2
BROKEN_LEDGER: Final = 9
ONLY_NOISE: Final = 10
INTERRUPTED: Final = 130
ENDINGS: Final = {
    0: "done",
    **EXITS,
    ONLY_NOISE: "answered, but the noise may be all there is (with --strict-accuracy)",
    INTERRUPTED: "interrupted",
}
"""What a script is told by the number a command ends with."""
MEANINGS: Final = "Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in ENDINGS.items()) + "."


def exit_code(error: DpsqlError) -> int:
    """What a script is told about an error."""
    return CODES[error.code].exit if error.code in CODES else 1


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


def tell(lines: Iterable[str], chosen: argparse.Namespace) -> None:
    """Each line as the arguments ask for it."""
    plain, output = is_plain(chosen), Output(None)
    for line in lines:
        output.write(f"{escaped(dpsql.without_symbols(line) if plain else line)}\n")


_STAGES: Final = {
    Point.ASKED.name: "[1/3] planning",
    Point.CHARGED.name: "[2/3] charged",
    Point.RUNNING.name: "[3/3] asking the engine …   (Ctrl-C stops it; what is charged stays charged)",
}
_ERASE: Final = "\r\x1b[K"
_listening: list[bool] = []
"""Whether stages are shown now. What hears the points of this process stays to its end: it is installed once."""


@contextmanager
def stages_shown(manner: Manner) -> Iterator[None]:
    """The stage of what is asked inside the block, on one line that is then erased."""
    if not manner.shows_progress:
        yield
        return
    if not _listening:
        sys.addaudithook(_heard)
    _listening[:] = [True]
    try:
        yield
    finally:
        _listening[:] = [False]
        _show("")


def _heard(event: str, told: tuple[object, ...]) -> None:
    if event == EVENT and _listening == [True] and (stage := _STAGES.get(str(told[0]))) is not None:
        _show(stage)


def _show(stage: str) -> None:
    """In the place of the one before. A terminal that has gone away must not break what was paid for."""
    with suppress(OSError, ValueError):
        sys.stderr.write(_ERASE + _fitting(stage))
        sys.stderr.flush()


def _fitting(stage: str) -> str:
    """On one line of the terminal: what goes over two cannot be erased. The remark behind it goes first."""
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    most = (columns or get_terminal_size().columns) - 1
    return stage if len(stage) <= most else stage.partition("   ")[0][:most]
