"""A walk over the tokens of a statement, each of them once, from the first to the last."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from dpsql.sql.parsing.refusals import misread
from dpsql.sql.parsing.tokens import Tokens
from dpsql.sql.parsing.words import RESERVED

STRING, NUMBER, QUOTED, END = "'", "0", '"', ""
"""What stands for a text, a number, a name in quotes, and the end, which is the last symbol."""

WORD: Final = re.compile("[^\x00-@\\[-^`{-\x7f][^\x00-#%-/:-@\\[-^`{-\x7f]*")


@dataclass(slots=True, kw_only=True)
class Walk:
    """Walks over the symbols once."""

    tokens: Tokens
    symbols: tuple[str, ...]
    position: int = field(default=0)

    def next(self, ahead: int = 0) -> str:
        place = self.position + ahead
        return self.symbols[place] if place < len(self.symbols) else END

    def take(self, *symbols: str) -> bool:
        """Step over the next symbol if it is one of these."""
        if (self.symbols[self.position] if self.position < len(self.symbols) else END) not in symbols:
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
        return symbol == QUOTED or (symbol not in RESERVED and WORD.fullmatch(symbol) is not None)

    def path(self) -> None:
        """After a point every word is a name."""
        self.name()
        while self.take("."):
            if self.next() != QUOTED and not WORD.fullmatch(self.next()):
                self.fail()
            self.position += 1

    def holds_query(self, ahead: int = 0) -> bool:
        """Whether a query follows, perhaps in parentheses."""
        while self.next(ahead) == "(":
            ahead += 1
        return self.next(ahead) in ("SELECT", "WITH")

    def is_private(self) -> bool:
        """Whether PRIVATE ( and a query come next."""
        return self.next() == "PRIVATE" and self.next(1) == "(" and self.holds_query(1)
