"""Every command with what it is for, and the options that commands share. A command's module is loaded when the command
is named."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias

import dpsql
from dpsql.cli.manner import MEANINGS
from dpsql.require import require_seconds
from dpsql.safe_text import printable
from dpsql.written import moment, number, refused

if TYPE_CHECKING:
    from dpsql import Keeper

Commands: TypeAlias = "argparse._SubParsersAction[Parser]"

COMMANDS: Final[Mapping[str, str]] = {
    "demo": "look around in an invented hospital: a tour, a shell, a question (-c), or the attack on Bob",
    "init": "suggest a policy for a database, from its catalogue alone",
    "check": "list what is left to do in the policy file",
    "table": "list, show or confirm the tables of the policy file; suggest bounds privately",
    "policy": "compare the policy file with its ledger, apply it, or tell its history",
    "grant": "let an analyst spend at most so much of the promise",
    "revoke": "take a grant back; what was spent stays spent",
    "user": "add, list or remove those who may connect, and make their tokens",
    "budget": "what is left, and what was paid; renew or close the promise",
    "cost": "what a question would cost and how wide its margins would be, for nothing",
    "explain": "how the answer to a question would be protected, for nothing",
    "simulate": "answer a question on invented rows, for nothing: for developing",
    "plan": "price the questions in SQL files, without reading data",
    "serve": "answer clients on a UNIX socket",
    "audit": "say in plain language whether the promise was kept, and check every price again",
    "ledger": "verify, show, export, back up or restore the ledger",
    "freeze": "refuse every question until `dpsql unfreeze`, stored answers too",
    "unfreeze": "answer questions again after `dpsql freeze`",
    "help": "what an error code means (dpsql help DP102), or a theorem (dpsql help proof M1)",
    "config": "where your profiles stand, and which there are",
    "doctor": "whether everything that dpsql needs is here",
    "completion": "what bash, zsh or fish need to complete commands and options",
}
_MODULES: Final = {"cost": "explain", "simulate": "explain", "help": "help_", "revoke": "grant", "unfreeze": "freeze"}
"""The module of a command, where it is not called like the command."""


class Parser(argparse.ArgumentParser):
    """Repeats what it does not understand in letters that steer no terminal."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))


def command_parser(names: Iterable[str]) -> tuple[Parser, Commands]:
    """The parser of these commands, and the place in it where they stand."""
    parser = Parser(prog="dpsql", description="Differentially private SQL.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in dict.fromkeys(_MODULES.get(name, name) for name in names):
        import_module(f"dpsql.cli.{module}").add_to(commands)
    return parser, commands


_MODE: Final = re.compile("0?[0-7]{1,3}")


def read_by(reader: Callable[[str, str], object]) -> type[argparse.Action]:
    """The action of an option whose value is read by a function of its name and text. As `type=` of argparse it would
    lose the code, the reason and the fix of a refusal."""

    class Reading(argparse.Action):
        def __call__(
            self,
            parser: argparse.ArgumentParser,
            namespace: argparse.Namespace,
            values: str | Sequence[object] | None,
            option_string: str | None = None,
        ) -> None:
            setattr(namespace, self.dest, reader(self.option_strings[0], str(values)))

    return Reading


def seconds(name: str, text: str) -> Fraction:
    """A time above 0, of a day at most."""
    found = number(name, text)
    require_seconds(**{name: found})
    return found


def mode(name: str, text: str) -> int:
    """The mode of a file, as chmod takes it."""
    if _MODE.fullmatch(text) is None:
        raise refused(
            name, text, why="it says who may read and write a file: three digits from 0 to 7", fix=f"write {name} 0660"
        )
    return int(text, 8)


POLICY = "dpsql.toml"


def command(commands: Commands, name: str, about: str) -> argparse.ArgumentParser:
    """A command on a ledger, with the words that say which."""
    parser = commands.add_parser(name, help=about, description=about[:1].upper() + about[1:] + ".", epilog=MEANINGS)
    parser.add_argument("--policy", help="the policy file (default: dpsql.toml, unless --ledger is said)")
    parser.add_argument("--ledger", metavar="FILE", help="the ledger itself, where there is no policy at hand")
    return parser


def opened(chosen: argparse.Namespace) -> Keeper:
    """The ledger the arguments name."""
    return dpsql.open_ledger(policy_of(chosen), ledger=chosen.ledger)


def policy_of(chosen: argparse.Namespace) -> str | None:
    """The policy file; None where a ledger alone is named."""
    return chosen.policy or (None if chosen.ledger else POLICY)


def add_since(parser: argparse.ArgumentParser, about: str) -> None:
    """From when on a command tells: a day or a time of UTC, as in 2026-10-01 or 2026-10-01T18:00."""
    parser.add_argument("--since", action=read_by(moment), metavar="DATE", help=about)
