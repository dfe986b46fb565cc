"""`dpsql completion bash|zsh|fish`: what a shell of the system needs to complete commands and options."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from dpsql.cli.ask import asking_parser
from dpsql.cli.registry import COMMANDS, Commands, command_parser

_BASH: Final = """\
_dpsql() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" said="${{COMP_WORDS[*]:1:COMP_CWORD-1}}" words=""
    case "$said" in
{cases}
        *) words="{asking}" ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    [[ -n "$COMPREPLY" || "$word" == -* ]] || COMPREPLY=($(compgen -f -- "$word"))
}}
complete -o filenames -F _dpsql dpsql
"""


def add_to(commands: Commands) -> None:
    """The command; which shell is its only word."""
    parser = commands.add_parser(
        "completion",
        help=COMMANDS["completion"],
        description="Print a script for your shell, as in: dpsql completion bash >> ~/.bashrc",
    )
    parser.add_argument("shell", choices=tuple(_SCRIPTS))
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """The script on standard output."""
    _, commands = command_parser(COMMANDS)
    print(_SCRIPTS[chosen.shell](words_of(commands)), end="")
    return 0


def words_of(commands: Commands) -> dict[str, list[str]]:
    """What can follow what was typed: after nothing every command, after a command its parts and options."""
    found = {"": [*commands.choices, *_options(asking_parser({}))]}
    for name, parser in commands.choices.items():
        found.update(_below(name, parser))
    return found


def _below(said: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, list[str]]]:
    parts = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    choices = [
        choice
        for action in parser._actions
        if not action.option_strings and action.choices is not None
        for choice in action.choices
    ]
    yield said, [*choices, *_options(parser)]
    for part in parts:
        for name, below in part.choices.items():
            yield from _below(f"{said} {name}", below)


def _options(parser: argparse.ArgumentParser) -> list[str]:
    return [max(action.option_strings, key=len) for action in parser._actions if action.option_strings]


def _bash(words: Mapping[str, list[str]]) -> str:
    longest_first = sorted((said for said in words if said), key=len, reverse=True)
    cases = "\n".join(f'        "{said}"*) words="{" ".join(words[said])}" ;;' for said in longest_first)
    return _BASH.format(cases=cases, asking=" ".join(words[""]))


def _zsh(words: Mapping[str, list[str]]) -> str:
    return f"autoload -U +X bashcompinit && bashcompinit\n{_bash(words)}"


def _fish(words: Mapping[str, list[str]]) -> str:
    lines = [f"complete -c dpsql -n __fish_use_subcommand -a '{' '.join(words[''])}'"]
    for said, following in words.items():
        if said:
            seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in said.split())
            lines.append(f"complete -c dpsql -n '{seen}' -a '{' '.join(following)}'")
    return "\n".join(lines) + "\n"


_SCRIPTS: Final[Mapping[str, Callable[[Mapping[str, list[str]]], str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
