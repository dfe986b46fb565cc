"""The grammar of an answerable statement, as a recogniser of its tokens.

The parser of `parse` is lenient: it passes over a dangling word, a missing AND or a clause out of order. A question
that was mistyped must not be answered, and paid for, as another one. So every token has to find its place here too.
Which operator binds more tightly is not decided here, only that the words fit together.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from dpsql.sql.parsing.refusals import misread
from dpsql.sql.parsing.tokens import Tokens
from dpsql.sql.parsing.words import RESERVED

STRING, NUMBER, QUOTED, END = "'", "0", '"', ""
"""What stands for a text, a number, a name in quotes, and the end."""

_WORD: Final = re.compile("[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*")
_BINARY: Final = frozenset(
    {
        "+", "-", "*", "/", "//", "%", "^", "**", "=", "==", "<>", "!=", "<", "<=", ">", ">=", "||", "^@",
        "OR", "LIKE", "ILIKE", "DIV", "ESCAPE",
    }
)  # fmt: skip
_AFTER_ITEMS: Final = frozenset(
    {"FROM", "WHERE", "GROUP BY", "HAVING", "WINDOW", "ORDER BY", "LIMIT", "OFFSET", "FETCH", ")", END}
)


def require_well_formed(tokens: Tokens) -> None:
    """Refuse a statement that is not one query from its first token to its last."""
    recogniser = _Recogniser(tokens=tokens, symbols=(*map(_symbol, tokens.tokens), END))
    recogniser.query()
    recogniser.expect(END)


def _symbol(token: Token) -> str:
    kinds = {TokenType.STRING: STRING, TokenType.NUMBER: NUMBER, TokenType.IDENTIFIER: QUOTED}
    return kinds.get(token.token_type) or " ".join(token.text.upper().split())


@dataclass(slots=True, kw_only=True)
class _Recogniser:
    """Walks over the symbols once."""

    tokens: Tokens
    symbols: tuple[str, ...]
    position: int = field(default=0)

    def next(self, ahead: int = 0) -> str:
        return self.symbols[min(self.position + ahead, len(self.symbols) - 1)]

    def take(self, *symbols: str) -> bool:
        """Step over the next symbol if it is one of these."""
        if self.next() not in symbols:
            return False
        self.position += 1
        return True

    def expect(self, *symbols: str) -> None:
        if not self.take(*symbols):
            self.fail()

    def fail(self) -> None:
        number = min(self.position, len(self.tokens.tokens) - 1)
        ends = self.position >= len(self.tokens.tokens)
        what = "The statement ends too early" if ends else "This does not belong here"
        raise misread(self.tokens.text, self.tokens.at(number, number), what=what)

    def several(self, one: Callable[[], None]) -> None:
        one()
        while self.take(","):
            one()

    def wrapped(self, inner: Callable[[], None]) -> None:
        self.expect("(")
        inner()
        self.expect(")")

    def name(self) -> None:
        if not self.is_name():
            self.fail()
        self.position += 1

    def is_name(self, ahead: int = 0) -> bool:
        symbol = self.next(ahead)
        return symbol == QUOTED or (symbol not in RESERVED and _WORD.fullmatch(symbol) is not None)

    # ---- queries ----------------------------------------------------------------------------------------------------

    def query(self) -> None:
        if self.next() == "(":
            return self.wrapped(self.query)
        if self.take("WITH"):
            self.several(self.common_table)
        self.expect("SELECT")
        if not self.take("DISTINCT"):
            self.take("ALL")
        self.items()
        clauses: tuple[tuple[str, Callable[[], object]], ...] = (
            ("FROM", lambda: self.several(self.joined)),
            ("WHERE", self.expression),
            ("GROUP BY", lambda: self.several(self.expression)),
            ("HAVING", self.expression),
            ("WINDOW", lambda: self.several(self.named_window)),
            ("ORDER BY", lambda: self.several(self.sort_key)),
        )
        for word, clause in clauses:
            if self.take(word):
                clause()
        return self.rows()

    def common_table(self) -> None:
        self.name()
        if self.next() == "(":
            self.names()
        self.expect("AS")
        if self.take("NOT"):
            self.expect("MATERIALIZED")
        else:
            self.take("MATERIALIZED")
        self.wrapped(self.query)

    def names(self) -> None:
        self.wrapped(lambda: self.several(self.name))

    def items(self) -> None:
        self.item()
        while self.take(",") and self.next() not in _AFTER_ITEMS:
            self.item()

    def item(self) -> None:
        if self.take("*"):
            return
        if self.is_name() and self.next(1) == "." and self.next(2) == "*":
            self.position += 3
            return
        self.expression()
        if self.take("AS"):
            self.position += 1
        elif self.is_name():
            self.name()

    def rows(self) -> None:
        while self.next() in ("LIMIT", "OFFSET", "FETCH"):
            if self.take("FETCH"):
                self.expect("FIRST", "NEXT")
                self.expect(NUMBER)
                self.expect("ROW", "ROWS")
                self.expect("ONLY")
            else:
                self.position += 1
                self.expect(NUMBER)
                self.take("ROW", "ROWS")

    # ---- tables -----------------------------------------------------------------------------------------------------

    def joined(self) -> None:
        self.table()
        while self.next() in ("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS"):
            crossed = self.take("CROSS")
            if not crossed and not self.take("INNER") and self.take("LEFT", "RIGHT", "FULL"):
                self.take("OUTER")
            self.expect("JOIN")
            self.table()
            if crossed:
                continue
            if self.take("ON"):
                self.expression()
            else:
                self.expect("USING")
                self.names()

    def table(self) -> None:
        if self.next() == "(":
            self.wrapped(self.query if self._holds_query() else self.joined)
        else:
            self.path()
        if self.take("AS") or self.is_name():
            self.name()
            if self.next() == "(":
                self.names()

    def _holds_query(self) -> bool:
        ahead = 0
        while self.next(ahead) == "(":
            ahead += 1
        return self.next(ahead) in ("SELECT", "WITH")

    def path(self) -> None:
        """After a point every word is a name."""
        self.name()
        while self.take("."):
            if self.next() != QUOTED and not _WORD.fullmatch(self.next()):
                self.fail()
            self.position += 1

    # ---- expressions ------------------------------------------------------------------------------------------------

    def expression(self) -> None:
        """Operands between operators; each BETWEEN has its AND."""
        betweens = 0
        operand = True
        while operand:
            while self.take("NOT", "-", "+"):
                pass
            self.primary()
            operand, betweens = self.after_operand(betweens)
        if betweens:
            self.fail()

    def after_operand(self, betweens: int) -> tuple[bool, int]:
        """Whether another operand must follow, and how many BETWEEN still wait for their AND."""
        while True:
            if self.next() == "NOT" and self.next(1) in ("IN", "LIKE", "ILIKE", "BETWEEN"):
                self.position += 1
            if self.take("IN"):
                self.wrapped(lambda: self.several(self.expression))
            elif self.take("::"):
                self.type()
            elif self.take("IS"):
                self.take("NOT")
                if self.take("DISTINCT"):
                    self.expect("FROM")
                    return True, betweens
                self.expect("NULL", "TRUE", "FALSE", "UNKNOWN")
            elif self.take("BETWEEN"):
                return True, betweens + 1
            elif self.take("AND"):
                return True, max(0, betweens - 1)
            elif self.take(*_BINARY):
                return True, betweens
            elif not self.take("ISNULL", "NOTNULL"):
                return False, betweens

    def primary(self) -> None:
        symbol = self.next()
        special = _SPECIAL.get(symbol)
        if symbol == "(":
            self.wrapped(self.expression)
        elif special is not None and (self.next(1) == "(" or symbol in ("CASE", "INTERVAL")):
            self.position += 1
            special(self)
        elif symbol == ".":
            self.decimals()
        elif not self.take(NUMBER, STRING, "TRUE", "FALSE", "NULL"):
            self.named()

    def decimals(self) -> None:
        """.5 in one piece."""
        point = self.tokens.tokens[self.position]
        self.expect(".")
        if self.next() != NUMBER or self.tokens.tokens[self.position].start != point.end + 1:
            self.fail()
        self.position += 1

    def named(self) -> None:
        """A column, a call, or a constant with its type before it."""
        if self.next(1) == "(" and _WORD.fullmatch(self.next()):
            self.position += 1
            return self.call()
        if self.is_name() and self.next(1) == STRING:
            self.position += 2
            return None
        if (self.next(), self.next(1), self.next(2)) == ("DOUBLE", "PRECISION", STRING):
            self.position += 3
            return None
        return self.path()

    def call(self) -> None:
        self.expect("(")
        if not self.take("*") and self.next() != ")":
            if not self.take("DISTINCT"):
                self.take("ALL")
            self.several(self.expression)
        self.expect(")")
        if self.take("WITHIN"):
            self.expect("GROUP")
            self.wrapped(self.order)
        if self.take("FILTER"):
            self.expect("(")
            self.expect("WHERE")
            self.expression()
            self.expect(")")
        if self.take("OVER"):
            if self.next() == "(":
                self.wrapped(self.window)
            else:
                self.name()

    def order(self) -> None:
        self.expect("ORDER BY")
        self.several(self.sort_key)

    def sort_key(self) -> None:
        self.expression()
        self.take("ASC", "DESC")
        if self.take("NULLS"):
            self.expect("FIRST", "LAST")

    def named_window(self) -> None:
        self.name()
        self.expect("AS")
        self.wrapped(self.window)

    def window(self) -> None:
        if self.take("PARTITION BY"):
            self.several(self.expression)
        if self.next() == "ORDER BY":
            self.order()
        if self.take("ROWS", "RANGE"):
            if self.take("BETWEEN"):
                self.edge()
                self.expect("AND")
            self.edge()

    def edge(self) -> None:
        if self.take("CURRENT ROW"):
            return
        if self.take("CURRENT"):
            self.expect("ROW")
            return
        self.expect("UNBOUNDED", NUMBER)
        self.expect("PRECEDING", "FOLLOWING")

    def type(self) -> None:
        if not _WORD.match(self.next()):
            self.fail()
        self.position += 1
        self.take("PRECISION")
        if self.take("WITHOUT"):
            self.expect("TIME")
            self.expect("ZONE")
        if self.next() == "(":
            self.wrapped(lambda: self.several(lambda: self.expect(NUMBER)))

    def case(self) -> None:
        if self.next() != "WHEN":
            self.expression()
        self.expect("WHEN")
        while True:
            self.expression()
            self.expect("THEN")
            self.expression()
            if not self.take("WHEN"):
                break
        if self.take("ELSE"):
            self.expression()
        self.expect("END")

    def cast(self) -> None:
        self.expect("(")
        self.expression()
        self.expect("AS")
        self.type()
        self.expect(")")

    def extract(self) -> None:
        self.expect("(")
        self.position += 1
        self.expect("FROM")
        self.expression()
        self.expect(")")

    def trim(self) -> None:
        """TRIM(BOTH 'x' FROM a), SUBSTRING(a FROM 1 FOR 2), and both with commas."""
        self.expect("(")
        self.take("BOTH", "LEADING", "TRAILING")
        self.several(self.expression)
        for word in ("FROM", "FOR"):
            if self.take(word):
                self.expression()
        self.expect(")")

    def interval(self) -> None:
        if self.next() == "(":
            self.wrapped(self.expression)
        else:
            self.expect(NUMBER, STRING)
        if self.is_name():
            self.name()


_SPECIAL: Final[dict[str, Callable[[_Recogniser], None]]] = {
    "CASE": _Recogniser.case,
    "CAST": _Recogniser.cast,
    "TRY_CAST": _Recogniser.cast,
    "EXTRACT": _Recogniser.extract,
    "TRIM": _Recogniser.trim,
    "SUBSTRING": _Recogniser.trim,
    "INTERVAL": _Recogniser.interval,
}
"""Calls and forms whose arguments are not a plain list."""
