"""The clauses of dpsql at the end of a statement, and GoogleSQL's options after its first SELECT.

    … COST 0.1      … WITHIN 20 CONFIDENCE 0.9      … LIMIT 3 PER PERSON      … GROUP BY x KEYS ('a', 'b')
    SIMULATE … ROWS 500

None of their words is reserved: a clause begins only where an operand has ended and its value follows, which no SQL
statement has. `SELECT cost FROM t cost ORDER BY cost` reads as it always did.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

from dpsql.catalog.types import SqlType
from dpsql.errors import BadParameter, NotSupported, NotUnderstood
from dpsql.sql.parsing import google_sql, literals
from dpsql.sql.parsing.expressions import Expressions
from dpsql.sql.parsing.option_values import (
    confidence,
    hinted,
    margin,
    number,
    require_once,
    rows,
    with_option,
)
from dpsql.sql.parsing.refusals import excerpt, misread
from dpsql.sql.parsing.text import END, NUMBER, STRING, Lexed
from dpsql.sql.syntax import NO_OPTIONS, At, Literal, Options

_NUMBERED: Final[Mapping[str, tuple[str, Callable[[str, str, At], object]]]] = {
    "COST": ("epsilon", number),
    "WITHIN": ("within", margin),
    "CONFIDENCE": ("confidence", confidence),
    "ROWS": ("rows", rows),
}
"""Clauses of a word and a number: the option, and how its value is read."""


@dataclass(slots=True, kw_only=True)
class DpClauses(Expressions):
    said: Options = NO_OPTIONS
    """What the clauses at the end say."""
    foreign: Options = NO_OPTIONS
    """What GoogleSQL's options say."""
    has_foreign: bool = False
    grouped: bool = False
    """GROUP BY of the outermost query was read."""

    # ---- GoogleSQL --------------------------------------------------------------------------------------------------

    def begin_select(self) -> None:
        """Read SELECT WITH DIFFERENTIAL_PRIVACY [OPTIONS (…)]."""
        self.of_people = False
        if self.depth == 0:
            self.grouped = False
        if self.next() != "WITH" or self.next(1) != google_sql.WORD:
            return
        if self.depth or self.has_foreign:
            self._fail_options()
        self.position += 2
        self.has_foreign = self.of_people = True
        if self.take("OPTIONS"):
            self.foreign = google_sql.options(self)

    def require_no_options(self) -> None:
        """After WITH at the beginning of a query: a common table may have the name, with AS after it."""
        if self.next() == google_sql.WORD and self.next(1) not in ("AS", "("):
            self.position -= 1
            self._fail_options()

    def fail(self) -> NoReturn:
        if self.next() == "WITH" and self.next(1) == google_sql.WORD:
            self._fail_options()
        if self.next() == "=>" and self.next(-1) in google_sql.BOUNDS:
            last = self.lexed.closing.get(self.position + 1, self.position)
            raise misread(
                self.lexed.text, self.lexed.at(self.position - 1, last), what="These bounds belong to no call"
            )
        Expressions.fail(self)

    def _fail_options(self) -> NoReturn:
        raise NotUnderstood(
            f"WITH {google_sql.WORD} stands where nothing reads it",
            why="its options are about the whole statement",
            fix="put it right after the first SELECT that is not in parentheses",
            at=self.here(2),
        )

    # ---- our own clauses --------------------------------------------------------------------------------------------

    def begins_clause(self) -> bool:
        """Whether a clause of ours comes next, other than KEYS."""
        if self.depth:
            return False
        word = self.next()
        if word == "LIMIT":
            size = self._value_size()
            return bool(size) and self.next(1 + size) == "PER"
        return word in _NUMBERED and self._value_size() > 0

    def end_clauses(self) -> None:
        """Read the clauses up to the end of the statement."""
        ended = False
        while self.next() != END:
            if self.begins_clause():
                self._clause()
                ended = True
            elif not self.keys_clause(ended=ended):
                break
        if self.next() == END:
            if self.said.epsilon is None or self.said.within is None:
                return
            raise BadParameter(
                "COST and WITHIN both decide the price",
                why="each is the price of the answer in other words, and they need not agree",
                fix="say one of them",
                at=self.said.within.at,
            )
        if not ended:
            self.fail()
        raise NotUnderstood(
            f"After an option comes {excerpt(self.lexed.text, self.here())!r}",
            why="COST, WITHIN, CONFIDENCE and LIMIT … PER PERSON speak of the whole question, and end it",
            fix="put them last, after ORDER BY and LIMIT",
            at=self.here(),
        )

    def _clause(self) -> None:
        word, size = self.next(), self._value_size()
        first, last = self.position + 1, self.position + size
        at = self.lexed.at(first, last)
        written = self.lexed.text[slice(*at)]
        self.position = last + 1
        if word == "LIMIT":
            self.expect("PER")
            if not self.take("PERSON"):
                raise misread(self.lexed.text, self.here(), what="LIMIT n PER is followed by PERSON")
            self.said = with_option(self.said, "rows_per_person", rows("LIMIT", written, at), at)
        else:
            option, read = _NUMBERED[word]
            self.said = with_option(self.said, option, read(word, written, at), at)

    def _value_size(self) -> int:
        """How many tokens the value after the next word has: a number, perhaps with a sign, or a text."""
        if self.next(1) in (NUMBER, STRING):
            return 1
        return 2 if self.next(1) in ("-", "+") and self.next(2) == NUMBER else 0

    def keys_clause(self, *, ended: bool = False) -> bool:
        """Read KEYS (…) of the outermost query, if it comes next."""
        if self.depth or not (self.grouped or ended) or self.next() != "KEYS" or self.next(1) != "(":
            return False
        first = self.position
        self.position += 2
        values = self.several(self._key)
        if not self.take(")"):
            raise self._not_a_key()
        at = self.at(first)
        self.said = with_option(self.said, "keys", values, at)
        return True

    def _key(self) -> Literal:
        first = self.position
        word = self.take("NULL", "TRUE", "FALSE", "DATE")
        if word == "NULL":
            raise NotSupported(
                "NULL among KEYS is not available",
                why="a list in a query compares by equality, and nothing equals NULL",
                fix="leave it out, or show it under another name: GROUP BY COALESCE(x, 'none') KEYS ('none')",
                at=self.at(first),
            )
        if word in ("TRUE", "FALSE"):
            return Literal(value=word == "TRUE", type=SqlType.BOOLEAN, at=self.at(first))
        sign = self.take("-", "+") if self.next(1) == NUMBER else ""
        if not self.take(NUMBER, STRING):
            raise self._not_a_key()
        last = self.position - 1
        if self.symbols[last] == NUMBER:
            return literals.number(self.lexed.written(last), negative=sign == "-", at=self.at(first))
        text = literals.text(self.lexed.text, self.lexed.at(last, last))
        found = literals.dated(text, at=self.at(first)) if word == "DATE" else text
        if found is None:
            raise misread(self.lexed.text, self.at(first), what="A date is written as DATE '2025-12-31'")
        return found

    def _not_a_key(self) -> NotSupported:
        return NotSupported(
            f"{excerpt(self.lexed.text, self.here()) or 'This'} in KEYS is not available",
            why="the groups of an answer are to be seen in the question, one by one",
            fix="list the groups of one column as they are: KEYS ('flu', 'asthma')",
            at=self.here(),
        )


def hinted_options(lexed: Lexed, hints: tuple[tuple[int, int], ...]) -> Options:
    """What the hints of a statement say, each at its place: before the first word, or right after SELECT."""
    options = NO_OPTIONS
    for at in hints:
        found = hinted(lexed.text, at)
        if found is None:
            continue
        before = max((end for end in lexed.ends[:-1] if end <= at[0]), default=None)
        if before is not None and before != _end_of_select(lexed):
            raise NotUnderstood(
                "A hint for dpsql stands where nothing reads it",
                why="its options are about the whole statement",
                fix="put it right after the first SELECT that is not in parentheses, or before the statement",
                at=at,
            )
        require_once(options, found)
        options = options.over(found)
    return options


def _end_of_select(lexed: Lexed) -> int | None:
    """Where the first word SELECT ends that is not in parentheses."""
    number = 0
    while number < len(lexed.symbols):
        if lexed.symbols[number] == "SELECT":
            return lexed.ends[number]
        number = lexed.closing.get(number, number) + 1
    return None
