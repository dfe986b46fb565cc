"""The grammar of an answerable statement, as a recogniser of its tokens.

The parser of `parse` is lenient: it passes over a dangling word, a missing AND or a clause out of order. A question
that was mistyped must not be answered, and paid for, as another one. So every token has to find its place here too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from dpsql.sql.parsing.expression_grammar import Expressions
from dpsql.sql.parsing.tokens import Tokens
from dpsql.sql.parsing.walking import END, NUMBER, QUOTED, STRING

_AFTER_ITEMS: Final = frozenset(
    {
        "FROM",
        "WHERE",
        "GROUP BY",
        "HAVING",
        "WINDOW",
        "QUALIFY",
        "ORDER BY",
        "LIMIT",
        "OFFSET",
        "FETCH",
        "UNION",
        ")",
        END,
    }
)


def require_well_formed(tokens: Tokens) -> None:
    """Refuse a statement that is not one query from its first token to its last."""
    recogniser = _Recogniser(tokens=tokens, symbols=(*map(_symbol, tokens.tokens), END))
    recogniser.query()
    recogniser.expect(END)


_KINDS: Final = {TokenType.STRING: STRING, TokenType.NUMBER: NUMBER, TokenType.IDENTIFIER: QUOTED}


def _symbol(token: Token) -> str:
    return _KINDS.get(token.token_type) or " ".join(token.text.upper().split())


@dataclass(slots=True, kw_only=True)
class _Recogniser(Expressions):
    """Walks over the symbols of one statement."""

    # ---- queries ----------------------------------------------------------------------------------------------------

    def query(self) -> None:
        if self.take("WITH"):
            self.several(self.common_table)
        self.branch()
        while self.take("UNION"):
            self.expect("ALL")
            self.branch()
        if self.take("ORDER BY"):
            self.several(self.sort_key)
        self.rows()

    def branch(self) -> None:
        if self.next() == "(":
            return self.wrapped(self.query)
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
            ("QUALIFY", self.expression),
        )
        for word, clause in clauses:
            if self.take(word):
                clause()
        return None

    def common_table(self) -> None:
        self.name()
        if self.next() == "(":
            self.names()
        self.expect("AS")
        if self.take("NOT"):
            self.expect("MATERIALIZED")
        else:
            self.take("MATERIALIZED", "PRIVATE")
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
        if self.is_private():
            self.private()
        elif self.next() == "(":
            self.wrapped(self.query if self.holds_query() else self.joined)
        else:
            self.path()
        if self.take("AS") or self.is_name():
            self.name()
            if self.next() == "(":
                self.names()
