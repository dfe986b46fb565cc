"""A walk over the tokens of a statement, each of them once, from the first to the last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NoReturn, TypeVar

from dpsql.catalog.spelling import PLAIN_NAME, quoted
from dpsql.sql.parsing import literals
from dpsql.sql.parsing.refusals import SIGNS, WORDS, misread, unsupported
from dpsql.sql.parsing.text import END, MAX_NESTING, NUMBER, QUOTED, STRING, Lexed, too_deep
from dpsql.sql.syntax import Identifier, Literal

RESERVED: Final = frozenset(
    {
        "ALL", "ANALYSE", "ANALYZE", "AND", "ANTI", "ANY", "ARRAY", "AS", "ASC", "ASOF", "ASYMMETRIC", "AT",
        "AUTHORIZATION", "BINARY", "BOTH", "BY", "CASE", "CAST", "CHECK", "COLLATE", "COLLATION", "COLUMN", "COLUMNS",
        "CONCURRENTLY", "CONSTRAINT", "CREATE", "CROSS", "DEFAULT", "DEFERRABLE", "DESC", "DESCRIBE", "DISTINCT",
        "DO", "ELSE", "END", "EXCEPT", "FALSE", "FETCH", "FOR", "FOREIGN", "FREEZE", "FROM", "FULL", "GENERATED",
        "GLOB", "GROUP", "HAVING", "ILIKE", "IN", "INITIALLY", "INNER", "INTERSECT", "INTO", "IS", "ISNULL", "JOIN",
        "LAMBDA", "LATERAL", "LEADING", "LEFT", "LIKE", "LIMIT", "MAP", "NATURAL", "NOT", "NOTNULL", "NULL", "OFFSET",
        "ON", "ONLY", "OR", "ORDER", "OUTER", "OVERLAPS", "PIVOT", "PIVOT_LONGER", "PIVOT_WIDER", "PLACING",
        "POSITIONAL", "PRIMARY", "QUALIFY", "REFERENCES", "RETURNING", "RIGHT", "SELECT", "SEMI", "SHOW", "SIMILAR",
        "SOME", "STRUCT", "SUMMARIZE", "SYMMETRIC", "TABLE", "TABLESAMPLE", "THEN", "TO", "TRAILING", "TRUE",
        "TRY_CAST", "TUPLE", "UNION", "UNIQUE", "UNPACK", "UNPIVOT", "USING", "VARIADIC", "VERBOSE", "WHEN", "WHERE",
        "WINDOW", "WITH",
    }
)  # fmt: skip
"""They name nothing unless they are quoted: DuckDB's reserved keywords and those of types and functions."""
CLOCKS: Final = frozenset({"CURRENT_DATE", "CURRENT_TIMESTAMP", "CURRENT_TIME", "LOCALTIME", "LOCALTIMESTAMP"})
"""They are calls without parentheses."""
_READ_OTHERWISE: Final = RESERVED | CLOCKS | {"INTERVAL", "VALUES"}


def spelled(name: str) -> str:
    """A folded name as people write it: in quotes where it has to be."""
    return name if PLAIN_NAME.fullmatch(name) and name.upper() not in _READ_OTHERWISE else quoted(name)


ONLY_AFTER_AS: Final = frozenset(
    {
        "CENTURIES", "CENTURY", "DAY", "DAYS", "DECADE", "DECADES", "EXCLUDE", "EXPORT_STATE", "HOUR", "HOURS",
        "IGNORE", "MICROSECOND", "MICROSECONDS", "MILLENNIA", "MILLENNIUM", "MILLISECOND", "MILLISECONDS", "MINUTE",
        "MINUTES", "MONTH", "MONTHS", "PRECISION", "QUARTER", "QUARTERS", "RENAME", "REPLACE", "RESPECT", "SECOND",
        "SECONDS", "VARYING", "WEEK", "WEEKS", "WITHIN", "WITHOUT", "YEAR", "YEARS",
    }
)  # fmt: skip
"""They name a column of the SELECT list after AS only: `1 year` reads like an interval."""


T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Cursor:
    """A walk over the tokens of a statement, from the first to the last."""

    lexed: Lexed
    symbols: list[str]
    position: int = 0
    depth: int = 0

    def next(self, ahead: int = 0) -> str:
        place = self.position + ahead
        return self.symbols[place] if place < len(self.symbols) else END

    def take(self, *symbols: str) -> str:
        """Step over the next symbol if it is one of these; the symbol, or nothing."""
        symbol = self.symbols[self.position]
        if symbol == END or symbol not in symbols:
            return ""
        self.position += 1
        return symbol

    def take_words(self, *words: str) -> bool:
        """Step over these words, if all of them come next."""
        if self.symbols[self.position : self.position + len(words)] != list(words):
            return False
        self.position += len(words)
        return True

    def expect(self, *symbols: str) -> str:
        return self.take(*symbols) or self.fail()

    def at(self, first: int) -> tuple[int, int]:
        """The place of everything from this token to the last one that was read."""
        return self.lexed.at(first, max(first, self.position - 1))

    def here(self, count: int = 1) -> tuple[int, int]:
        return self.lexed.at(self.position, self.position + count - 1)

    def fail(self) -> NoReturn:
        """Nothing can be read from here on."""
        symbol = self.next()
        lesson = WORDS.get(symbol) or SIGNS.get(symbol)
        if lesson is not None:
            raise unsupported(lesson, at=self.here())
        what = "The statement ends too early" if symbol == END else "This does not belong here"
        raise misread(self.lexed.text, self.here(), what=what)

    def several(self, one: Callable[[], T]) -> tuple[T, ...]:
        found = [one()]
        while self.take(","):
            found.append(one())
        return tuple(found)

    def wrapped(self, inner: Callable[[], T]) -> T:
        self.deeper(self.position)
        self.expect("(")
        found = inner()
        self.expect(")")
        self.depth -= 1
        return found

    def deeper(self, number: int) -> None:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise too_deep(self.lexed.at(number, number))

    def is_name(self) -> bool:
        symbol = self.next()
        return symbol == QUOTED or (symbol not in RESERVED and is_word(symbol))

    def name(self) -> Identifier:
        """A name; after a point or AS `label` takes any word."""
        return self.label() if self.is_name() else self.fail()

    def label(self) -> Identifier:
        symbol = self.next()
        if symbol not in (QUOTED, STRING) and not is_word(symbol):
            self.fail()
        self.position += 1
        return literals.identifier(self.lexed.text, self.at(self.position - 1))

    def path(self) -> tuple[Identifier, ...]:
        parts = [self.name()]
        while self.take("."):
            parts.append(self.label() if self.next() != STRING else self.fail())
        return tuple(parts)

    def number(self) -> Literal:
        self.expect(NUMBER)
        last = self.position - 1
        return literals.number(self.lexed.written(last), at=self.lexed.at(last, last))

    def holds_query(self, ahead: int = 0) -> bool:
        """Whether a query follows, perhaps in parentheses."""
        while self.next(ahead) == "(":
            ahead += 1
        return self.next(ahead) in ("SELECT", "WITH")


def is_word(symbol: str) -> bool:
    """Whether the symbol is that of a word."""
    return symbol[:1] == "_" or symbol[:1].isalpha() or symbol[:1] > "\x7f"
