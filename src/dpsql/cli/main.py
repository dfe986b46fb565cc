"""`dpsql COMMAND …`: one command, one file; without a command, `ask.py`."""

from __future__ import annotations

import argparse
import codecs
import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

import dpsql
from dpsql import BadParameter, DpsqlError
from dpsql.cli.ask import asking_parser
from dpsql.cli.manner import BAD_USE, INTERRUPTED, Manner, exit_code, manner_of, say_error
from dpsql.cli.output import unwritten, write_no_more
from dpsql.cli.registry import COMMANDS, command_parser

_WITHOUT_RESULT: Final = ("serve", "freeze", "unfreeze")
"""A server is often started without a terminal, and who stops everything is in a hurry."""


BY_NUMBER: Final = "backslashreplace"
IN_WORDS: Final = "dpsql.words"
"""How a stream shows letters that it lacks. What people have named is shown by number: words might be another name."""


def show_missing_letters(how: str) -> None:
    """On a terminal that lacks some."""
    for way in (sys.stdout, sys.stderr):
        if isinstance(way, io.TextIOWrapper):
            way.reconfigure(errors=how)


def _words(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = dpsql.without_symbols(error.object[error.start : error.end])
    return missing.encode("ascii", BY_NUMBER).decode("ascii"), error.end


codecs.register_error(IN_WORDS, _words)


@contextmanager
def completed_streams() -> Iterator[bool]:
    """With nothing in the place of each stream that is closed; whether standard output is one that is read."""
    is_read = sys.stdout is not None
    with ExitStack() as stand_ins:
        for name, way in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            if getattr(sys, name) is None:
                stand_ins.callback(setattr, sys, name, None)
                setattr(sys, name, stand_ins.enter_context(open(os.devnull, way, encoding="utf-8")))
        yield is_read


def require_output(chosen: argparse.Namespace) -> None:
    """Where standard output is closed: that the result goes elsewhere, before anything is done or paid."""
    if getattr(chosen, "output", None) is None and getattr(chosen, "command", None) not in _WITHOUT_RESULT:
        raise BadParameter(
            "standard output is closed",
            why="the result was to go there; nothing was asked, and nothing was spent",
            fix="leave it open, or send it to a file: > FILE",
        )


def parser() -> argparse.ArgumentParser:
    """Every command with its options."""
    return command_parser(COMMANDS)[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, or ask where none is named; its exit code."""
    with completed_streams() as is_read:
        return _run(arguments, is_read=is_read)


def _run(arguments: Sequence[str] | None, *, is_read: bool) -> int:
    manner = Manner()
    try:
        chosen = _chosen(sys.argv[1:] if arguments is None else list(arguments))
        manner = manner_of(chosen)
        if not is_read:
            require_output(chosen)
        code = int(chosen.run(chosen))
        sys.stdout.flush()
    except DpsqlError as error:
        say_error(error, manner)
        return exit_code(error)
    except BrokenPipeError:  # whoever reads has read enough
        write_no_more()
        return 0
    except OSError as error:
        say_error(_failed(error), manner)
        return BAD_USE
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _failed(error: OSError) -> BadParameter:
    """What is said of a file that failed: of those that are opened by a name, Python tells it."""
    if error.filename is None:
        write_no_more()
        return unwritten("standard output", error)
    return BadParameter(
        f"{error.filename} cannot be read or written: {error.strerror}",
        why="the command needs it",
        fix="check its path, and whether you may read and write it",
    )


def _chosen(words: list[str]) -> argparse.Namespace:
    """What the words ask for: a first word that is a command is one, and everything else is for whoever asks."""
    show_missing_letters(IN_WORDS)  # whatever is written before it is known what is asked for is our own
    is_command = bool(words) and words[0] in COMMANDS
    parser = command_parser(words[:1])[0] if is_command else asking_parser(COMMANDS)
    chosen = parser.parse_args(words)
    show_missing_letters(BY_NUMBER)
    return chosen


if __name__ == "__main__":
    sys.exit(main())
