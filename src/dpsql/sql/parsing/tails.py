"""The clauses of dpsql at the end of a statement, cut from its tokens before the parser sees them.

    … COST 0.1      … WITHIN 20 CONFIDENCE 0.9      … LIMIT 3 PER PERSON      … GROUP BY x KEYS ('a', 'b')
    SIMULATE … ROWS 500

None of their words is reserved: a clause begins only where an operand has ended and its value follows, which no SQL
statement has. `SELECT cost FROM t cost ORDER BY cost` reads as it always did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from dpsql.catalog.types import SqlType
from dpsql.errors import BadParameter, NotSupported, NotUnderstood
from dpsql.sql.parsing import literals
from dpsql.sql.parsing.hints import hinted
from dpsql.sql.parsing.option_values import confidence, margin, price_or_nothing, require_once, rows, with_option
from dpsql.sql.parsing.refusals import excerpt, misread
from dpsql.sql.parsing.words import RESERVED
from dpsql.sql.syntax import NO_OPTIONS, At, Literal, Options

_NUMBERED: Final[Mapping[str, tuple[str, Callable[[str, str, At], object]]]] = {
    "COST": ("epsilon", price_or_nothing),
    "WITHIN": ("within", margin),
    "CONFIDENCE": ("confidence", confidence),
    "ROWS": ("rows", rows),
}
"""Clauses of a word and a number: the option, and how its value is read."""

_OPEN: Final = (RESERVED - {"END", "NULL", "TRUE", "FALSE", "ASC", "DESC", "ONLY"}) | {
    "BETWEEN", "ESCAPE", "DIV", "INTERVAL", "OVER", "FILTER", "VALUES",
}  # fmt: skip
"""Words after which an operand is still to come."""
_WORDED: Final = {"TRUE": 1, "FALSE": 1, "NULL": 1, "DATE": 2}
"""Constants that begin with a word, and how many tokens they have."""
_SIGNED: Final = frozenset({TokenType.DASH, TokenType.PLUS})
_VALUES: Final = frozenset({TokenType.NUMBER, TokenType.STRING})
_QUERY: Final = frozenset({TokenType.SELECT, TokenType.FROM})


_MARKS: Final = frozenset({*_NUMBERED, "PER", "KEYS"})
"""One of these words is in every clause."""


def without_tail(tokens: tuple[Token, ...], text: str) -> tuple[tuple[Token, ...], Options]:
    """The tokens of the question itself, and what the clauses around its end say."""
    if _MARKS.isdisjoint([token.text.upper() for token in tokens]):
        return tokens, NO_OPTIONS
    return _Cutting(tokens=tokens, text=text).cut()


@dataclass(slots=True, kw_only=True)
class _Cutting:
    tokens: tuple[Token, ...]
    text: str
    kept: list[Token] = field(default_factory=list)
    options: Options = NO_OPTIONS
    ended: bool = False
    """A clause other than KEYS was read: nothing of the question may follow."""
    depth: int = 0
    grouped: bool = False
    """GROUP BY of the outermost query was read."""

    def cut(self) -> tuple[tuple[Token, ...], Options]:
        place = 0
        while place < len(self.tokens):
            taken = self._clause(place) if self.depth == 0 and self._after_operand() else 0
            if taken:
                place += taken
                continue
            self._keep(self.tokens[place])
            place += 1
        if self.options.epsilon is not None and self.options.within is not None:
            raise BadParameter(
                "COST and WITHIN both decide the price",
                why="each is the price of the answer in other words, and they need not agree",
                fix="say one of them",
                at=self.options.within.at,
            )
        return tuple(self.kept), self.options

    def _keep(self, token: Token) -> None:
        if self.ended:
            at = (token.start, token.end + 1)
            raise NotUnderstood(
                f"After an option comes {excerpt(self.text, at)!r}",
                why="COST, WITHIN, CONFIDENCE and LIMIT … PER PERSON speak of the whole question, and end it",
                fix="put them last, after ORDER BY and LIMIT",
                at=at,
            )
        self.depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
        if self.depth == 0 and token.token_type is TokenType.GROUP_BY:
            self.grouped = True
        elif self.depth == 0 and token.token_type in _QUERY:
            self.grouped = False
        self.kept.append(token)

    def _after_operand(self) -> bool:
        """Whether something stands before it that an operator, a comma or a clause could follow."""
        if self.ended:
            return True
        if not self.kept:
            return False
        before = self.kept[-1]
        if before.token_type in _VALUES or before.token_type in (TokenType.R_PAREN, TokenType.IDENTIFIER):
            return True
        word = before.text.upper()
        return (word[:1].isalpha() or word[:1] == "_") and " " not in word and word not in _OPEN

    def _word(self, place: int) -> str:
        token = self.tokens[place] if place < len(self.tokens) else None
        return "" if token is None or token.token_type in (*_VALUES, TokenType.IDENTIFIER) else token.text.upper()

    def _clause(self, place: int) -> int:
        """How many tokens the clause has that begins here; 0: none begins here."""
        word = self._word(place)
        if word in _NUMBERED:
            return self._numbered(place, *_NUMBERED[word])
        if word == "LIMIT":
            return self._rows_per_person(place)
        if word == "KEYS" and self._word(place + 1) == "(" and (self.grouped or self.ended):
            return self._keys(place)
        return 0

    def _numbered(self, place: int, option: str, read: Callable[[str, str, At], object]) -> int:
        size = self._value_size(place + 1)
        if not size or (self._signed(place + 1) and not self._ends(place + 1 + size)):
            return 0  # ORDER BY x, cost - 1 + y
        written, at = self._written(place + 1, size)
        self.options = with_option(self.options, option, read(self._word(place), written, at), at)
        self.ended = True
        return 1 + size

    def _rows_per_person(self, place: int) -> int:
        """LIMIT n PER PERSON; LIMIT n alone is SQL's."""
        size = self._value_size(place + 1)
        per = place + 1 + size
        if not size or self._word(per) != "PER":
            return 0
        if self._word(per + 1) != "PERSON":
            token = self.tokens[min(per + 1, len(self.tokens) - 1)]
            raise misread(self.text, (token.start, token.end + 1), what="LIMIT n PER is followed by PERSON")
        written, at = self._written(place + 1, size)
        self.options = with_option(self.options, "rows_per_person", rows("LIMIT", written, at), at)
        self.ended = True
        return 3 + size

    def _keys(self, place: int) -> int:
        last = place + 2
        values = []
        while True:
            size = _WORDED.get(self._word(last)) or self._value_size(last)
            if not size:
                raise self._not_a_list(last)
            values.append(self._literal(last, size))
            last += size
            if self._word(last) == ")":
                break
            if self._word(last) != ",":
                raise self._not_a_list(last)
            last += 1
        at = (self.tokens[place].start, self.tokens[last].end + 1)
        self.options = with_option(self.options, "keys", tuple(values), at)
        return last + 1 - place

    def _literal(self, place: int, size: int) -> Literal:
        written, at = self._written(place, size)
        token = self.tokens[place + size - 1]
        word = self._word(place)
        if word == "NULL":
            raise NotSupported(
                "NULL among KEYS is not available",
                why="a list in a query compares by equality, and nothing equals NULL",
                fix="leave it out, or show it under another name: GROUP BY COALESCE(x, 'none') KEYS ('none')",
                at=at,
            )
        if word in ("TRUE", "FALSE"):
            return Literal(value=word == "TRUE", type=SqlType.BOOLEAN, at=at)
        if token.token_type is TokenType.NUMBER:
            return literals.number(written.lstrip("+-"), negative=written[0] == "-", at=at)
        text = literals.text(self.text, (token.start, token.end + 1))
        found = literals.dated(text, at=at) if word == "DATE" else text
        if found is None:
            raise misread(self.text, at, what="A date is written as DATE '2025-12-31'")
        return found

    def _not_a_list(self, place: int) -> NotSupported:
        token = self.tokens[min(place, len(self.tokens) - 1)]
        return NotSupported(
            f"{excerpt(self.text, (token.start, token.end + 1)) or 'This'} in KEYS is not available",
            why="the groups of an answer are to be seen in the question, one by one",
            fix="list the groups of one column as they are: KEYS ('flu', 'asthma')",
            at=(token.start, token.end + 1),
        )

    def _signed(self, place: int) -> bool:
        return self.tokens[place].token_type in _SIGNED

    def _value_size(self, place: int) -> int:
        """How many tokens a value has that begins here: a number, perhaps with a sign or a point, or a text."""
        kinds = [token.token_type for token in self.tokens[place : place + 3]]
        for before in ((), (TokenType.DASH,), (TokenType.PLUS,)):
            for point in ((), (TokenType.DOT,)):
                form = [*before, *point, TokenType.NUMBER]
                if kinds[: len(form)] == form:
                    return len(form)
        return 1 if kinds[:1] == [TokenType.STRING] else 0

    def _ends(self, place: int) -> bool:
        return place >= len(self.tokens) or self._word(place) in (*_NUMBERED, "LIMIT", "KEYS")

    def _written(self, place: int, size: int) -> tuple[str, tuple[int, int]]:
        at = (self.tokens[place].start, self.tokens[place + size - 1].end + 1)
        return self.text[at[0] : at[1]], at


def hinted_options(text: str, hints: tuple[tuple[int, int], ...], tokens: tuple[Token, ...]) -> Options:
    """What the hints of a statement say, each at its place: before the first word, or right after SELECT."""
    options = NO_OPTIONS
    select = next(_selects(tokens), None)
    for at in hints:
        found = hinted(text, at)
        if found is None:
            continue
        before = max((token.end for token in tokens if token.end < at[0]), default=None)
        if before not in (None, select):
            raise NotUnderstood(
                "A hint for dpsql stands where nothing reads it",
                why="its options are about the whole statement",
                fix="put it right after the first SELECT that is not in parentheses, or before the statement",
                at=at,
            )
        require_once(options, found)
        options = options.over(found)
    return options


def _selects(tokens: tuple[Token, ...]) -> Iterator[int]:
    """Where the words SELECT end that are not in parentheses."""
    depth = 0
    for token in tokens:
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
        if depth == 0 and token.token_type is TokenType.SELECT:
            yield token.end
