"""GoogleSQL for differential privacy, as far as it means the same here: cut out before the parser sees the tokens.

    SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1, max_groups_contributed = 2) …
    SUM(x, contribution_bounds_per_group => (0, 110))        ANON_SUM(x CLAMPED BETWEEN 0 AND 110)

What it says of one person becomes a bound of that call, and AVG is that of each person's average; what has another
meaning here is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from dpsql.errors import DpsqlError, NotSupported, NotUnderstood
from dpsql.sql.parsing import literals
from dpsql.sql.parsing.option_values import price, rows, share, unknown_option, with_option
from dpsql.sql.parsing.refusals import misread
from dpsql.sql.syntax import NO_OPTIONS, At, ContributionBounds, Literal, Options


def _column(name: str, written: str, at: At) -> str:
    try:
        return literals.identifier(written, (0, len(written))).name
    except DpsqlError:
        raise misread("", at, what=f"{name} is the name of a column") from None


_OPTIONS: Final[Mapping[str, tuple[str, Callable[[str, str, At], object]]]] = {
    "epsilon": ("epsilon", price),
    "delta": ("delta", share),
    "max_groups_contributed": ("groups_per_person", rows),
    "kappa": ("groups_per_person", rows),
    "max_rows_contributed": ("rows_in_all", rows),
    "privacy_unit_column": ("privacy_unit", _column),
}
_OTHER_RULES: Final = {
    "group_selection_strategy": "groups that are not public are found by a rule of their own, with the same guarantee",
    "min_privacy_units_per_group": "how many people a group needs to be shown follows from its price and delta",
    "report_format": "an answer has its margins beside its numbers",
}
"""Options that mean something there and have another rule here."""
_BOUNDS: Final = {"CONTRIBUTION_BOUNDS_PER_GROUP": True, "CONTRIBUTION_BOUNDS_PER_ROW": False}
_QUERIES: Final = ("SELECT", "WITH", "FROM", "VALUES")
_SETS: Final = (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT)
_SIGNS: Final = {TokenType.DASH: True, TokenType.PLUS: False}
_MARKS: Final = frozenset({"DIFFERENTIAL_PRIVACY", "ANONYMIZATION", "CLAMPED", *_BOUNDS})
"""One of these words is in everything that is cut out here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Domestic:
    """A statement without foreign words, and what they said."""

    tokens: tuple[Token, ...]
    options: Options
    contributions: Mapping[int, ContributionBounds]
    """By the place of the name of the call they belong to."""
    of_people: frozenset[int]
    """Where the names of the calls stand in the SELECT that says WITH DIFFERENTIAL_PRIVACY, outside of subqueries."""


def without_foreign_words(tokens: tuple[Token, ...], text: str) -> Domestic:
    """Everything but GoogleSQL's own words."""
    if _MARKS.isdisjoint([token.text.upper() for token in tokens]):
        return Domestic(tokens=tokens, options=NO_OPTIONS, contributions={}, of_people=frozenset())
    cutting = _Cutting(tokens=tokens, text=text)
    cutting.cut()
    return Domestic(
        tokens=tuple(cutting.kept),
        options=cutting.options,
        contributions=cutting.contributions,
        of_people=frozenset(cutting.of_people),
    )


@dataclass(slots=True, kw_only=True)
class _Cutting:
    tokens: tuple[Token, ...]
    text: str
    kept: list[Token] = field(default_factory=list)
    options: Options = NO_OPTIONS
    contributions: dict[int, ContributionBounds] = field(default_factory=dict)
    calls: list[int] = field(default_factory=list)
    """Where the names before the open parentheses stand."""
    queries: list[bool] = field(default_factory=list)
    """Whether each of these parentheses holds a query."""
    of_people: set[int] = field(default_factory=set)
    place: int = 0
    selected: bool = False
    """A SELECT has said it."""
    inside: bool = False
    """This SELECT has."""

    def cut(self) -> None:
        while self.place < len(self.tokens):
            if not (self._with_options() or self._named_bounds() or self._clamped()):
                self._keep(self.tokens[self.place])

    def _keep(self, token: Token) -> None:
        if token.token_type is TokenType.L_PAREN:
            self.calls.append(self.kept[-1].start if self.kept else token.start)
            self.queries.append(self.word(1) in _QUERIES)
            if self.inside and not any(self.queries):
                self.of_people.add(self.calls[-1])
        elif token.token_type is TokenType.R_PAREN and self.calls:
            self.calls.pop()
            self.queries.pop()
        elif token.token_type in _SETS and not self.calls:
            self.inside = False
        self.kept.append(token)
        self.place += 1

    def word(self, ahead: int = 0) -> str:
        number = self.place + ahead
        quoted = (TokenType.STRING, TokenType.IDENTIFIER)
        if number >= len(self.tokens) or self.tokens[number].token_type in quoted:
            return ""
        return self.tokens[number].text.upper()

    def _at(self, first: int, last: int | None = None) -> tuple[int, int]:
        end = self.tokens[min(first if last is None else last, len(self.tokens) - 1)]
        return self.tokens[min(first, len(self.tokens) - 1)].start, end.end + 1

    def _with_options(self) -> bool:
        """SELECT WITH DIFFERENTIAL_PRIVACY [OPTIONS (…)]."""
        if self.word() != "WITH" or self.word(1) not in ("DIFFERENTIAL_PRIVACY", "ANONYMIZATION"):
            return False
        after_select = bool(self.kept) and self.kept[-1].token_type is TokenType.SELECT
        if not after_select and self.word(2) in ("AS", "("):  # a common table of that name
            return False
        if self.calls or self.selected or not after_select:
            raise NotUnderstood(
                f"WITH {self.word(1)} stands where nothing reads it",
                why="its options are about the whole statement",
                fix="put it right after the first SELECT that is not in parentheses",
                at=self._at(self.place, self.place + 1),
            )
        self.selected = self.inside = True
        self.place += 2
        if self.word() == "OPTIONS":
            self.place += 1
            self._expect("(")
            self._options()
        return True

    def _expect(self, sign: str) -> None:
        if self.word() != sign:
            raise misread(self.text, self._at(self.place), what=f"{sign} is missing here")
        self.place += 1

    def _options(self) -> None:
        while True:
            name, at = self.word().lower(), self._at(self.place)
            if name in _OTHER_RULES:
                raise NotSupported(f"{name} is not available", why=_OTHER_RULES[name], fix="leave it out", at=at)
            if name not in _OPTIONS:
                raise unknown_option(self.text[at[0] : at[1]], _OPTIONS, at)
            self.place += 1
            self._expect("=")
            first = self.place
            while self.place < len(self.tokens) and self.word() not in (",", ")"):
                self.place += 1
            if self.place == first:
                raise misread(self.text, at, what=f"{name} needs a value")
            where = self._at(first, self.place - 1)
            option, read = _OPTIONS[name]
            self.options = with_option(self.options, option, read(name, self.text[where[0] : where[1]], where), where)
            self.place += 1
            if self.place > len(self.tokens) or self.tokens[self.place - 1].text == ")":
                return

    def _named_bounds(self) -> bool:
        """, contribution_bounds_per_row => (0, 110) at the end of a call."""
        if self.word() != "," or self.word(1) not in _BOUNDS or self.word(2) != "=>" or not self.calls:
            return False
        start, per_group = self.place + 1, _BOUNDS[self.word(1)]
        self.place += 3
        self._expect("(")
        low = self._number()
        self._expect(",")
        high = self._number()
        self._expect(")")
        self._bound(low, high, per_group=per_group, at=self._at(start, self.place - 1))
        return True

    def _clamped(self) -> bool:
        """x CLAMPED BETWEEN 0 AND 110 at the end of a call."""
        if self.word() != "CLAMPED" or self.word(1) != "BETWEEN" or not self.calls:
            return False
        start = self.place
        self.place += 2
        low = self._number()
        self._expect("AND")
        high = self._number()
        self._bound(low, high, per_group=None, at=self._at(start, self.place - 1))
        return True

    def _bound(self, low: Literal, high: Literal, *, per_group: bool | None, at: tuple[int, int]) -> None:
        if self.word() != ")" or self.calls[-1] in self.contributions:
            raise misread(self.text, self._at(self.place), what="Bounds end the call, and are said once")
        if not _less(low, high):
            raise misread(self.text, at, what="The smaller bound comes first")
        self.contributions[self.calls[-1]] = ContributionBounds(low=low, high=high, per_group=per_group, at=at)

    def _number(self) -> Literal:
        first = self.place
        sign = self.tokens[self.place].token_type if self.place < len(self.tokens) else None
        self.place += sign in _SIGNS
        if self.place >= len(self.tokens) or self.tokens[self.place].token_type is not TokenType.NUMBER:
            raise misread(self.text, self._at(first), what="A bound is a number")
        written = self.text[slice(*self._at(self.place))]
        self.place += 1
        return literals.number(written, negative=sign is TokenType.DASH, at=self._at(first, self.place - 1))


def _less(low: Literal, high: Literal) -> bool:
    """Both are numbers."""
    return low.value < high.value  # type: ignore[operator]
