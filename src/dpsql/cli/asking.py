"""Statement after statement: asked, written where results go, and followed by what it cost. The first error ends it.

What a question would cost is told before anything is read or spent.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Final

import dpsql
from dpsql import BadParameter, DpsqlError
from dpsql.cli.manner import INTERRUPTED, ONLY_NOISE, Manner, say, stages_shown
from dpsql.cli.output import Output
from dpsql.errors import NotPermitted, OverLimit

if TYPE_CHECKING:
    from dpsql import Analyst, Client, Statement, Told

ASK_ABOVE: Final = Fraction(1, 5)
"""A price above this share of what is left is asked about first."""
_MARGIN: Final = "margin of "
_NOTHING: Final = "   (nothing was spent, no data was read)"


def price_lines(priced: Told, left: Fraction) -> Iterator[str]:
    """The lines of an answer to DRY RUN."""
    rows = [(str(what), str(value)) for what, value in priced.rows]
    said = dict(rows)
    if said["already stored"] == "yes":
        yield f"would cost   nothing: it is stored, and told again for nothing{_NOTHING}"
    else:
        yield f"would cost   {said['cost']} of {dpsql.in_hundredths(left)} left{_NOTHING}"
    if said["allowed"] != "yes":
        yield f"refused      {said['allowed'].removeprefix('no: ')}"
    for what, value in rows:
        if what.startswith(_MARGIN):
            yield f"margin       {what.removeprefix(_MARGIN)} {value}"
        elif what not in ("cost", "delta", "allowed", "already stored"):
            yield f"{what:<12} {value}"


def is_dear(cost: Fraction, left: Fraction, *, above: Fraction = ASK_ABOVE, looked_for: bool) -> bool:
    """Whether to ask before it is paid: a price that was looked for, as by WITHIN, or that takes much of what is left.
    What does not fit is not asked about: it is refused, with what would fit."""
    return 0 < cost <= left and (looked_for or cost > above * left)


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
        except DpsqlError as error:  # asking says why, and is written down; invented rows are free
            # for what it is, whatever else happens meanwhile: what is proposed may cost what is allowed
            stays_refused = error.code.startswith(("DP1", "DP3", "DP4")) and error.code != NotPermitted.code
            return self.terms.max_cost or Fraction(0) if stays_refused else Fraction(0)
        left = self.asker.budget.left
        limit = price if self.terms.max_cost is None else min(price, self.terms.max_cost)
        if limit < price or not is_dear(price, left, looked_for=_is_looked_for(sql)):
            return limit
        question = f"Costs {dpsql.Cost(epsilon=price)} of your budget; {dpsql.in_hundredths(left)} is left. Run? [Y/n]"
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


STDIN: Final = "-"
_BYTE_ORDER_MARK: Final = "\ufeff"


def text_of(name: str, *, why: str) -> str:
    """What the file holds, without a byte order mark; `why` it is read."""
    try:
        content = sys.stdin.read() if name == STDIN else Path(name).read_bytes().decode()
        content.encode()  # standard input passes bytes that are not UTF-8 on as surrogates
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise BadParameter(
            f"{'standard input' if name == STDIN else name} is not UTF-8 text, at character {error.start + 1}",
            why="letters such as é are written in other bytes in other encodings, so two programs read it differently",
            fix=f"save it as UTF-8, or convert it: {_converted(name, error)}",
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no path"
        raise BadParameter(f"{name} cannot be read: {reason}", why=why, fix="check the path") from None
    return content.removeprefix(_BYTE_ORDER_MARK)


def _converted(name: str, error: UnicodeDecodeError | UnicodeEncodeError) -> str:
    start = error.object[:2] if isinstance(error, UnicodeDecodeError) else b""
    encoding = "UTF-16" if start in (b"\xff\xfe", b"\xfe\xff") else "LATIN1"
    return f"iconv -f {encoding} -t UTF-8 {'FILE' if name == STDIN else name}"
