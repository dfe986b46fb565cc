"""`dpsql plan FILE.sql …`: what the questions of some files would cost. Nothing is read but names and types."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import dpsql
from dpsql.cli.asking import text_of
from dpsql.cli.manner import MEANINGS, add_plain, is_plain
from dpsql.cli.registry import COMMANDS, Commands
from dpsql.require import shown

if TYPE_CHECKING:
    from dpsql import Planner, Verdict


_LONGEST: Final = 40


def overview(listed: Sequence[tuple[str, Verdict]], *, promised: Fraction, plain: bool) -> str:
    """A line for each statement of a file, and the sum below."""
    told = dpsql.Answer(
        columns=("file", "question", "cost", "margin"),
        rows=tuple((name, _short(verdict.sql), _cost(verdict), _margins(verdict, plain)) for name, verdict in listed),
        cost=dpsql.Cost(epsilon=Fraction(0)),
        confidence=Fraction(19, 20),
    )
    total = sum((verdict.cost for _, verdict in listed if verdict.cost is not None), Fraction(0))
    refused = sum(verdict.error is not None for _, verdict in listed)
    fits = "fits" if total <= promised else "does not fit"
    lines = [f"{len(listed)} questions · total {shown(total)} of {shown(promised)} promised: {fits}"]
    lines += [f'{refused} refused: dpsql cost "SQL" says why'] if refused else []
    text = str(dpsql.formatted(told, "table", plain=plain))
    below = "".join(f"{line}\n" for line in lines)
    return text + (dpsql.without_symbols(below) if plain else below)


def _short(sql: str) -> str:
    one_line = " ".join(sql.split())
    return one_line if len(one_line) <= _LONGEST else f"{one_line[: _LONGEST - 3]}..."


def _cost(verdict: Verdict) -> str:
    if verdict.error is not None:
        return f"refused {verdict.error.code}"
    return shown(verdict.cost)


def _margins(verdict: Verdict, plain: bool) -> str:
    """What is known before: of an average the margin depends on how many there are."""
    text = ", ".join(
        f"{name} {'?' if margin is None else f'± {float(margin):.4g}'}" for name, margin in verdict.margins.items()
    )
    return dpsql.without_symbols(text) if plain else text


_CODES = f"It ends with 0 where every statement has a line, refused ones too. {MEANINGS}"


def add_to(commands: Commands) -> None:
    """The command and its options."""
    parser = commands.add_parser("plan", help=COMMANDS["plan"], epilog=_CODES)
    parser.add_argument("files", nargs="+", metavar="FILE.sql", help="files of SQL statements; - is standard input")
    parser.add_argument("--policy", default="dpsql.toml", help="the policy file (default: dpsql.toml)")
    parser.add_argument(
        "--format",
        choices=["table", "jsonl"],
        help="a table with a total, or one JSON object per statement (default: table on a terminal, else jsonl)",
    )
    add_plain(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """One line per statement on standard output; everything else on standard error."""
    with dpsql.Planner(chosen.policy) as planner:
        return _priced(planner, chosen)


def _priced(planner: Planner, chosen: argparse.Namespace) -> int:
    as_table = (chosen.format or ("table" if sys.stdout.isatty() else "jsonl")) == "table"
    listed = []
    for name in chosen.files:
        text = text_of(name, why="its questions were to be priced")
        for verdict in planner.verdicts(text):
            if as_table:
                listed.append((name, verdict))
            else:
                print(json.dumps({"file": name, **verdict.as_json()}))
    if as_table:
        print(overview(listed, promised=planner.promised, plain=is_plain(chosen)), end="")
    return 0
