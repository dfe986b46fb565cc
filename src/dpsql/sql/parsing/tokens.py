"""The tokens of one statement, checked before the parser sees them, and the places they stand at.

The parser is a transpiler's: it accepts much, and for some texts it needs exponential time or writes to a log. What it
is given is therefore small, shallow, free of signs no rule names, and without the names of functions: every call is
read as a call of one unknown function, and its real name is looked up at its place in the text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from sqlglot import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from dpsql.errors import BadParameter, NotSupported
from dpsql.sql.parsing.google_sql import without_foreign_words
from dpsql.sql.parsing.option_values import require_once
from dpsql.sql.parsing.refusals import (
    CLAUSES,
    FROM_FIRST,
    SET_OPERATION,
    SIGNS,
    STATEMENTS,
    STRINGS,
    UNCONDITIONAL_JOIN,
    Lesson,
    excerpt,
    misread,
    unsupported,
)
from dpsql.sql.parsing.tails import hinted_options, without_tail
from dpsql.sql.parsing.text import Prepared
from dpsql.sql.syntax import NO_OPTIONS, At, ContributionBounds, Options

DIALECTS: Final = frozenset({"duckdb"})
MAX_TOKENS: Final = 25_000
"""In all. A list of ten thousand values is fine."""
MAX_WORDS: Final = 2_000
"""Tokens other than constants and commas: what every later stage has to walk through."""
MAX_NESTING: Final = 30
"""Parentheses, CASE and chains of NOT or minus. The parser takes some 25 frames of Python's stack for each."""

SIGNS_READ: Final = frozenset(
    [
        "(",
        ")",
        ",",
        ".",
        "+",
        "-",
        "*",
        "/",
        "//",
        "%",
        "^",
        "**",
        "=",
        "==",
        "<>",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "||",
        "::",
        "^@",
    ]
)
_OPENING: Final = frozenset({TokenType.L_PAREN, TokenType.CASE})
_CLOSING: Final = frozenset({TokenType.R_PAREN, TokenType.END})
_PREFIXES: Final = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS})
_SET_OPERATIONS: Final = frozenset({TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT})
_BEGINNINGS: Final = frozenset({TokenType.SELECT, TokenType.WITH})
_PARTS_OF_QUERIES: Final = _SET_OPERATIONS | _BEGINNINGS | {TokenType.FROM}
_ENDS_OF_LIST: Final = frozenset(
    {
        TokenType.FROM,
        TokenType.WHERE,
        TokenType.GROUP_BY,
        TokenType.HAVING,
        TokenType.WINDOW,
        TokenType.QUALIFY,
        TokenType.ORDER_BY,
        TokenType.LIMIT,
        TokenType.OFFSET,
        TokenType.FETCH,
        TokenType.UNION,
    }
)
_PARTS_OF_JOINS: Final = frozenset({TokenType.JOIN, TokenType.ON, TokenType.USING})
_METHODS: Final = frozenset({TokenType.NATURAL, TokenType.ASOF, TokenType.POSITIONAL})
_CONSTANTS: Final = frozenset({TokenType.NUMBER, TokenType.STRING, TokenType.COMMA})
_QUOTED: Final = frozenset({TokenType.STRING, TokenType.IDENTIFIER})
_OTHER_STRINGS: Final = frozenset(kind for kind in TokenType if kind.name.endswith("_STRING"))
_NO_NAMES: Final = SIGNS_READ - {"("}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The tokens of a statement and how its brackets (parentheses, CASE … END) enclose them."""

    text: str
    tokens: tuple[Token, ...]
    starts: tuple[int, ...]
    around: tuple[int, ...]
    """For each token the number of the innermost bracket that is open around it, or -1."""
    closing: dict[int, int]
    """Number of the opening bracket → number of the closing one."""
    options: Options = NO_OPTIONS
    """What the clauses at the end and the hints say; no token of theirs is left."""
    contributions: Mapping[int, ContributionBounds] = field(default_factory=dict)
    """What calls say of one person, by the place of their names."""
    of_people: frozenset[int] = frozenset()
    """Where the names of the calls stand that GoogleSQL takes of each person first."""

    def number(self, offset: int) -> int:
        """The token that holds the character at `offset`, or the last one before it."""
        return max(0, bisect_right(self.starts, offset) - 1)

    def at(self, first: int, last: int) -> tuple[int, int]:
        """The place of the tokens from `first` to `last`."""
        return self.tokens[first].start, self.tokens[last].end + 1

    def balanced(self, at: At, *, enclosing: int = 0) -> At:
        """`at` widened until no bracket is cut through; with `enclosing`, first to the bracket around it and to the
        `enclosing - 1` tokens before that: 1 for CASE … END and ( … ), 2 for name( … )."""
        if at is None:
            return None
        first, last = self.number(at[0]), self.number(at[1] - 1)
        if enclosing and self.around[first] >= 0:
            opening = self.around[first]
            first, last = max(0, opening - enclosing + 1), max(last, self.closing[opening])
        while self.around[last] >= first:
            last = self.closing[self.around[last]]
        while self.around[first] >= 0 and self.closing[self.around[first]] <= last:
            first = self.around[first]
        return self.at(first, last)

    def word(self, text: str) -> At:
        """The first token that is this word."""
        found = (number for number, token in enumerate(self.tokens) if token.text.upper() == text.upper())
        number = next(found, None)
        return None if number is None else self.at(number, number)

    def called(self, offset: int) -> At:
        """The call whose name stands at `offset`, with its parentheses."""
        name = self.number(offset)
        return self.at(name, self.closing.get(name + 1, name))

    def selects(self) -> Iterator[int]:
        """The words SELECT that begin a query, in order."""
        for number, token in enumerate(self.tokens):
            before = self.tokens[number - 1].token_type if number else None
            if token.token_type is TokenType.SELECT and before not in (TokenType.DOT, TokenType.ALIAS):  # t.select
                yield number

    def query_at(self, select: int) -> tuple[int, int]:
        """From the word SELECT to the end of that query, or to the word UNION after it."""
        around = self.around[select]
        end = self.closing[around] if around >= 0 else len(self.tokens)
        unions = (n for n in range(select, end) if self.around[n] == around and self._is_union(n))
        return self.at(select, next(unions, end) - 1)

    def _is_union(self, number: int) -> bool:
        before = self.tokens[number - 1].token_type
        return self.tokens[number].token_type is TokenType.UNION and before not in (TokenType.DOT, TokenType.ALIAS)

    def items(self, select: int) -> list[tuple[int, int]]:
        """The columns of the SELECT list after the word SELECT, as the numbers of their first and last tokens."""
        first = select + 1
        while first < len(self.tokens) and self.tokens[first].token_type in (TokenType.DISTINCT, TokenType.ALL):
            first += 1
        found, around = [], self.around[select]
        last = len(self.tokens) if around < 0 else self.closing[around]
        for number in range(first, last + 1):
            if number < last and self.around[number] != around:
                continue
            ends = number == last or self._ends_list(number)
            if ends or self.tokens[number].token_type is TokenType.COMMA:
                found.append((first, number - 1))
                first = number + 1
            if ends:
                break
        return found[:-1] if found and found[-1][0] > found[-1][1] else found  # DuckDB allows a comma after the last

    def _ends_list(self, number: int) -> bool:
        return (
            self.tokens[number].token_type in _ENDS_OF_LIST
            and self.tokens[number - 1].token_type
            not in (TokenType.DISTINCT, TokenType.DOT, TokenType.ALIAS)  # IS DISTINCT FROM, t.limit
        )


def tokens_of(prepared: Prepared, *, dialect: str) -> Tokens:
    """The tokens the parser may see; everything no rule names is refused here where a token shows it."""
    tokens = tuple(_tokenized(prepared, dialect))
    _require_size(tokens)
    _require_a_query(tokens, prepared.text)
    domestic = without_foreign_words(tokens, prepared.text)
    _require_known_signs(domestic.tokens, prepared.text)
    tokens, tail = without_tail(domestic.tokens, prepared.text)
    require_once(domestic.options, tail)
    options = domestic.options.over(tail).over(hinted_options(prepared.text, prepared.hints, tokens))
    found = replace(
        _bracketed(tokens, prepared.text),
        options=options,
        contributions=domestic.contributions,
        of_people=domestic.of_people,
    )
    _require_plain_literals(found)
    _require_plain_queries(found, dialect=dialect)
    _require_conditions(found)
    return found


def _tokenized(prepared: Prepared, dialect: str) -> list[Token]:
    if dialect not in DIALECTS:
        raise BadParameter(
            f"dialect={dialect!r} is not one of {', '.join(sorted(DIALECTS))}",
            why="a text is read by the rules of one dialect",
            fix="name the dialect of the engine",
        )
    try:
        return Dialect.get_or_raise(dialect).tokenize(prepared.plain)
    except TokenError:
        raise misread(prepared.text, (0, len(prepared.text))) from None


def _require_size(tokens: tuple[Token, ...]) -> None:
    words = sum(token.token_type not in _CONSTANTS for token in tokens)
    for count, most, what in ((len(tokens), MAX_TOKENS, "words"), (words, MAX_WORDS, "words besides constants")):
        if count > most:
            raise NotSupported(
                f"The statement has {count} {what}; {most} are read",
                why="a longer question would keep the service from answering others",
                fix="ask a shorter question; a long list of values belongs in a table",
                at=(tokens[0].start, tokens[0].end + 1),
            )


def _require_known_signs(tokens: tuple[Token, ...], text: str) -> None:
    for token in tokens:
        first = text[token.start : token.start + 1] or "'"
        quoted = token.token_type in _QUOTED
        if quoted and first in "'\"" and token.end > token.start:
            continue
        if quoted or token.token_type in _OTHER_STRINGS:
            raise unsupported(STRINGS, at=(token.start, token.end + 1))
        if not (token.text in SIGNS_READ or first.isalnum() or first == "_" or first > "\x7f"):
            lesson = SIGNS.get(token.text, Lesson(f"The sign {token.text[:10]}"))
            raise unsupported(lesson, at=(token.start, token.end + 1))


def _require_a_query(tokens: tuple[Token, ...], text: str) -> None:
    """A statement begins with SELECT or WITH, perhaps in parentheses."""
    if tokens[0].token_type in (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN):
        return
    word, at = tokens[0].text.upper(), (tokens[0].start, tokens[0].end + 1)
    if word in STATEMENTS:
        raise unsupported(STATEMENTS[word], at=at)
    raise misread(text, at, what="A statement begins with SELECT or WITH")


def _bracketed(tokens: tuple[Token, ...], text: str) -> Tokens:
    """Brackets matched and counted: NOT ( and - ( are as deep as two parentheses."""
    around, closing = [], {}
    kinds = [token.token_type for token in tokens]
    open_: list[tuple[int, int]] = []
    depth = prefixes = 0
    for number, kind in enumerate(kinds):
        if kind in _CLOSING:
            in_case = bool(open_) and kinds[open_[-1][0]] is TokenType.CASE
            ends = kind is TokenType.END and in_case
            if kind is TokenType.R_PAREN and (not open_ or in_case):
                raise misread(text, _at(tokens[number]), what="A parenthesis is closed that was never opened")
            if ends or kind is TokenType.R_PAREN:
                opening, weight = open_.pop()
                closing[opening] = number
                depth -= weight
        around.append(open_[-1][0] if open_ else -1)
        if depth + prefixes > MAX_NESTING:
            raise _too_deep(_at(tokens[number]))
        if kind in _OPENING:
            open_.append((number, 1 + prefixes))
            depth += 1 + prefixes
        if kind in _PREFIXES:
            prefixes += 1
        elif prefixes and kinds[number + 1 : number + 2] != [TokenType.L_PAREN]:  # a prefix of a call is one of (
            prefixes = 0
    if open_:
        opened = tokens[open_[-1][0]]
        raise misread(text, _at(opened), what=f"{opened.text.upper()} is never closed")
    starts = tuple(token.start for token in tokens)
    return Tokens(text=text, tokens=tokens, starts=starts, around=tuple(around), closing=closing)


def _at(token: Token) -> tuple[int, int]:
    return token.start, token.end + 1


def _too_deep(at: At) -> NotSupported:
    return NotSupported(
        f"The question is nested more than {MAX_NESTING} deep",
        why="a deeper text would keep the service from answering others",
        fix="name the inner parts in a WITH clause",
        at=at,
    )


def _require_plain_literals(found: Tokens) -> None:
    """No text right after text, no word glued to a number or to a quote: engines read these differently."""
    for before, token in zip(found.tokens, found.tokens[1:], strict=False):
        kind, touching = before.token_type, before.end + 1 == token.start
        if token.token_type is TokenType.STRING:
            if kind is TokenType.STRING or (touching and kind is TokenType.VAR):
                raise unsupported(STRINGS, at=(before.start, token.end + 1))
        elif (
            touching and kind is TokenType.NUMBER and token.text and SIGNS_READ.isdisjoint((token.text, token.text[0]))
        ):
            raise misread(found.text, (before.start, token.end + 1), what="A number is followed by a letter")


def _require_plain_queries(found: Tokens, *, dialect: str) -> None:
    """Each query is one SELECT … FROM …; a WITH holds queries only (the parser logs what it does not know there)."""
    statements = _statements(dialect)
    started: dict[int, TokenType] = {}
    if found.tokens[-1].token_type is TokenType.ALIAS:
        raise misread(found.text, found.at(-1, -1), what="AS needs a name")
    kind: TokenType | None = None
    for number, token in enumerate(found.tokens):
        before, kind = kind, token.token_type
        if before is not TokenType.ALIAS and kind not in statements and kind not in _PARTS_OF_QUERIES:
            continue
        at, around = _at(token), found.around[number]
        if kind in _SET_OPERATIONS and before not in (TokenType.DOT, TokenType.STAR):  # * EXCEPT (…) is another thing
            after = found.tokens[number + 1].token_type if number + 1 < len(found.tokens) else None
            if (kind, after) != (TokenType.UNION, TokenType.ALL):
                raise unsupported(SET_OPERATION, at=at)
        if before is TokenType.ALIAS and token.text in _NO_NAMES:
            raise misread(found.text, at, what="AS needs a name")
        if kind in _BEGINNINGS:
            started[around] = kind
        elif kind is TokenType.FROM and (before is TokenType.L_PAREN or started.get(around) is TokenType.WITH):
            raise unsupported(FROM_FIRST, at=at)
        elif kind in statements and (
            (before is TokenType.L_PAREN and _in_with(found, number))
            or (before is TokenType.R_PAREN and started.get(around) is TokenType.WITH)
        ):
            raise unsupported(STATEMENTS.get(token.text.upper(), Lesson(excerpt(found.text, at))), at=at)


@cache
def _statements(dialect: str) -> frozenset[TokenType]:
    """The words that begin other statements than a query."""
    reading = Dialect.get_or_raise(dialect)
    return frozenset(reading.parser_class.STATEMENT_PARSERS.keys() | reading.tokenizer_class.COMMANDS)


def _in_with(found: Tokens, number: int) -> bool:
    """Whether the token is the first of AS ( … ), AS MATERIALIZED ( … ) or AS PRIVATE ( … )."""
    word = found.tokens[number - 2] if number >= 2 else None
    return word is not None and (word.token_type is TokenType.ALIAS or word.text.upper() in ("MATERIALIZED", "PRIVATE"))


def _require_conditions(found: Tokens) -> None:
    """Each JOIN but CROSS JOIN has ON or USING before the next: without, the parser needs exponential time."""
    waiting: dict[int, Token] = {}
    for number, token in enumerate(found.tokens):
        if token.token_type not in _PARTS_OF_JOINS:
            continue
        around = found.around[number]
        if token.token_type is TokenType.JOIN:
            if around in waiting:
                break
            near = found.tokens[max(0, number - 3) : number]
            before = {earlier.token_type for earlier in near}
            if before & _METHODS:
                method = next(earlier for earlier in near if earlier.token_type in _METHODS)
                raise unsupported(CLAUSES["Join", "method"], at=(method.start, token.end + 1))
            if TokenType.CROSS not in before:
                waiting[around] = token
        else:
            waiting.pop(around, None)
    for join in waiting.values():
        raise unsupported(UNCONDITIONAL_JOIN, at=(join.start, join.end + 1))
