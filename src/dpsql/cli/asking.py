"""Statement after statement: asked, written where results go, and followed by what it cost. The first error ends it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from shutil import get_terminal_size
from typing import Final

from dpsql import (
    Analyst,
    Client,
    Refused,
    Statement,
    Told,
    all_doubtful,
    formatted,
    plot,
    summary,
    without_symbols,
)
from dpsql.cli.ending import INTERRUPTED, ONLY_NOISE
from dpsql.cli.manner import Manner, say
from dpsql.cli.output import Output
from dpsql.cli.price import price_lines, shown_down
from dpsql.cli.progress import stages_shown
from dpsql.errors import OverLimit
from dpsql.require import shown

_MUCH: Final = Fraction(1, 5)
"""The share of what is left from which on a price is worth a question."""
TERMINAL: Final = "-"
_STOPPED: Final = "stopped. What was charged stays charged; asked again, it is told for nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What may be spent on each question."""

    epsilon: Fraction | None = None
    confidence: Fraction | None = None
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
            limit = self._agreed(sql)
        with stages_shown(self.manner):
            answer = self.asker.sql(
                question,
                epsilon=self.terms.epsilon,
                confidence=self.terms.confidence,
                max_cost=limit,
            )
        self._tell(answer)
        if self.wishes.picture is not None:
            self._draw(answer, self.wishes.picture)

    def _tell(self, answer: Told) -> None:
        manner = self.manner
        form = "table" if self.wishes.verbatim else manner.form
        self.output.write(formatted(answer, form, intervals=manner.intervals, plain=manner.plain))
        self.told.append(answer)
        if not manner.says_all_in_json:
            for line in summary(answer):
                manner.say(line)

    def _tell_settings(self, settings: Told) -> None:
        """What is SET is no result, and stands in no file of results."""
        if not self.manner.says_all_in_json:
            for name, value, _ in settings.rows:
                self.manner.say(f"{name} is {'not set' if value is None else value}")

    def _draw(self, answer: Told, picture: str) -> None:
        if picture != TERMINAL:
            plot(answer, file=picture)
            self.manner.say(f"drawn in {picture}")
            return
        columns = get_terminal_size().columns
        self.output.write(plot(answer).text(columns=columns, plain=self.manner.plain) + "\n")

    def _priced(self, sql: str) -> Told:
        """DRY RUN: nothing is read, nothing is spent."""
        return self.asker.sql(f"DRY RUN {sql}", epsilon=self.terms.epsilon, confidence=self.terms.confidence)

    def _tell_price(self, priced: Told) -> None:
        if self.manner.form != "table":
            self._tell(priced)
            return
        text = "".join(f"{line}\n" for line in price_lines(priced, self.asker.budget.left))
        self.output.write(without_symbols(text) if self.manner.plain else text)

    def _agreed(self, sql: str) -> Fraction | None:
        """What may be paid: a price that was looked for, or that takes much of what is left, is told before, and what
        was not told is not paid."""
        try:
            price = self.asker.cost(sql, epsilon=self.terms.epsilon, confidence=self.terms.confidence)
        except Refused:
            return self.terms.max_cost  # asking it says why, and is written down; invented rows have no price at all
        left = self.asker.budget.left
        within, most = self.terms.within, self.terms.max_cost
        is_dear = within is not None or price >= _MUCH * left
        if not price or price > left or (most is not None and price > most) or not is_dear:
            return most  # what does not fit is refused, with what would
        margin = "" if within is None else f" (margins of ± {within})"
        say(f"Needs {shown(price)}{margin}. You have {shown_down(left)}. Run? [Y/n]", plain=self.manner.plain)
        if sys.stdin.readline().strip(" \t\r").lower() not in ("\n", "y\n", "yes\n"):
            raise OverLimit(
                "the question was not asked, and nothing was spent",
                why="you did not say yes to its price",
                fix="accept a wider margin for less: --epsilon, --within; or say --yes",
            )
        return price


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
    except KeyboardInterrupt:  # the engine has stopped its statement
        manner.say(_STOPPED)
        return INTERRUPTED
    return ONLY_NOISE if wishes.strict_accuracy and all_doubtful(asking.told) else 0
