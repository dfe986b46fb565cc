"""What a line of a magic says: `name << --within 20 SELECT …`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from keyword import iskeyword
from typing import Final

from dpsql.errors import BadParameter, NotUnderstood
from dpsql.written import number

_OPTION: Final = re.compile(r"--([A-Za-z][A-Za-z-]*)(?:[ \t]*=[ \t]*|[ \t]+|(?=\n)|$)")
_WORD: Final = re.compile(r"\S+")
_INTO: Final = re.compile(r"(\w+)\s*<<")
_WITH_NUMBER: Final = ("within", "cost", "epsilon", "confidence", "max-cost")
_PLOT: Final = "plot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question as it was written into a cell."""

    sql: str
    into: str | None = None
    """The variable that the answer goes into."""
    numbers: Mapping[str, Fraction]
    """By the name of the option."""
    clauses: str = ""
    """What options say in the words of SQL."""
    plot: bool = False

    @property
    def text(self) -> str:
        """The statement with its clauses, on a line of their own: the last one may end in a comment."""
        return f"{self.sql}\n{self.clauses}" if self.clauses else self.sql


def read(line: str, cell: str | None) -> Asked:
    """Options and the name come first, in any order; the rest of the line, and the cell, is the question."""
    rest, into, plot = line.strip(), None, False
    written: dict[str, str] = {}
    while True:
        if (name := _INTO.match(rest)) is not None and into is None:
            into, rest = _variable(name[1]), rest[name.end() :].lstrip()
        elif (option := _OPTION.match(rest)) is not None:
            value, rest = _value(option[1].lower(), rest[option.end() :], written, plot=plot)
            plot = plot or value is None
        else:
            break
    sql = "\n".join(part for part in (rest, cell or "") if part.strip()).strip().rstrip(";").rstrip()
    if not sql:
        raise NotUnderstood(
            "there is no question here",
            why="the magic asks what stands behind its options, or in the cell below",
            fix="write a statement, as in %sql SELECT COUNT(*) FROM patients",
        )
    clauses = " ".join(f"{name.upper()} {written[name]}" for name in ("within", "cost") if name in written)
    numbers = {name: number(f"--{name}", text) for name, text in written.items()}
    return Asked(sql=sql, into=into, numbers=numbers, clauses=clauses, plot=plot)


def _value(name: str, rest: str, written: dict[str, str], *, plot: bool) -> tuple[str | None, str]:
    """The value of an option, written down, and what stands behind it; None for the option that has none."""
    if name in written or (plot and name == _PLOT):
        raise BadParameter(f"--{name} is said twice", why="only one of them could count", fix=f"say --{name} once")
    if name == _PLOT:
        return None, rest.lstrip()
    if name not in _WITH_NUMBER:
        raise BadParameter(
            f"there is no option --{name}",
            why="an option that nobody reads would be passed over silently",
            fix=f"use one of {', '.join(f'--{known}' for known in (*_WITH_NUMBER, _PLOT))}; "
            "a comment of SQL has a blank behind its dashes",
        )
    word = _WORD.match(rest)
    written[name] = "" if word is None else word[0]
    number(f"--{name}", written[name])
    return written[name], "" if word is None else rest[word.end() :].lstrip()


def _variable(name: str) -> str:
    if name.isidentifier() and not iskeyword(name):
        return name
    raise BadParameter(
        f"{name} cannot be the name of a variable",
        why="the answer goes into a variable of the notebook",
        fix="write a name of letters, digits and _ before <<, as in flu << SELECT …",
    )
