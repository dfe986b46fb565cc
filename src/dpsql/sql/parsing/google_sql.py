"""GoogleSQL for differential privacy, as far as it means the same here: cut out before the parser sees the tokens.

    SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1, max_groups_contributed = 2) …
    SUM(x, contribution_bounds_per_group => (0, 110))

Bounds of a call become a CLAMP of each row or a limit of what one person adds in a group, and AVG is that of each
person's average; what has another meaning here is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from dpsql.errors import DpsqlError, NotSupported, NotUnderstood
from dpsql.sql.parsing import literals
from dpsql.sql.parsing.option_values import price, rows, share, unknown_option, with_option
from dpsql.sql.parsing.refusals import NO_RULE, misread
from dpsql.sql.syntax import NO_OPTIONS, At, Call, ContributionBounds, Expression, Literal, Options


def _column(name: str, written: str, at: At) -> str:
    try:
        return literals.identifier(written, (0, len(written))).name
    except DpsqlError:
        raise misread("", at, what=f"{name} is the name of a column") from None


_OPTIONS: Final[Mapping[str, tuple[str, Callable[[str, str, At], object]]]] = {
    "epsilon": ("epsilon", price),
    "delta": ("delta", share),
    "max_groups_contributed": ("groups_per_person", rows),
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
_MARKS: Final = frozenset({"DIFFERENTIAL_PRIVACY", *_BOUNDS})
"""One of these words is in everything that is cut out here."""
_OF_ROWS: Final = frozenset({"sum", "var_pop", "var_samp", "stddev_pop", "stddev_samp"})
"""Aggregates whose rows may be bounded one by one."""
_OF_GROUPS: Final = frozenset({"count", "sum", "avg"})
"""Aggregates that have a number for each person and group, which may be bounded."""


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
            if not (self._with_options() or self._named_bounds()):
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
        if self.word() != "WITH" or self.word(1) != "DIFFERENTIAL_PRIVACY":
            return False
        after_select = bool(self.kept) and self.kept[-1].token_type is TokenType.SELECT
        if not after_select and self.word(2) in ("AS", "("):  # a common table of that name
            return False
        if self.calls or self.selected or not after_select:
            raise NotUnderstood(
                "WITH DIFFERENTIAL_PRIVACY stands where nothing reads it",
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
        at = self._at(start, self.place - 1)
        if self.word() != ")" or self.calls[-1] in self.contributions:
            raise misread(self.text, self._at(self.place), what="Bounds end the call, and are said once")
        if not _less(low, high):
            raise misread(self.text, at, what="The smaller bound comes first")
        self.contributions[self.calls[-1]] = ContributionBounds(low=low, high=high, per_group=per_group, at=at)
        return True

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


def bounded_call(call: Expression, bounds: ContributionBounds) -> Call:
    """The call with its bounds."""
    if not isinstance(call, Call) or call.function not in _OF_ROWS | _OF_GROUPS or call.distinct:
        raise _no_rule(bounds, "bounds belong to COUNT, SUM, AVG, VAR_POP and STDDEV_POP, without DISTINCT")
    if call.function == "count":
        if not bounds.per_group or bounds.low.value != 0 or type(bounds.high.value) is not int:
            raise _no_rule(bounds, "rows of one person are counted from 0 up to a whole number")
        return replace(call, per_group=bounds)
    if len(call.arguments) != 1:
        raise _no_rule(bounds, "bounds are about one expression")
    if call.function not in (_OF_GROUPS if bounds.per_group else _OF_ROWS):
        raise _misplaced(call, bounds)
    if bounds.per_group:
        return replace(call, per_group=bounds, per_person=call.function == "avg")
    clamp = Call(function="clamp", arguments=(call.arguments[0], bounds.low, bounds.high), at=call.arguments[0].at)
    return replace(call, arguments=(clamp,))


def of_each_person(call: Expression) -> Expression:
    """The call as GoogleSQL means it under its clause: AVG is the average of the averages of each person."""
    return replace(call, per_person=True) if isinstance(call, Call) and call.function == "avg" else call


def _misplaced(call: Call, bounds: ContributionBounds) -> NotSupported:
    """GoogleSQL bounds the rows of a variance, and what each person has of an average; the other has no meaning."""
    name, low, high = call.function.upper(), bounds.low.value, bounds.high.value
    average = call.function == "avg"
    return NotSupported(
        f"{name} has no contribution_bounds_per_{'row' if average else 'group'}",
        why="in GoogleSQL it is the average of each person's average, and that is what its bounds are about"
        if average
        else "it is about rows, so that its bounds are those of each row",
        fix=f"write contribution_bounds_per_{'group' if average else 'row'} => ({low}, {high})"
        + (f"; AVG(CLAMP(x, {low}, {high})) without GoogleSQL's words is the average of rows" if average else ""),
        at=bounds.at,
    )


def _no_rule(bounds: ContributionBounds, why: str) -> NotSupported:
    return NotSupported(
        "These bounds are not available", why=f"{why}; {NO_RULE}", fix="use CLAMP(x, 0, 100) and LIMIT n PER PERSON",
        at=bounds.at,
    )  # fmt: skip
