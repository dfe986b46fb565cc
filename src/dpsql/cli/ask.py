"""`dpsql [TARGET] -c "SQL"`: ask once and go; without a question, on a terminal, the shell.

This file says what is asked, where and how; `asking.py` asks, and `shell` runs where nothing is said but a target.
What a run needs is imported by the run: help and version load none of it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from textwrap import fill
from typing import TYPE_CHECKING, Final

import dpsql
from dpsql import BadParameter
from dpsql.cli.manner import MEANINGS, add_manner, manner_of, output_of
from dpsql.cli.registry import COMMANDS, Commands, Parser, read_by
from dpsql.errors import NotUnderstood
from dpsql.require import shown
from dpsql.written import number, plain_number, refused

if TYPE_CHECKING:
    from dpsql import Analyst, Client, Statement
    from dpsql.cli.asking import Wishes

_ABOUT: Final = """\
Ask in SQL, and get numbers with a margin and a price. TARGET is a policy file that ends in .toml (default: dpsql.toml
of this folder), unix:PATH of a server (its token in DPSQL_TOKEN), demo, or a profile (dpsql config). Without -c, -f
and standard input, on a terminal, questions are asked in a shell.
"""
_OF_ONE_QUESTION: Final = ("within", "dry_run", "strict_accuracy", "output", "plot")


def asking_parser(commands: Mapping[str, str]) -> argparse.ArgumentParser:
    """The words of `dpsql` without a command; its help lists every command with what it is for."""
    listed = "\n".join(f"  {name:<11} {about}" for name, about in commands.items())
    parser = Parser(
        prog="dpsql",
        usage='dpsql [TARGET] [-c "SQL" | -f FILE | < FILE] [options]\n       dpsql COMMAND …',
        description=fill(_ABOUT, 80),
        epilog=f"commands (each has its own help: dpsql COMMAND --help):\n{listed}\n\n{fill(MEANINGS, 80)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="where to ask")
    parser.add_argument("--version", action="version", version=f"dpsql {dpsql.__version__}")
    add_questions(parser)
    parser.set_defaults(run=run)
    return parser


def add_questions(parser: argparse.ArgumentParser) -> None:
    """The questions themselves, in the order of -c and -f, and the options of asking once or in the shell."""
    say = partial(parser.add_argument, dest="said", action="append")
    say("-c", type=lambda sql: ("-c", sql), metavar="SQL", help="ask this; may be said several times")
    say("-f", type=lambda file: ("-f", file), metavar="FILE", help="ask what the file says; - is stdin")
    add_asking(parser)
    parser.add_argument("--dry-run", action="store_true", help="tell price and margins; nothing is read or spent")
    parser.add_argument("--strict-accuracy", action="store_true", help="exit 10 if every number may be pure noise")
    parser.add_argument("--plot", metavar="FILE", help="draw the answer: a .png, .svg or .txt, or - for the terminal")
    parser.add_argument("--no-history", action="store_true", help="the shell keeps no history")


def add_asking(parser: argparse.ArgumentParser) -> None:
    """The options of everything that asks."""
    asked = parser.add_argument_group("what may be spent")
    asked.add_argument("--as", dest="user", metavar="NAME", help="who asks, where several have a grant")
    asked.add_argument("--epsilon", action=read_by(number), metavar="X", help="the price of each answer")
    asked.add_argument("--within", action=read_by(_margin), metavar="M", help="buy margins of ± M instead of a price")
    asked.add_argument("--confidence", action=read_by(number), metavar="C", help="how sure margins are, as in 0.95")
    asked.add_argument("--max-cost", action=read_by(number), metavar="X", help="refuse an answer that costs more")
    asked.add_argument("--yes", action="store_true", help="answer yes to every price")
    add_manner(parser)


def add_question(commands: Commands, name: str, about: str, run: Callable[[argparse.Namespace], int]) -> None:
    """A command about one question."""
    parser = commands.add_parser(name, help=about, description=about[:1].upper() + about[1:] + ".", epilog=MEANINGS)
    parser.add_argument("sql", metavar="SQL", help="the question")
    parser.add_argument("target", nargs="?", metavar="TARGET", help="where to ask (default: dpsql.toml of this folder)")
    add_asking(parser)
    parser.set_defaults(run=run)


def _margin(name: str, text: str) -> str:
    """A margin, as it stands in the clause WITHIN."""
    if not plain_number(text):
        raise refused(name, text, why="a margin is a number above 0, in plain digits", fix=f"write {name} 20")
    return text


def run(chosen: argparse.Namespace) -> int:
    """The answers on standard output, everything else on standard error."""
    if not chosen.said and sys.stdin.isatty():
        return _shell(chosen)
    from dpsql.cli.asking import Wishes

    texts = [_text(kind, value) for kind, value in chosen.said or (("-f", "-"),)]
    statements = [statement for text in texts for statement in dpsql.script(text)]
    picture = _picture(chosen, statements)
    wishes = Wishes(dry_run=chosen.dry_run, strict_accuracy=chosen.strict_accuracy, picture=picture)
    return asked(chosen, statements, wishes)


def _picture(chosen: argparse.Namespace, statements: Sequence[Statement]) -> str | None:
    """Where the answer is drawn. What cannot be drawn is refused before anything is paid for."""
    place: str | None = chosen.plot
    if place is None:
        return None
    from dpsql.cli.asking import TERMINAL

    if _results(statements) != 1 or chosen.dry_run:
        raise BadParameter(
            "--plot draws one answer", why="a later one would be drawn over it", fix="ask one question with each --plot"
        )
    if place == TERMINAL and chosen.format != "table":
        raise BadParameter(
            f"--plot - goes where the result goes, and that is {chosen.format}",
            why="whoever reads it would take the picture for a part of it",
            fix="draw into a file: --plot answer.svg",
        )
    return place if place == TERMINAL else str(dpsql.picture_path(place))


def asked(chosen: argparse.Namespace, statements: Sequence[Statement], wishes: Wishes) -> int:
    """Ask them where and how the arguments say; the exit code."""
    from dpsql.cli.asking import Terms, ask_all

    if not statements:
        raise NotUnderstood(
            "there is no statement to answer",
            why="the text is empty, or holds comments alone",
            fix="write a statement, as in SELECT COUNT(*) FROM t",
        )
    if dpsql.formats[chosen.format].is_binary and _results(statements) > 1:
        raise BadParameter(
            f"{_results(statements)} answers do not fit into one file of {chosen.format}",
            why="such a file is one table",
            fix="ask one question for each file, or use --format json",
        )
    terms = Terms(
        words={"epsilon": chosen.epsilon, "confidence": chosen.confidence},
        within=chosen.within,
        max_cost=chosen.max_cost,
        unasked=chosen.yes or not (sys.stdin.isatty() and sys.stderr.isatty()),
    )
    with output_of(chosen) as output, connected(chosen) as asker:
        return ask_all(asker, statements, terms=terms, wishes=wishes, manner=manner_of(chosen), output=output)


def _results(statements: Sequence[Statement]) -> int:
    return sum(statement.has_result for statement in statements)


def connected(chosen: argparse.Namespace) -> Analyst | Client:
    """Whoever asks, where the arguments say."""
    from dpsql.cli.profiles import chosen_profile

    profile = chosen_profile(chosen.target, COMMANDS)
    return dpsql.connect(profile.target, user=chosen.user or profile.user, token=profile.read_token())


def _text(kind: str, value: str) -> str:
    from dpsql.cli.asking import text_of

    return value if kind == "-c" else text_of(value, why="its statements were to be asked")


def _shell(chosen: argparse.Namespace) -> int:
    """Questions at a terminal. What may be spent is SET for all of them."""
    from dpsql.cli import shell  # its library takes longer to load than a question to answer
    from dpsql.cli.profiles import place_word

    for option in _OF_ONE_QUESTION:
        if getattr(chosen, option):
            raise BadParameter(
                f"--{option.replace('_', '-')} was said, and no question",
                why="in the shell it is said with the question it belongs to",
                fix='say a question: -c "SELECT …"; or leave the option out',
            )
    manner = manner_of(chosen)
    with _limited(chosen) as asker:
        return shell.run(
            asker,
            source=place_word(chosen.target),
            form=manner.form,
            plain=manner.plain,
            colour=not (manner.plain or chosen.no_color or os.environ.get("NO_COLOR")),
            history=not chosen.no_history,
            reconnect=lambda: _limited(chosen),
        )


def _limited(chosen: argparse.Namespace) -> Analyst | Client:
    """Whoever asks, with what may be spent SET: a limit holds also after a connection was lost and made again."""
    asker = connected(chosen)
    try:
        for name in ("epsilon", "confidence", "max_cost"):
            value: Fraction | None = getattr(chosen, name)
            if value is not None:
                asker.sql(f"SET dp.{name} = {shown(value)}")
    except BaseException:
        asker.close()
        raise
    return asker
