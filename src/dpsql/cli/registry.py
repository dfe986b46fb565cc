"""Every command with what it is for. A command's module is loaded when the command is named."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Final, NoReturn, TypeAlias

from dpsql.safe_text import printable

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
