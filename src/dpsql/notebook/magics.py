"""The magics: each asks through the door that a program would use, and shows what that returns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import wraps
from keyword import iskeyword
from typing import Any, Final, TypeAlias

import dpsql
from dpsql.errors import BadName, BadParameter, DpsqlError, NoSource, NotUnderstood
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


Asker: TypeAlias = "dpsql.Analyst | dpsql.Client"
Told: TypeAlias = "dpsql.Answer | dpsql.ServedAnswer"
Magic = Callable[[str, str | None], object]


class Desk:
    """Who asks in this notebook. One per kernel: what is SET in a cell holds in the cells after it."""

    def __init__(self, names: dict[str, Any], show: Callable[[object], object]) -> None:
        self._names, self._show = names, show
        """The variables of the notebook, and how something is shown in a cell."""
        self._asker: Asker | None = None
        self._close: Callable[[], None] | None = None
        """Of an asker who was made here; one in a variable belongs to the notebook."""

    def connect(self, line: str, cell: str | None = None) -> object:
        """`%dpsql demo`, `%dpsql dpsql.toml --as ana`, `%dpsql unix:/run/dpsql/door`, or a variable; `%%dpsql` asks."""
        if cell is not None:
            return self.sql(line, cell)
        target, _, user = (part.strip() for part in f" {line} ".partition(" --as "))
        if len(user.split()) > 1 or ("--as" in line.split() and not user):
            raise BadParameter(
                "--as takes one name",
                why="a question is paid from the grant of somebody",
                fix="write it last, as in %dpsql dpsql.toml --as ana",
            )
        found: Any = self._names.get(target)
        is_known = isinstance(found, dpsql.Analyst | dpsql.Client)
        asker: Asker = found if is_known else dpsql.connect(target or None, user=user or None)
        if self._close is not None:
            self._close()
        self._asker, self._close = asker, None if is_known else asker.close
        return f"connected as {asker.name}: {asker.budget!r}"

    def sql(self, line: str, cell: str | None = None) -> object:
        """`%sql SELECT …`; `%%sql flu << --within 20`: the answer, or into a variable. Of several statements all are
        shown, and the last is the answer."""
        asked = read(line, cell)
        *before, last = _statements(asked)
        for text in before:
            self._show(self._told(asked, text))
        answer = self._told(asked, last)
        if asked.into is None:
            self._show_plot(asked, answer)
            return answer
        self._names[asked.into] = answer
        self._show_plot(asked, answer)
        return f"{asked.into}: {len(answer)} row{'s' * (len(answer) != 1)} · cost {answer.cost}"

    def cost(self, line: str, cell: str | None = None) -> object:
        """`%sqlcost SELECT …`: the price and the margins; nothing is read, nothing is spent."""
        return self._before("DRY RUN", line, cell)

    def explain(self, line: str, cell: str | None = None) -> object:
        """`%sqlexplain SELECT …`: how the answer would be protected, with the proofs."""
        return self._before("EXPLAIN PRIVACY", line, cell)

    def budget(self, line: str, cell: str | None = None) -> object:
        """`%budget`: what is left, and about how many questions that is."""
        return self._connected().budget

    def plot(self, line: str, cell: str | None = None) -> object:
        """`%sqlplot bar flu`: the picture of an answer in a variable; without a kind, the one that fits."""
        words = line.split()
        if len(words) not in (1, 2):
            raise BadParameter(
                f"%sqlplot {line.strip()} names no answer",
                why="a picture is of one answer that was put into a variable",
                fix="write %sqlplot name, or %sqlplot bar|dot|line name, after %sql name << SELECT …",
            )
        *kinds, name = words
        answer: Any = self._names.get(name)
        if not isinstance(answer, dpsql.Answer | dpsql.ServedAnswer):
            raise BadName(
                f"there is no answer in a variable {name}",
                why="a picture is of an answer",
                fix=f"ask first, as in %sql {name} << SELECT …",
            )
        return answer.plot(kind=kinds[0] if kinds else None)

    def _before(self, words: str, line: str, cell: str | None) -> Told:
        asked = read(line, cell)
        if asked.into is not None or asked.plot:
            raise BadParameter(
                "nothing is asked here that could be kept or drawn",
                why="the price and the explanation of a question are told without asking it",
                fix="leave out the name before << and --plot, or ask with %sql",
            )
        return self._told(asked, f"{words} {asked.text}")

    def _told(self, asked: Asked, text: str) -> Told:
        said = asked.numbers
        return self._connected().sql(
            text, epsilon=said.get("epsilon"), confidence=said.get("confidence"), max_cost=said.get("max-cost")
        )

    def _show_plot(self, asked: Asked, answer: Told) -> None:
        if asked.plot:
            self._show(answer.plot())

    def _connected(self) -> Asker:
        if self._asker is None:
            raise NoSource(
                "this notebook is not connected",
                why="each question is paid from the grant of somebody",
                fix="run %dpsql demo to try it, %dpsql dpsql.toml for a policy file, or %dpsql unix:PATH for a server",
            )
        return self._asker


def _statements(asked: Asked) -> list[str]:
    """What is sent, one by one. A price is said of one question."""
    found = dpsql.script(asked.sql)
    if len(found) < 2:
        return [asked.text]
    is_priced = asked.clauses or "epsilon" in asked.numbers
    if is_priced and sum(not statement.is_setting for statement in found) > 1:
        raise BadParameter(
            "a price, or a margin, is said of several questions",
            why="each question has a price of its own",
            fix="write COST or WITHIN behind each of them, or ask them in cells of their own",
        )
    return [each.sql if each.is_setting else replace(asked, sql=each.sql).text for each in found]


MAGICS: Final[Mapping[str, Callable[[Desk, str, str | None], object]]] = {
    "dpsql": Desk.connect,
    "sql": Desk.sql,
    "sqlcost": Desk.cost,
    "sqlexplain": Desk.explain,
    "budget": Desk.budget,
    "sqlplot": Desk.plot,
}
LINES_ONLY: Final = frozenset({"budget", "sqlplot"})


def taught(magic: Magic) -> Magic:
    """The magic whose errors are shown as they teach, without the lines of code that raised them. They are raised all
    the same, so that "Run all" stops there."""

    @wraps(magic)
    def asked(line: str, cell: str | None = None) -> object:
        try:
            return magic(line, cell)
        except DpsqlError as error:
            text = str(error)
            vars(error)["_render_traceback_"] = lambda: text.splitlines()  # IPython asks an error for it
            raise

    return asked
