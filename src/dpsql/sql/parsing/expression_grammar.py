"""The grammar of an expression: operands between operators, calls, CASE, CAST, windows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dpsql.sql.parsing.refusals import Lesson, unsupported
from dpsql.sql.parsing.walking import NUMBER, STRING, WORD, Walk

_BINARY: Final = frozenset(
    {
        "+", "-", "*", "/", "//", "%", "^", "**", "=", "==", "<>", "!=", "<", "<=", ">", ">=", "||", "^@",
        "OR", "LIKE", "ILIKE", "DIV", "ESCAPE",
    }
)  # fmt: skip
_PREFIXES: Final = frozenset({"NOT", "-", "+"})
_AFTER_OPERAND: Final = _BINARY | {"NOT", "IN", "::", "IS", "BETWEEN", "AND", "ISNULL", "NOTNULL"}
_CONVERTED_CONSTANT: Final = Lesson(
    "A conversion right after a constant with its type",
    "engines do not agree on what belongs together",
    "put the constant in parentheses: (DATE '2025-01-31')::VARCHAR",
)


@dataclass(slots=True, kw_only=True)
class Expressions(Walk, ABC):
    """Which operator binds more tightly is not decided here, only that the words fit together."""

    @abstractmethod
    def query(self) -> None:
        """A query inside an expression."""

    def exists(self) -> None:
        self.wrapped(self.query)

    def expression(self) -> None:
        """Operands between operators; each BETWEEN has its AND."""
        betweens = 0
        operand = True
        while operand:
            while self.next() in _PREFIXES:
                self.position += 1
            self.primary()
            operand, betweens = self.after_operand(betweens)
        if betweens:
            self.fail()

    def after_operand(self, betweens: int) -> tuple[bool, int]:
        """Whether another operand must follow, and how many BETWEEN still wait for their AND."""
        while self.next() in _AFTER_OPERAND:
            if self.next() == "NOT" and self.next(1) in ("IN", "LIKE", "ILIKE", "BETWEEN"):
                self.position += 1
            if self.take("IN"):
                self.wrapped(self.query if self.holds_query() else lambda: self.several(self.expression))
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
            elif self.next() in _BINARY:
                self.position += 1
                return True, betweens
            elif not self.take("ISNULL", "NOTNULL"):
                break
        return False, betweens

    def primary(self) -> None:
        symbol = self.next()
        special = _SPECIAL.get(symbol)
        if self.is_private():
            self.private()
        elif symbol == "(":
            is_query = self.next(1) in ("SELECT", "WITH")
            self.wrapped(self.query if is_query else lambda: self.several(self.expression))
        elif special is not None and (self.next(1) == "(" or symbol in ("CASE", "INTERVAL")):
            self.position += 1
            special(self)
        elif symbol == ".":
            self.decimals()
        elif not self.take(NUMBER, STRING, "TRUE", "FALSE", "NULL"):
            self.named()

    def private(self) -> None:
        """A question of its own."""
        self.expect("PRIVATE")
        self.wrapped(self.query)

    def decimals(self) -> None:
        """.5 in one piece."""
        point = self.tokens.tokens[self.position]
        self.expect(".")
        if self.next() != NUMBER or self.tokens.tokens[self.position].start != point.end + 1:
            self.fail()
        self.position += 1

    def named(self) -> None:
        """A column, a call, or a constant with its type before it."""
        if self.next(1) == "(" and WORD.fullmatch(self.next()):
            self.position += 1
            return self.call()
        if self.is_name() and self.next(1) == STRING:
            return self.constant(2)
        if (self.next(), self.next(1), self.next(2)) == ("DOUBLE", "PRECISION", STRING):
            return self.constant(3)
        return self.path()

    def constant(self, words: int) -> None:
        """DATE '2025-01-01'. The parser would convert the text of a cast after it first, and the date never."""
        first = self.position
        self.position += words
        if self.next() == "::":
            raise unsupported(_CONVERTED_CONSTANT, at=self.tokens.at(first, self.position))

    def call(self) -> None:
        self.expect("(")
        if not self.take("*") and self.next() != ")":
            if self.take("DISTINCT"):
                self.different()
            else:
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

    def different(self) -> None:
        """a, b after DISTINCT, or (a, b) and nothing else."""
        depth, end = 0, self.position
        while end < len(self.symbols):
            depth += (self.symbols[end] == "(") - (self.symbols[end] == ")")
            if depth == 0:
                break
            end += 1
        alone = self.next() == "(" and self.symbols[end : end + 2] == (")", ")")
        if alone:
            self.wrapped(lambda: self.several(self.expression))
        else:
            self.several(self.expression)

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
        if not WORD.match(self.next()):
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


_SPECIAL: Final[dict[str, Callable[[Expressions], None]]] = {
    "CASE": Expressions.case,
    "CAST": Expressions.cast,
    "TRY_CAST": Expressions.cast,
    "EXTRACT": Expressions.extract,
    "TRIM": Expressions.trim,
    "SUBSTRING": Expressions.trim,
    "INTERVAL": Expressions.interval,
    "EXISTS": Expressions.exists,
}
"""Calls and forms whose arguments are not a plain list."""
