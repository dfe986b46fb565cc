"""Statement after statement: asked, written where results go, and followed by what it cost. The first error ends it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Final

import dpsql
from dpsql import DpsqlError
from dpsql.cli.ending import INTERRUPTED, ONLY_NOISE
from dpsql.cli.manner import Manner, say
from dpsql.cli.output import Output
from dpsql.cli.price import is_dear, price_lines, shown_down, shown_up
from dpsql.cli.progress import stages_shown
from dpsql.errors import OverLimit

if TYPE_CHECKING:
    from dpsql import Analyst, Client, Statement, Told

TERMINAL: Final = "-"
_STOPPED: Final = "stopped. What was charged stays charged; asked again, it is told for nothing"
_NOT_ASKED: Final = "stopped. The question was not asked, and nothing was spent on it"


class _StoppedAtThePrice(KeyboardInterrupt):
    """Before anything was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What may be spent on each question."""

    words: dpsql.QueryWords
    within: str | None = None
    max_cost: Fraction | None = None
    unasked: bool = True
    """Whoever asks is not there to say yes to a price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What is wanted of the questions besides their answers."""

    dry_run: bool = False
    strict_accuracy: bool = False
    before: str = ""
    """Words in front of every question, such as EXPLAIN PRIVACY."""
    verbatim: bool = False
    """The answer is one text in the format that is asked for, and is written as it is."""
    picture: str | None = None
    """Where to draw the answer: a file, or - for the terminal."""


@dataclass(slots=True, kw_only=True)
class _Asking:
    """One run of statements."""

    asker: Analyst | Client
    terms: Terms
    wishes: Wishes
    manner: Manner
    output: Output
    told: list[Told] = field(default_factory=list)

    def ask(self, statement: Statement) -> None:
        words = "DRY RUN" if self.wishes.dry_run else self.wishes.before
        with statement.locating_errors(prefix=f"{words} " if words and not statement.is_setting else ""):
            self._ask(statement)

    def _ask(self, statement: Statement) -> None:
        if not statement.has_result:
            self._tell_settings(self.asker.sql(statement.sql))
            return
        if statement.is_setting:
            self._tell(self.asker.sql(statement.sql))
            return
        sql = statement.sql if self.terms.within is None else f"{statement.sql}\nWITHIN {self.terms.within}"
        if self.wishes.dry_run:
            self._tell_price(self._priced(sql))
            return
        question = f"{self.wishes.before} {sql}" if self.wishes.before else sql
        limit = self.terms.max_cost
        if not self.terms.unasked and not self.wishes.before:
            try:
                limit = self._agreed(sql)
            except KeyboardInterrupt:
                raise _StoppedAtThePrice from None
        with stages_shown(self.manner):
            answer = self.asker.sql(question, max_cost=limit, **self.terms.words)
        self._tell(answer)
        if self.wishes.picture is not None:
            self._draw(answer, self.wishes.picture)

    def _tell(self, answer: Told) -> None:
        manner = self.manner
        form = "table" if self.wishes.verbatim else manner.form
        self.output.write(dpsql.formatted(answer, form, intervals=manner.intervals, plain=manner.plain))
        self.told.append(answer)
        if not manner.says_all_in_json:
            for line in dpsql.summary(answer):
                manner.say(line)

    def _tell_settings(self, settings: Told) -> None:
        """What is SET is no result, and stands in no file of results."""
        if not self.manner.says_all_in_json:
            for name, value, _ in settings.rows:
                self.manner.say(f"{name} is {'not set' if value is None else value}")

    def _draw(self, answer: Told, picture: str) -> None:
        if picture != TERMINAL:
            dpsql.plot(answer, file=picture)
            self.manner.say(f"drawn in {picture}")
            return
        columns = get_terminal_size().columns
        self.output.write(dpsql.plot(answer).text(columns=columns, plain=self.manner.plain) + "\n")

    def _priced(self, sql: str) -> Told:
        """DRY RUN: nothing is read, nothing is spent."""
        return self.asker.sql(f"DRY RUN {sql}", **self.terms.words)

    def _tell_price(self, priced: Told) -> None:
        if self.manner.form != "table":
            self._tell(priced)
            return
        text = "".join(f"{dpsql.printable(line)}\n" for line in price_lines(priced, self.asker.budget.left))
        self.output.write(dpsql.without_symbols(text) if self.manner.plain else text)

    def _agreed(self, sql: str) -> Fraction:
        """What may be paid: what was not told, or not allowed, is not paid."""
        try:
            price = self.asker.cost(sql, **self.terms.words)
        except DpsqlError:
            return Fraction(0)  # asking it says why, and is written down; invented rows cost nothing
        left = self.asker.budget.left
        limit = price if self.terms.max_cost is None else min(price, self.terms.max_cost)
        if limit < price or not is_dear(price, left, looked_for=_is_looked_for(sql)):
            return limit
        question = f"Costs {shown_up(price)} of your budget; {shown_down(left)} is left. Run? [Y/n]"
        say(question, plain=self.manner.plain)
        if sys.stdin.readline().strip(" \t\r").lower() not in ("\n", "y\n", "yes\n"):
            raise OverLimit(
                "the question was not asked, and nothing was spent",
                why="you did not say yes to its price",
                fix="accept a wider margin for less: --epsilon, --within; or say --yes",
            )
        return limit


def _is_looked_for(sql: str) -> bool:
    """Whether the price follows from a margin, by --within or in the question itself."""
    if "within" not in sql.lower():
        return False
    from dpsql.cli.shell.pieces import has_margin_wish  # the shell takes longer to load than a question to answer

    return has_margin_wish(sql)


def ask_all(
    asker: Analyst | Client,
    statements: Sequence[Statement],
    *,
    terms: Terms,
    wishes: Wishes,
    manner: Manner,
    output: Output,
) -> int:
    """Ask them in their order; the exit code."""
    asking = _Asking(asker=asker, terms=terms, wishes=wishes, manner=manner, output=output)
    try:
        for statement in statements:
            asking.ask(statement)
    except KeyboardInterrupt as stopped:  # the engine has stopped its statement
        manner.say(_NOT_ASKED if isinstance(stopped, _StoppedAtThePrice) else _STOPPED)
        return INTERRUPTED
    return ONLY_NOISE if wishes.strict_accuracy and dpsql.all_doubtful(asking.told) else 0
