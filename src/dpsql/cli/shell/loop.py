"""The shell from its first line to its last."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress

from dpsql import DpsqlError, __version__
from dpsql.cli.output import unwritten
from dpsql.cli.shell.asker import Asker, bar
from dpsql.cli.shell.asking import Stopped, ask_all, connect_again
from dpsql.cli.shell.commands import BY_WORD, obey, one_of
from dpsql.cli.shell.completing import Choices, ShellCompleter
from dpsql.cli.shell.pieces import pieces
from dpsql.cli.shell.reader import (
    LineReader,
    PromptReader,
    Reader,
    behind_statement,
    is_command,
    is_way_out,
    is_whole,
    read_line,
)
from dpsql.cli.shell.screen import Screen, clean
from dpsql.cli.shell.state import MODES, Shell
from dpsql.errors import InternalError, NoSource


def run(
    asker: Asker,
    *,
    source: str,
    form: str = "table",
    plain: bool = False,
    colour: bool = True,
    history: bool = True,
    reconnect: Callable[[], Asker] | None = None,
) -> int:
    """Answer somebody at a terminal until they leave; the exit code.

    `source` is what is asked, in a word for the prompt; `form` how answers are shown, as `\\mode` says. `plain`: ASCII,
    no colours, nothing that moves; whoever calls knows whether the terminal has symbols. `reconnect` opens a lost
    connection to a server again.
    """
    shell = _shell(asker, source=source, plain=plain, colour=colour, history=history, reconnect=reconnect)
    shell.mode = one_of("--format", form, MODES)
    try:
        _greet(shell)
        _answer_until_they_leave(shell)
    finally:
        if shell.screen.file is not None:
            with suppress(OSError):  # every answer was handed on when it was written
                shell.screen.file.close()
        if shell.asker is not asker:
            shell.asker.close()
    return 0


def _answer_until_they_leave(shell: Shell) -> None:
    while not shell.leaving:
        try:
            draft, shell.draft = shell.draft, ""
            text = shell.reader.read(shell.screen.letters(shell.prompt), default=draft)
        except KeyboardInterrupt:  # the line is thrown away, as everywhere
            continue
        except EOFError:
            shell.screen.say("")
            return
        answer(shell, text)


def answer(shell: Shell, text: str) -> None:
    """Obey or answer what was typed; a mistake is told, and the shell goes on."""
    behind = behind_statement(text)
    if behind is not None:
        _answer_both(shell, *behind)
        return
    try:
        if is_command(text):
            obey(shell, text)
        else:
            ask_all(shell, text)
    except NoSource as error:
        shell.screen.say(str(error))
        connect_again(shell)
    except DpsqlError as error:
        shell.screen.say(str(error))
    except (Stopped, KeyboardInterrupt):
        shell.screen.say("Stopped. What was charged stays charged; asked again, it is told for nothing.")
        connect_again(shell)
    except BrokenPipeError:  # whoever reads has gone
        raise
    except OSError as error:
        shell.screen.say(str(unwritten(error.filename or "standard output", error)))
    except Exception as error:  # a slip of ours is no reason to lose a session
        shell.screen.say(str(our_fault(error)))


def our_fault(error: Exception) -> DpsqlError:
    """What is told of an error that nobody foresaw: not its words, which could tell about rows."""
    return InternalError("this was not done: dpsql has failed")


def _answer_both(shell: Shell, begun: str, command: str) -> None:
    """A statement that has ended is answered first; one that has not stays where it was, at the next prompt."""
    if is_whole(begun):
        answer(shell, begun)
    else:
        shell.draft = f"{begun}\n"
        if is_way_out(command) and not all(piece.closed for piece in pieces(begun)):
            shell.screen.say("A quotation or a comment is open: close it, and end the statement with ;   Ctrl-C clears")
            return
        if is_way_out(command) and not command.startswith("\\"):
            shell.screen.say("The statement goes on: end it with ;   \\q leaves   Ctrl-C clears")
            return
    answer(shell, command)


def _greet(shell: Shell) -> None:
    parts = [f"dpsql {__version__}", shell.source, shell.asker.name, f"budget {bar(shell.asker)}"]
    shell.screen.say(" · ".join(parts))
    shell.screen.say("SQL ends with ;   Ctrl-C clears   \\? lists the commands   \\q leaves")


def _shell(
    asker: Asker,
    *,
    source: str,
    plain: bool,
    colour: bool,
    history: bool,
    reconnect: Callable[[], Asker] | None,
) -> Shell:
    screen = Screen(
        out=sys.stdout,
        err=sys.stderr,
        ascii=plain,
        paged=sys.stdout.isatty(),
        size=_size,
        key=read_line,
    )
    coloured = colour and not plain and not os.environ.get("NO_COLOR")
    shell = Shell(asker=asker, screen=screen, reader=LineReader(), source=clean(source), reconnect=reconnect)
    shell.reader = _reader(shell, colour=coloured, history=history)
    return shell


def _size() -> os.terminal_size:
    """As it is now: COLUMNS and LINES may be those of whoever started this, and of before the window was resized."""
    try:
        return os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError):
        return shutil.get_terminal_size()


def _reader(shell: Shell, *, colour: bool, history: bool) -> Reader:
    if os.environ.get("TERM", "dumb") in ("dumb", "unknown", "") or not sys.stdin.isatty():
        return LineReader()
    choices: Choices = {
        **dict.fromkeys(("\\d", ".schema", "\\sample"), lambda names: names.tables),
        **dict.fromkeys(("\\mode", ".mode"), lambda names: MODES),
    }
    completer = ShellCompleter(shell.names, [word for word in BY_WORD if word[0] in "\\."], choices)
    return PromptReader(completer=completer, history=history, colour=colour)
