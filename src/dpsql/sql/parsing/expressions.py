"""The grammar of expressions, from OR down to constants: tokens in, our own tree out.

An interval and a row of values are calls of `interval` and `row` until an operator takes them; `parse` refuses others.
Operators bind as in DuckDB. Where engines disagree on how far an operator reaches, parentheses must say it.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Final, TypeGuard

from dpsql.catalog.types import SqlType
from dpsql.errors import BadName, NotSupported
from dpsql.sql.parsing import literals, refusals
from dpsql.sql.parsing.cursor import CLOCKS, RESERVED, Cursor, is_word
from dpsql.sql.parsing.functions import NULL, called, part_of, unit_of
from dpsql.sql.parsing.google_sql import BOUNDS, bounded_call
from dpsql.sql.parsing.refusals import Lesson, misread, unsupported
from dpsql.sql.parsing.text import END, NUMBER, QUOTED, STRING
from dpsql.sql.syntax import (
    Among,
    At,
    Call,
    ContributionBounds,
    Expression,
    Frame,
    FrameUnit,
    Identifier,
    Literal,
    Name,
    Over,
    PrivateValue,
    Query,
    SortKey,
    Star,
)

MAX_COPIES: Final = 10_000
"""BETWEEN and CASE x WHEN write their operand more than once; nested, that would multiply."""

_COMPARISONS: Final = {
    "=": "eq", "==": "eq", "<>": "ne", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
}  # fmt: skip
_BINARY: Final[Mapping[str, tuple[int, str]]] = {
    "||": (1, "concat"),
    "^@": (1, "starts_with"),
    "+": (2, "add"),
    "-": (2, "sub"),
    "*": (3, "mul"),
    "/": (3, "div"),
    "//": (3, "intdiv"),
    "%": (3, "mod"),
    "^": (4, "power"),
    "**": (4, "power"),
}
"""How tightly each operator binds; equal ones group from the left."""
OPERATOR_WORDS: Final = frozenset({"BETWEEN", "ESCAPE", "OVER", "FILTER"})
"""Words that name no function, and no column without AS, although they are not reserved."""
_CALLABLE: Final = frozenset({"LEFT", "RIGHT", "ISNULL", "COLUMNS"})
"""Reserved words that are names of functions, here or elsewhere."""
_RANGES: Final = frozenset({"BETWEEN", "IN", "LIKE", "ILIKE"})
_CASTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("INT", "INTEGER", "INT4", "SIGNED", "BIGINT", "INT8", "INT64", "LONG"), "to_integer"),
    **dict.fromkeys(("DOUBLE", "FLOAT8"), "to_double"),
    **dict.fromkeys(("TEXT", "VARCHAR", "STRING", "CHAR", "BPCHAR"), "to_text"),
    "DATE": "to_date",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_NTZ", "DATETIME"), "to_timestamp"),
    **dict.fromkeys(("BOOLEAN", "BOOL", "LOGICAL"), "to_boolean"),
}
_PLAIN: Final = {"to_date": literals.dated, "to_timestamp": literals.timed}
_NEAR_TYPES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("TINYINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT", "UHUGEINT"), "BIGINT"),
    **dict.fromkeys(("UUID", "JSON", "BLOB", "BIT"), "VARCHAR"),
}
_CAST_TYPE: Final = Lesson(
    "A cast to this type",
    "numbers of other widths round and overflow differently on each engine",
    "cast to BIGINT, DOUBLE, VARCHAR, DATE, TIMESTAMP or BOOLEAN; ROUND(x, 2) keeps two decimals",
)
_COMPUTED_KEY: Final = Lesson("A computed number of a column", fix="write the number alone, as in ORDER BY 2")
_CONVERTED_CONSTANT: Final = Lesson(
    "A conversion right after a constant with its type",
    "engines do not agree on what belongs together",
    "put the constant in parentheses: (DATE '2025-01-31')::VARCHAR",
)
_ORDERED_SETS: Final = {"percentile_cont": "quantile_cont", "percentile_disc": "quantile_disc"}
_TRIMS: Final = {"LEADING": "ltrim", "TRAILING": "rtrim", "BOTH": "trim"}
_SPAN: Final = re.compile(r"\s*(-?)(\d+)\s*([A-Za-z]*)\s*")


@dataclass(slots=True, kw_only=True)
class Expressions(Cursor, ABC):
    copies: int = 0
    of_people: bool = False
    """The SELECT that is read says WITH DIFFERENTIAL_PRIVACY."""
    windows: list[Windows] = field(default_factory=list)
    """Of each query that is being read, the outermost first."""

    @abstractmethod
    def query(self) -> Query:
        """A query inside an expression."""

    @abstractmethod
    def inner_query(self) -> Query:
        """The same, where nothing else can stand: other statements are refused by their names."""

    # ---- logic and comparisons --------------------------------------------------------------------------------------

    def expression(self) -> Expression:
        symbol = self.symbols[self.position]
        if symbol in (NUMBER, STRING) and self.symbols[self.position + 1] in (",", ")"):
            return self._constant()  # at once: lists are long
        return self._chain("or", "OR", self._conjunction)

    def _conjunction(self) -> Expression:
        return self._chain("and", "AND", self._negation)

    def _chain(self, function: str, word: str, one: Callable[[], Expression]) -> Expression:
        first = self.position
        found = one()
        if self.symbols[self.position] != word:
            return found
        parts = [found]
        while self.take(word):
            parts.append(one())
        return Call(function=function, arguments=tuple(parts), at=self.at(first))

    def _negation(self) -> Expression:
        first = self.position
        while self.take("NOT"):
            self.deeper(self.position - 1)
        inner, found = self.position, self._test()
        for number in range(inner - 1, first - 1, -1):
            self.depth -= 1
            if isinstance(found, Call) and found.function == "is_null" and found.at == self.at(number + 1):
                found = replace(found, function="is_not_null", at=self.at(number))
            else:
                found = Call(function="not", arguments=(found,), at=self.at(number))
        return found

    def _test(self) -> Expression:
        """x IS NULL, x IS DISTINCT FROM y, x ISNULL."""
        first, found = self.position, self._comparison()
        distinct = False
        while True:
            if self.take("ISNULL"):
                found = self._tested("is_null", found, first)
            elif self.take("NOTNULL"):
                found = self._tested("is_not_null", found, first)
            elif self.take("IS"):
                negated = bool(self.take("NOT"))
                if self.take_words("DISTINCT", "FROM"):
                    if distinct:
                        raise unsupported(refusals.MISSING_PARENTHESES, at=found.at)
                    distinct = True
                    right = self._comparison()
                    name = "is_not_distinct" if negated else "is_distinct"
                    found = Call(function=name, arguments=(found, right), at=self.at(first))
                    continue
                word = self.expect("NULL", "TRUE", "FALSE", "UNKNOWN")
                name = "is_null" if word in ("NULL", "UNKNOWN") else f"is_{word.lower()}"
                if negated and name == "is_null":
                    found = self._tested("is_not_null", found, first)
                else:
                    found = self._tested(name, found, first)
                    found = self._tested("not", found, first) if negated else found
            else:
                break
        if self.next() in _COMPARISONS or self.next() in _BINARY:
            raise unsupported(refusals.MISSING_PARENTHESES, at=self.at(first))
        return found

    def _tested(self, function: str, operand: Expression, first: int) -> Expression:
        return Call(function=function, arguments=(operand,), at=self.at(first))

    def _comparison(self) -> Expression:
        first, left = self.position, self._range()
        function = _COMPARISONS.get(self.symbols[self.position])
        if function is None:
            return left
        self.position += 1
        right = self._range()
        if self.next() in _COMPARISONS:
            raise unsupported(refusals.MISSING_PARENTHESES, at=self.at(first))
        return Call(function=function, arguments=(left, right), at=self.at(first))

    def _range(self) -> Expression:
        """x [NOT] BETWEEN a AND b, IN (…), LIKE a ESCAPE b."""
        first = self.position
        left = self._binary(1)
        negated = self.symbols[self.position] == "NOT" and self.next(1) in _RANGES
        word = self.symbols[self.position + negated]
        if word not in _RANGES:
            return left
        self.position += 1 + negated
        if word == "IN":
            found = self._in(left, first)
        elif word == "BETWEEN":
            found = self._between(left, first)
        else:
            found = self._like(word.lower(), left, first)
        return self._tested("not", found, first) if negated else found

    def _between(self, subject: Expression, first: int) -> Expression:
        if self.next() == "SYMMETRIC":
            raise unsupported(refusals.SYMMETRIC, at=self.here())
        low = self._binary(1)
        self.expect("AND")
        high = self._binary(1)
        at = self.at(first)
        self._copied(subject, at=at)
        ends = (
            Call(function="ge", arguments=(subject, low), at=at),
            Call(function="le", arguments=(subject, high), at=at),
        )
        return Call(function="and", arguments=ends, at=at)

    def _like(self, function: str, left: Expression, first: int) -> Expression:
        arguments: tuple[Expression, ...] = (left, self._binary(1))
        if self.take("ESCAPE"):
            arguments = (*arguments, self._prefixed())
            if self.next() in _BINARY:
                raise unsupported(refusals.MISSING_PARENTHESES, at=self.at(first))
        return Call(function=function, arguments=arguments, at=self.at(first))

    def _in(self, left: Expression, first: int) -> Expression:
        opening = self.position
        if self.next() != "(":
            if self.is_name() and self.next(1) != "(":
                raise unsupported(refusals.NO_LIST, at=self.at(first))
            self.fail()
        if not self.holds_query(1):
            values = () if self.next(1) == ")" else self.wrapped(lambda: self.several(self.expression))
            if not values:
                raise misread(self.lexed.text, self.at(first), what="IN needs a list of values")
            return Call(function="in", arguments=(left, *values), at=self.at(first))
        if self.next(1) == "(":  # x IN ((SELECT …)) is a list with one value in some engines
            raise unsupported(refusals.SUBQUERY, at=self.lexed.at(opening + 1, self.lexed.closing[opening + 1]))
        asked = self.wrapped(self.query)
        operands = left.arguments if _is(left, "row") else (left,)
        return Among(operands=operands, query=asked, at=self.at(first))

    def _copied(self, operand: Expression, *, at: At) -> None:
        """Count what writing `operand` once more adds; refuse before it gets out of hand."""
        self.copies += _size(operand)
        if self.copies > MAX_COPIES:
            lesson = Lesson("An expression repeated this often", fix="name it in a subquery or a WITH clause")
            raise unsupported(lesson, at=at)

    # ---- arithmetic -------------------------------------------------------------------------------------------------

    def _binary(self, least: int) -> Expression:
        """Operators that bind at least this tightly."""
        first = self.position
        left = self._prefixed()
        while (operator := _BINARY.get(self.symbols[self.position])) is not None and operator[0] >= least:
            self.position += 1
            level, function = operator
            right = self._binary(level + 1)
            left = self._combined(function, left, right, first)
        return left

    def _combined(self, function: str, left: Expression, right: Expression, first: int) -> Expression:
        if function in ("add", "sub") and _is(right, "interval"):
            return _moved(left, right, negative=function == "sub", at=self.at(first))
        if function == "add" and _is(left, "interval"):
            return _moved(right, left, negative=False, at=self.at(first))
        return Call(function=function, arguments=(left, right), at=self.at(first))

    def _prefixed(self) -> Expression:
        first = self.position
        while self.symbols[self.position] in ("-", "+"):
            self.position += 1
            self.deeper(self.position - 1)
        if self.symbols[self.position] == "NOT":
            inner = self.position
            self._negation()
            raise unsupported(refusals.MISSING_PARENTHESES, at=self.at(inner))
        inner = self.position
        self.depth -= inner - first
        if inner == first:
            return self._cast()
        if self.symbols[inner] == NUMBER and self.symbols[inner - 1] == "-" and self.next(1) != "::":
            self.position += 1
            found: Expression = literals.number(self.lexed.written(inner), negative=True, at=self.at(inner - 1))
            inner -= 1
        else:
            found = self._cast()
        for number in range(inner - 1, first - 1, -1):
            if self.symbols[number] == "-":
                found = Call(function="neg", arguments=(found,), at=self.at(number))
        return found

    def _cast(self) -> Expression:
        first, found = self.position, self._primary()
        while self.take("::"):
            found = self._cast_to(self._type(), found, first)
        return found

    def _cast_to(self, function: str, argument: Expression, first: int) -> Expression:
        if isinstance(argument, Literal) and function in _PLAIN:
            plain = _PLAIN[function](argument, at=argument.at)
            if plain is not None:
                return plain
        return Call(function=function, arguments=(argument,), at=self.at(first))

    def _type(self) -> str:
        first = self.position
        if not is_word(self.next()):
            self.fail()
        word = self.next()
        self.position += 1
        if word == "DOUBLE":
            self.take("PRECISION")
        if word == "TIMESTAMP":
            self.take_words("WITHOUT", "TIME", "ZONE")
        function = _CASTS.get(word)
        if function == "to_text" and self.next() == "(":  # a length that DuckDB reads and does not keep
            self.wrapped(self.number)
        if function is None or self.next() in ("(", "WITH"):
            raise unsupported(_CAST_TYPE, at=self.lexed.at(first, first)).instead_of(_NEAR_TYPES.get(word))
        return function

    # ---- operands ---------------------------------------------------------------------------------------------------

    def _primary(self) -> Expression:
        symbol = self.symbols[self.position]
        if symbol in (NUMBER, STRING):
            return self._constant()
        if symbol == "(":
            first = self.position
            if self.next(1) in ("SELECT", "WITH"):
                asked = self.wrapped(self.query)
                return PrivateValue(query=asked, said=False, at=self.at(first))
            parts = self.wrapped(lambda: self.several(self.expression))
            return parts[0] if len(parts) == 1 else Call(function="row", arguments=parts, at=self.at(first))
        special = _SPECIAL.get(symbol)
        if special is not None and (self.next(1) == "(" or symbol in ("CASE", "INTERVAL")):
            self.position += 1
            return special(self, self.position - 1)
        if symbol in _LITERALS:
            self.position += 1
            return replace(_LITERALS[symbol], at=self.at(self.position - 1))
        if symbol == "*":
            raise unsupported(refusals.STAR, at=self.here())
        return self._named()

    def _constant(self) -> Expression:
        number = self.position
        self.position += 1
        if self.symbols[number] == STRING:
            return literals.text(self.lexed.text, self.lexed.at(number, number))
        return literals.number(self.lexed.written(number), at=self.lexed.at(number, number))

    def _named(self) -> Expression:
        """A column, a call, or a constant with its type before it."""
        first, symbol = self.position, self.next()
        if self.next(1) == "(" and (is_word(symbol) or symbol == QUOTED):
            if symbol in _NOT_FUNCTIONS:
                raise unsupported(_NOT_FUNCTIONS[symbol], at=self.lexed.at(first, self.lexed.closing[first + 1]))
            if symbol in OPERATOR_WORDS or (symbol in RESERVED and symbol not in _CALLABLE):
                self.fail()
            return self._call()
        if symbol in CLOCKS:
            self.position += 1
            return Call(function=symbol.lower(), arguments=(), at=self.at(first))
        precise = (symbol, self.next(1), self.next(2)) == ("DOUBLE", "PRECISION", STRING)
        if self.is_name() and (self.next(1) == STRING or precise):
            function, argument = self._type(), self._constant()
            if self.next() == "::":
                raise unsupported(_CONVERTED_CONSTANT, at=self.lexed.at(first, self.position))
            return self._cast_to(function, argument, first)
        parts = self.path()
        if self.next() == "(":
            raise unsupported(refusals.NAMING, at=self.lexed.at(first, self.lexed.closing[self.position]))
        if self.next(-1) == "." or len(parts) > 4:
            raise unsupported(refusals.NAMING, at=self.at(first))
        return Name(parts=parts, at=self.at(first))

    # ---- calls ------------------------------------------------------------------------------------------------------

    def _call(self) -> Expression:
        first = self.position
        name = self.label()
        closing = self.lexed.at(first, self.lexed.closing[first + 1])
        if name.quoted:
            raise unsupported(
                Lesson("A function in quotes", refusals.NO_RULE, "write its name without quotes"), at=closing
            )
        self.deeper(self.position)
        self.expect("(")
        found, bounds = self._arguments(name, closing)
        self.expect(")")
        self.depth -= 1
        if bounds is not None:
            found = bounded_call(found, bounds)
        if self.of_people and found.function == "avg":  # of GoogleSQL: the average of the averages of each person
            found = replace(found, per_person=True)
        return self._after_call(found, first)

    def _arguments(self, name: Identifier, at: At) -> tuple[Call, ContributionBounds | None]:
        if self.next() == "*" and self.next(1) in (")", ","):
            star = Star(at=self.here())
            self.position += 1
            bounds = self._bounds()
            if name.name == "count":
                return Call(function="count", arguments=(star,), at=at), bounds
            if name.at is not None and get_close_matches(name.name, ["count"]):
                raise BadName(
                    f"there is no function {name.name!r} here. Did you mean COUNT?",
                    why="only COUNT is of whole rows",
                    fix="write COUNT(*)",
                    try_sql=f"{self.lexed.text[: name.at[0]]}COUNT{self.lexed.text[name.at[1] :]}",
                    at=at,
                )
            raise unsupported(refusals.STAR, at=star.at)
        if self.next() == ")":
            return called(name.name, (), distinct=False, at=at), None
        distinct = bool(self.take("DISTINCT"))
        if not distinct:
            self.take("ALL")
        given: list[Expression] = [self._argument()]
        bounds = self._bounds()
        while bounds is None and self.take(","):
            given.append(self._argument())
            bounds = self._bounds()
        if self.next() in refusals.INSIDE_AGGREGATE:
            at_words = self.here(1 + (self.next(1) in ("BY", "NULLS")))
            raise unsupported(refusals.INSIDE_AGGREGATE[self.next()], at=at_words)
        if distinct and name.name == "count" and len(given) == 1 and _is(given[0], "row"):
            together = replace(given[0], function="together")
            return Call(function="count", arguments=(together,), distinct=True, at=at), bounds
        if name.name == "date_add" and len(given) == 2 and _is(given[1], "interval"):
            return _moved(given[0], given[1], negative=False, at=at), bounds
        return called(name.name, tuple(given), distinct=distinct, at=at), bounds

    def _argument(self) -> Expression:
        if self.next() == "*" or (self.is_name() and self.next(1) == "." and self.next(2) == "*"):
            raise unsupported(refusals.STAR, at=self.here(1 if self.next() == "*" else 3))
        if self.next(1) == "=>":
            raise unsupported(refusals.SIGNS["=>"], at=self.lexed.at(self.position + 1, self.position + 1))
        return self.expression()

    def _bounds(self) -> ContributionBounds | None:
        """, contribution_bounds_per_row => (0, 110) at the end of a call."""
        if self.next() != "," or self.next(1) not in BOUNDS or self.next(2) != "=>":
            return None
        first, per_group = self.position + 1, BOUNDS[self.next(1)]
        self.position += 3
        self.expect("(")
        low = self._bound()
        self.expect(",")
        high = self._bound()
        self.expect(")")
        at = self.at(first)
        if self.next() != ")":
            raise misread(self.lexed.text, self.here(), what="Bounds end the call, and are said once")
        if not low.value < high.value:  # type: ignore[operator]
            raise misread(self.lexed.text, at, what="The smaller bound comes first")
        return ContributionBounds(low=low, high=high, per_group=per_group, at=at)

    def _bound(self) -> Literal:
        first, sign = self.position, self.take("-", "+")
        if self.next() != NUMBER:
            raise misread(self.lexed.text, self.lexed.at(first, first), what="A bound is a number")
        self.position += 1
        return literals.number(self.lexed.written(self.position - 1), negative=sign == "-", at=self.at(first))

    def _after_call(self, found: Call, first: int) -> Call:
        if self.take_words("WITHIN", "GROUP"):
            found = self._ordered_set(found, self.wrapped(self.order_by), first)
        if self.next() == "FILTER" and self.next(1) == "(":
            self.position += 1
            condition = self.wrapped(self._filter)
            found = replace(found, filter=condition, at=self.at(first))
        if self.next() in ("IGNORE", "RESPECT") and self.next(1) == "NULLS":
            raise unsupported(refusals.INSIDE_AGGREGATE[self.next()], at=self.here(2))
        if self.take("OVER"):
            over = self.wrapped(self.window) if self.next() == "(" else self._named_window()
            found = replace(found, over=over, at=self.at(first))
        return found

    def _filter(self) -> Expression:
        self.expect("WHERE")
        return self.expression()

    def _ordered_set(self, call: Call, keys: tuple[SortKey, ...], first: int) -> Call:
        """PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x) is QUANTILE_CONT(x, q)."""
        if call.function not in _ORDERED_SETS or len(keys) != 1 or keys[0].descending:
            raise unsupported(
                Lesson(
                    "WITHIN GROUP here",
                    "it would list or choose values of people one by one",
                    "count each value: SELECT x, COUNT(*) … GROUP BY x; of numbers ask for AVG(x) and STDDEV(x)",
                ),
                at=self.at(first),
            )
        arguments = (keys[0].expression, *call.arguments)
        return Call(function=_ORDERED_SETS[call.function], arguments=arguments, at=self.at(first))

    # ---- order and windows ------------------------------------------------------------------------------------------

    def order_by(self) -> tuple[SortKey, ...]:
        self.expect("ORDER")
        self.expect("BY")
        return self.several(self._sort_key)

    def key(self) -> Expression:
        """What is grouped or ordered by. A number is that of a column; computed, it is one in some engines alone."""
        first, found = self.position, self.expression()
        written = self.symbols[first : self.position]
        if {"+", "-"} & {*written} and {*written} <= {"+", "-", "(", ")", NUMBER} and written != ["-", NUMBER]:
            raise unsupported(_COMPUTED_KEY, at=self.at(first))
        return found

    def _sort_key(self) -> SortKey:
        """NULLs last unless told otherwise."""
        if self.next() == "ALL" and self.next(1) in (END, ")", "LIMIT", "OFFSET", "ASC", "DESC", ","):
            raise unsupported(refusals.ORDER_BY_ALL, at=self.here())
        expression = self.key()
        descending = self.take("ASC", "DESC") == "DESC"
        nulls_first = bool(self.take("NULLS")) and self.expect("FIRST", "LAST") == "FIRST"
        return SortKey(expression=expression, descending=descending, nulls_first=nulls_first)

    def window(self) -> Over:
        if self.is_name() and self.next() not in ("PARTITION", "ROWS", "RANGE", "GROUPS"):
            raise unsupported(refusals.EXTENDED_WINDOW, at=self.here())
        partition: tuple[Expression, ...] = ()
        if self.take("PARTITION"):
            self.expect("BY")
            partition = self.several(self.expression)
        order = self.order_by() if self.next() == "ORDER" else ()
        return Over(partition_by=partition, order_by=order, frame=self._frame())

    def _frame(self) -> Frame | None:
        first, unit = self.position, self.take("ROWS", "RANGE", "GROUPS")
        if not unit:
            return None
        if unit == "GROUPS":
            raise unsupported(refusals.GROUPS, at=self.at(first))
        between = self.take("BETWEEN")
        start = self._edge("PRECEDING", first)
        if between:
            self.expect("AND")
        end = self._edge("FOLLOWING", first) if between else 0
        if self.next() == "EXCLUDE":
            raise unsupported(refusals.EXCLUDE, at=self.here())
        if start is not None and end is not None and start > end:
            raise _no_frame(self.at(first))
        return Frame(unit=FrameUnit[unit], start=start, end=end)

    def _edge(self, outward: str, first: int) -> int | None:
        """None for UNBOUNDED in its own direction, 0 for CURRENT ROW, else rows after (before: negative)."""
        if self.take_words("CURRENT", "ROW"):
            return 0
        if self.take("UNBOUNDED"):
            if self.expect("PRECEDING", "FOLLOWING") == outward:
                return None
            raise _no_frame(self.at(first))
        count = self.number().value if self.next() == NUMBER else None
        side = self.take("PRECEDING", "FOLLOWING")
        if not isinstance(count, int) or not side:
            raise _no_frame(self.at(first))
        return -count if side == "PRECEDING" else count

    def named_windows(self) -> dict[str, Over]:
        """WINDOW w AS (…), v AS (…)."""
        found: dict[str, Over] = {}
        for name, window in self.several(self._window_definition):
            if name.name in found:
                raise misread(self.lexed.text, name.at, what="Two windows have this name")
            found[name.name] = window
        return found

    def _window_definition(self) -> tuple[Identifier, Over]:
        name = self.name()
        self.expect("AS")
        return name, self.wrapped(self.window)

    def _named_window(self) -> Over:
        """The window of this name. The clause that defines it is still to come."""
        name = self.name()
        scope = self.windows[-1]
        if scope.known is None:
            place, depth = self.position, self.depth
            self.position, scope.known = scope.select, {}
            while self.next() not in (END, ")", "UNION"):  # what stands in no parentheses of its own
                if self.take("WINDOW"):
                    scope.known = self.named_windows()
                    break
                self.position = self.lexed.closing.get(self.position, self.position) + 1
            self.position, self.depth = place, depth
        if name.name not in scope.known:
            raise BadName(
                f"there is no window {name.written[:40]!r}",
                why="a window is used by the name the WINDOW clause gives it",
                fix="define it: WINDOW w AS (PARTITION BY …)",
                at=name.at,
            )
        return scope.known[name.name]

    # ---- forms with words in them -----------------------------------------------------------------------------------

    # Each begins after its word, which is the token `first`.

    def _case(self, first: int) -> Expression:
        self.deeper(first)
        subject = self.expression() if self.next() != "WHEN" else None
        branches: list[Expression] = []
        self.expect("WHEN")
        while True:
            when = self.expression()
            self.expect("THEN")
            then = self.expression()
            if subject is not None:
                self._copied(subject, at=when.at)
                when = Call(function="eq", arguments=(subject, when), at=when.at)
            branches += [when, then]
            if not self.take("WHEN"):
                break
        branches.append(self.expression() if self.take("ELSE") else NULL)
        if self.next() == END:
            raise misread(self.lexed.text, self.lexed.at(first, first), what="CASE is never closed")
        self.expect("END")
        self.depth -= 1
        return Call(function="case", arguments=tuple(branches), at=self.at(first))

    def _cast_call(self, first: int) -> Expression:
        def inside() -> tuple[Expression, str]:
            argument = self.expression()
            self.expect("AS")
            return argument, self._type()

        argument, function = self.wrapped(inside)
        return self._cast_to(function, argument, first)

    def _extract(self, first: int) -> Expression:
        def inside() -> tuple[str, Expression]:
            number = self.position
            if self.next() != STRING and not is_word(self.next()):
                raise unsupported(refusals.PART, at=self.here())
            self.position += 1
            self.expect("FROM")
            written = self.lexed.written(number)
            return written[1:-1] if self.symbols[number] == STRING else written, self.expression()

        part, moment = self.wrapped(inside)
        return part_of(part, moment, at=self.at(first))

    def _trim(self, first: int) -> Expression:
        """TRIM(BOTH 'x' FROM a), TRIM(a, 'x')."""

        def inside() -> tuple[str, tuple[Expression, ...]]:
            function = _TRIMS[self.take(*_TRIMS) or "BOTH"]
            given = self.several(self.expression)
            return function, (self.expression(), *given) if self.take("FROM") else given

        function, given = self.wrapped(inside)
        return self._after_call(Call(function=function, arguments=given, at=self.at(first)), first)

    def _substring(self, first: int) -> Expression:
        """SUBSTRING(a FROM 1 FOR 2), SUBSTRING(a, 1, 2)."""

        def inside() -> tuple[Expression, ...]:
            given = self.several(self.expression)
            if len(given) > 1 or self.next() not in ("FROM", "FOR"):
                return given
            start = self.expression() if self.take("FROM") else Literal(value=1, type=SqlType.INTEGER, at=self.here())
            return (*given, start, self.expression()) if self.take("FOR") else (*given, start)

        return Call(function="substring", arguments=self.wrapped(inside), at=self.at(first))

    def _interval(self, first: int) -> Expression:
        """INTERVAL 3 DAY, INTERVAL '3' DAY, INTERVAL '3 days', INTERVAL (x) DAY."""
        if self.next() == "(":
            count: Expression = self.wrapped(self.expression)
            unit = ""
        else:
            number = self.position
            self.expect(NUMBER, STRING)
            written = self.lexed.written(number)
            written = written[1:-1] if self.symbols[number] == STRING else written
            found = _SPAN.fullmatch(written)
            if found is None or (self.symbols[number] == NUMBER and found[3]):
                lesson = Lesson(
                    "An interval of a broken number", refusals.NO_RULE, "use a whole number of a smaller unit"
                )
                raise unsupported(lesson, at=self.at(first))
            count = literals.number(found[2], negative=found[1] == "-", at=self.lexed.at(number, number))
            unit = found[3]
        if not unit and self.is_name() and self.next() != QUOTED:
            unit = self.name().written
        at = self.at(first)
        if not unit:
            lesson = Lesson("An interval without one unit", refusals.NO_RULE, "write it as INTERVAL 3 DAY")
            raise unsupported(lesson, at=at)
        return Call(function="interval", arguments=(unit_of(unit, at=at), count), at=at)

    def _exists(self, first: int) -> Expression:
        return Among(query=self.wrapped(self.inner_query), at=self.at(first))

    def _private(self, first: int) -> Expression:
        if not self.holds_query():
            self.position = first
            return self._named()
        return PrivateValue(query=self.wrapped(self.query), said=True, at=self.at(first))


@dataclass(slots=True)
class Windows:
    """The named windows of a query; None: not looked up yet."""

    select: int
    known: dict[str, Over] | None = None


_LITERALS: Final[Mapping[str, Literal]] = {
    "NULL": NULL,
    "TRUE": Literal(value=True, type=SqlType.BOOLEAN),
    "FALSE": Literal(value=False, type=SqlType.BOOLEAN),
}
_SPECIAL: Final[Mapping[str, Callable[[Expressions, int], Expression]]] = {
    "CASE": Expressions._case,
    "CAST": Expressions._cast_call,
    "TRY_CAST": Expressions._cast_call,
    "EXTRACT": Expressions._extract,
    "TRIM": Expressions._trim,
    "SUBSTRING": Expressions._substring,
    "INTERVAL": Expressions._interval,
    "EXISTS": Expressions._exists,
    "PRIVATE": Expressions._private,
}
"""Calls and forms whose arguments are not a plain list."""
_NOT_FUNCTIONS: Final[Mapping[str, Lesson]] = {
    "ANY": refusals.ANY,
    "SOME": refusals.ANY,
    "ALL": refusals.ALL,
    "STRUCT": refusals.LIST,
    "MAP": refusals.LIST,
    "ARRAY": refusals.LIST,
}


def _is(expression: Expression, function: str) -> TypeGuard[Call]:
    return isinstance(expression, Call) and expression.function == function


def _moved(moment: Expression, interval: Call, *, negative: bool, at: At) -> Call:
    """date_add(unit, number, moment)."""
    unit, count = interval.arguments
    if negative and isinstance(count, Literal) and isinstance(count.value, int):
        count = replace(count, value=-count.value)
    elif negative:
        count = Call(function="neg", arguments=(count,), at=count.at)
    return Call(function="date_add", arguments=(unit, count, moment), at=at)


def _size(operand: Expression) -> int:
    """Number of nodes, as far as it matters."""
    count, left = 0, [operand]
    while left and count <= MAX_COPIES:
        node = left.pop()
        count += 1
        if isinstance(node, Call):
            left += node.arguments
    return count


def _no_frame(at: At) -> NotSupported:
    return unsupported(
        Lesson(
            "This frame of a window",
            refusals.NO_RULE,
            "write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW, with whole numbers",
        ),
        at=at,
    )
