"""The allow-list, and the two questions that need all of it: does this application fit, and where does it lie?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fractions import Fraction
from functools import reduce
from types import MappingProxyType
from typing import Final, TypeAlias

from dpsql.catalog.types import SqlType
from dpsql.errors import BadName, NotSupported
from dpsql.sql.functions.arithmetic import ARITHMETIC
from dpsql.sql.functions.casts import CASTS, CLEAN
from dpsql.sql.functions.choices import CHOICES, hull
from dpsql.sql.functions.constants import constant_interval, number_of, print_constant
from dpsql.sql.functions.conversions import counted, in_range
from dpsql.sql.functions.function import Argument, Form, Function, Request, finite, short
from dpsql.sql.functions.logic import LOGIC
from dpsql.sql.functions.mathematics import MATHEMATICS, ROUNDING
from dpsql.sql.functions.text import TEXT
from dpsql.sql.functions.time import TIME
from dpsql.sql.functions.windows import may_overflow, print_window, window_range
from dpsql.sql.intervals import EVERYTHING, MICROSECONDS_PER_DAY, TRUTH, Interval, typed
from dpsql.sql.scalars import Apply, AwaitedValue, ColumnRef, Constant, Scalar, Windowed
from dpsql.sql.words import AGGREGATES


def together(parts: Sequence[Scalar], *, where: Scalar | None = None) -> Apply:
    """One value made of several, of which each may be NULL; NULL itself where the condition is not true."""
    condition = Constant(True, SqlType.BOOLEAN) if where is None else where
    return Apply(TOGETHER.name, (condition, *parts), SqlType.TEXT)


def parts_of(scalar: Scalar) -> tuple[Scalar, ...]:
    """What it is made of; itself where it is one value."""
    if isinstance(scalar, Apply) and scalar.function == TOGETHER.name:
        return scalar.arguments[1:]
    return (scalar,)


def _print_row(arguments: Sequence[Argument]) -> str:
    condition, *parts = (argument.text for argument in arguments)
    return f"CASE WHEN {condition} THEN row({', '.join(parts)}) END"


TOGETHER: Final = Function(
    name="together",
    usage="(a, b) inside COUNT(DISTINCT …)",
    summary="Several values as one. Nobody writes it.",
    typed=lambda request: request.result(counted(request, 2), SqlType.TEXT),
    forms={"duckdb": _print_row},
)
"""Its type is that of text, which is compared by its bytes: equal where all parts are, NULL beside NULL too."""


FUNCTIONS: Final[Mapping[str, Function]] = MappingProxyType(
    {
        function.name: function
        for family in (ARITHMETIC, ROUNDING, MATHEMATICS, LOGIC, CHOICES, CASTS, TEXT, TIME)
        for function in family
    }
)
"""Every function an analyst may use, by its canonical name. What is not here is refused (rule 5)."""


_UNWRITTEN: Final = {function.name: function for function in (CLEAN, TOGETHER)}


def entry(name: str) -> Function:
    """The entry behind a node of a tree that exists; also what nobody writes, as the reading of columns."""
    return _UNWRITTEN.get(name) or FUNCTIONS[name]


def apply(
    function: str,
    arguments: Sequence[Scalar],
    *,
    proved: Callable[[Scalar], Interval],
    kept: Callable[[Scalar], Interval] | None = None,
    at: tuple[int, int] | None = None,
) -> Scalar:
    """The function of these arguments, with every conversion written out.

    `proved` is the range of an argument that holds whatever the rows are: it decides whether whole numbers stay whole
    (rule 6). `kept` is its range in the rows that count, where filters drop others; what is whole only there is moved
    into that range before it is computed with. Raises BadName for a function that is not on the list, BadType for
    arguments that do not fit.
    """
    known = FUNCTIONS.get(function)
    if known is None:
        raise unknown(function, at=at)
    asked = Request(
        function=function,
        usage=known.usage,
        arguments=tuple(arguments),
        proved=proved,
        kept=proved if kept is None else kept,
        at=at,
    )
    if function == "neg":  # -9223372036854775808 is a whole number of 64 bits, 9223372036854775808 is not
        return known.typed(asked)
    fitting = tuple([in_range(asked, scalar) for scalar in arguments])
    return known.typed(asked if fitting == asked.arguments else replace(asked, arguments=fitting))


def unknown(function: str, *, at: tuple[int, int] | None) -> BadName:
    """The error for a name that is not on the list, with the nearest one that is."""
    named = {name: known.usage for name, known in FUNCTIONS.items() if known.usage.startswith(f"{name.upper()}(")}
    usages = (
        named
        | {name: known.usage for name, known in FUNCTIONS.items() if len(name) > 3}
        | {name: f"{name.upper()}(x)" for name in AGGREGATES}
    )
    written = _SYNONYMS.get(function.lower(), function.lower())
    near = get_close_matches(written, usages, n=1, cutoff=0.7)
    hint = f"did you mean {usages[near[0]]}? " if near else ""
    error = BadName(
        f"there is no function {function[:40]!r} here",
        why="a function is allowed only when it is known to fail on no row and to tell nothing else",
        fix=f"{hint}The list of functions is in the documentation of the supported SQL",
        at=at,
    )
    sure = get_close_matches(written, usages, n=1, cutoff=0.75)  # a hint may be wrong, a rewrite should not be
    error.meant = sure[0].upper() if sure and usages[sure[0]].startswith(f"{sure[0].upper()}(") else None
    return error


_SYNONYMS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("average", "mean"), "avg"),
    **dict.fromkeys(("std", "stdev", "stddev_sample"), "stddev_samp"),
    "total": "sum",
}
"""What other tools call an aggregate."""


def interval_of(scalar: Scalar, column: Callable[[int], Interval]) -> Interval:
    """The range of an expression over columns with these ranges: in every row it is NULL or inside.

    Exact for whole numbers; for DOUBLE it encloses what the engine computes, its rounding included.
    """
    match scalar:
        case ColumnRef():
            known = column(scalar.id)
            return TRUTH.intersect(known) if scalar.type is SqlType.BOOLEAN else known
        case Constant():
            return constant_interval(scalar)
        case AwaitedValue():
            return scalar.range
        case Windowed():
            return window_range(scalar, [interval_of(argument, column) for argument in scalar.arguments])
        case Apply(function="case"):
            # each result is seen under its condition, and under none of the earlier ones being true
            *branches, otherwise = scalar.arguments
            results, ranges = [*branches[1::2], otherwise], []
            here = column
            for condition, result in zip(branches[0::2], branches[1::2], strict=True):
                ranges.append(interval_of(result, _narrowed(here, facts(condition, true=True))))
                here = _narrowed(here, facts(condition, true=False))
            ranges.append(interval_of(otherwise, here))
            return hull(results, ranges)
    return entry(scalar.function).range(scalar, [interval_of(argument, column) for argument in scalar.arguments])


def refined(condition: Scalar, column: Callable[[int], Interval]) -> Mapping[int, Interval]:
    """The ranges of the columns a condition speaks of, in the rows for which it is true."""
    return {number: column(number).intersect(known) for number, known in facts(condition, true=True).items()}


def _narrowed(column: Callable[[int], Interval], known: Mapping[int, Interval]) -> Callable[[int], Interval]:
    if not known:
        return column

    def narrowed(number: int) -> Interval:
        return column(number).intersect(known[number]) if number in known else column(number)

    return narrowed


_GUARDS: Final = {SqlType.DOUBLE: finite, SqlType.TEXT: short}
_LONGEST_WAIT: Final = 8
"""Texts that are joined before the length is looked at: fewer guards, and never more than so many times the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Printed:
    text: str
    range: Interval
    waiting: int = 0
    """A guard is still to come: the value may be NaN or infinite, or be this many texts in one."""


def _guarded(printed: _Printed, type_: SqlType) -> _Printed:
    """With everything turned to NULL that is not a value of the type."""
    return _Printed(text=_GUARDS[type_](printed.text), range=printed.range) if printed.waiting else printed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Printer:
    dialect: str
    column: Callable[[int], str]

    def raw(self, scalar: Scalar) -> _Printed:
        match scalar:
            case ColumnRef():
                return _Printed(text=self.column(scalar.id), range=EVERYTHING)
            case Constant():
                return _Printed(text=print_constant(scalar), range=constant_interval(scalar))
            case AwaitedValue():  # the canonical text of what is not known yet; never sent to an engine
                return _Printed(text=f":released{scalar.question}", range=scalar.range)
            case Apply():
                return self.applied(scalar)
            case Windowed():
                return self.windowed(scalar)

    def guarded(self, scalar: Scalar) -> _Printed:
        return _guarded(self.raw(scalar), scalar.type)

    def applied(self, call: Apply) -> _Printed:
        """Arguments are guarded, unless the function only passes on to its own guard what theirs would stop."""
        function = entry(call.function)
        parts = [self.raw(scalar) for scalar in call.arguments]
        too_long = sum(max(part.waiting, 1) for part in parts) > _LONGEST_WAIT if function.grows else False
        parts = [
            part if number in function.passes and not too_long else _guarded(part, scalar.type)
            for number, (part, scalar) in enumerate(zip(parts, call.arguments, strict=True))
        ]
        arguments = [
            Argument(text=part.text, scalar=scalar, range=typed(part.range, scalar.type))
            for part, scalar in zip(parts, call.arguments, strict=True)
        ]
        known = function.range(call, [argument.range for argument in arguments])
        waiting = 0
        if function.grows:
            waiting = sum(max(part.waiting, 1) for part in parts)
        elif call.type is SqlType.DOUBLE:
            waiting = int(not known.bounded or any(part.waiting for part in parts))
        return _Printed(text=_form(function, self.dialect)(arguments), range=known, waiting=waiting)

    def windowed(self, scalar: Windowed) -> _Printed:
        parts = [self.guarded(argument) for argument in scalar.arguments]
        text = print_window(
            scalar,
            [part.text for part in parts],
            [self.guarded(key).text for key in scalar.partition_by],
            [self.guarded(key.by).text for key in scalar.order_by],
        )
        known = window_range(scalar, [part.range for part in parts])
        return _Printed(text=text, range=known, waiting=int(may_overflow(scalar)))


def _form(function: Function, dialect: str) -> Form:
    form = function.forms.get(dialect)
    if form is None:
        raise NotSupported(
            f"{function.usage} is not available on {dialect}",
            why="no form of it is known there that fails on no row",
            fix="write the expression without it, or run the query on another engine",
        )
    return form


def print_scalar(scalar: Scalar, *, dialect: str, column: Callable[[int], str]) -> str:
    """The expression as text of that engine; `column` prints a column by its number. Nothing of the analyst's text
    comes through: literals are quoted anew.

    Total (rule 6): it fails on no row, and is never NaN, infinite or outside of the years 1 to 9999, provided that
    columns are not either: they are read through `clean` where a table is read.
    """
    return _Printer(dialect=dialect, column=column).guarded(scalar).text


Facts: TypeAlias = Mapping[int, Interval]

_NOTHING: Final[Facts] = {}
_MIRRORED: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_OPPOSITE: Final = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
_SAME_AS: Final = {"is_not_distinct": "eq", "is_distinct": "ne"}
_EXACT_DOUBLES: Final = 2**53
"""Below, every whole number is its own double, and no other whole number rounds to it."""


def facts(condition: Scalar, *, true: bool) -> Facts:
    """What holds where the condition is not false (`true`), or where it is not true: what a condition proves about the
    columns it compares with literals.

    These two questions are enough, and both are closed under AND, OR and NOT. (Where it is true it is not false.) A
    fact always reads "NULL or inside", so a NULL in the column itself, which makes a comparison neither true nor false,
    never breaks it.
    """
    match condition:
        case ColumnRef(type=SqlType.BOOLEAN):
            return {condition.id: Interval(Fraction(true), Fraction(true))}
        case Apply(function="not" | "is_false"):
            return facts(condition.arguments[0], true=not true)
        case Apply(function="is_true"):
            return facts(condition.arguments[0], true=true)
        case Apply(function="and" | "or"):
            every = (condition.function == "and") == true
            parts = [facts(part, true=true) for part in condition.arguments]
            return reduce(_both if every else _either, parts)
        case Apply(function="in") if true:
            return _one_of(condition)
        case Apply(arguments=(left, right)):
            return _comparison(condition.function, left, right, true=true)
        case _:
            return _NOTHING


def _both(first: Facts, second: Facts) -> Facts:
    shared = {number: first[number].intersect(second[number]) for number in first.keys() & second.keys()}
    return {**first, **second, **shared}


def _either(first: Facts, second: Facts) -> Facts:
    return {number: first[number].union(second[number]) for number in first.keys() & second.keys()}


def _one_of(condition: Apply) -> Facts:
    """Between the smallest and the largest of the literals; lists are long, so only these two are compared."""
    subject, *options = condition.arguments
    placed = [(number_of(option), option) for option in options if isinstance(option, Constant)]
    numbers = [number for number, _ in placed if number is not None]
    if len(numbers) < len(options):
        return _NOTHING
    low, high = min(numbers), max(numbers)
    ends = [option for number, option in placed if number is low or number is high]
    return reduce(_either, [_comparison("eq", subject, option, true=True) for option in ends])


def _comparison(function: str, left: Scalar, right: Scalar, *, true: bool) -> Facts:
    """A column on one side, a literal on the other; of anything else nothing is known."""
    operator = _SAME_AS.get(function, function)
    if isinstance(left, Constant):
        left, right, operator = right, left, _MIRRORED.get(operator, operator)
    value = number_of(right) if isinstance(right, Constant) else None
    if operator not in _OPPOSITE or value is None:
        return _NOTHING
    column, allowed = _solved(left)
    if column is None or (operator if true else _OPPOSITE[operator]) == "ne":
        return _NOTHING
    return {column.id: allowed(operator if true else _OPPOSITE[operator], value)}


def _solved(side: Scalar) -> tuple[ColumnRef | None, Callable[[str, Fraction], Interval]]:
    """The column a side speaks of, bare or converted, and how a comparison of that side limits the column."""
    match side:
        case ColumnRef(type=SqlType.DOUBLE):
            return side, _closed
        case ColumnRef():
            return side, _whole
        case Apply(function="to_double", arguments=(ColumnRef(type=SqlType.INTEGER) as column,)):
            return column, _whole_as_double
        case Apply(function="to_timestamp", arguments=(ColumnRef(type=SqlType.DATE) as column,)):
            return column, lambda operator, value: _whole(operator, value / MICROSECONDS_PER_DAY)
        case Apply(function="to_date", arguments=(ColumnRef(type=SqlType.TIMESTAMP) as column,)):
            return column, _moments_of_days
    return None, _closed


def _closed(operator: str, value: Fraction) -> Interval:
    """x operator value, for a real x."""
    return Interval(
        value if operator in {"eq", "ge", "gt"} else None,
        value if operator in {"eq", "le", "lt"} else None,
    )


def _whole(operator: str, value: Fraction) -> Interval:
    """x operator value, for a whole x."""
    up, down = math.ceil(value), math.floor(value)
    low = {"ge": up, "gt": down + 1, "eq": down}.get(operator)
    high = {"le": down, "lt": up - 1, "eq": up}.get(operator)
    return Interval(None if low is None else Fraction(low), None if high is None else Fraction(high))


def _whole_as_double(operator: str, value: Fraction) -> Interval:
    """As `_whole`. Large whole numbers share doubles, so far out a comparison of doubles says too little."""
    return _whole(operator, value) if abs(value) < _EXACT_DOUBLES else Interval(None, None)


def _moments_of_days(operator: str, day: Fraction) -> Interval:
    """The microseconds of the days that satisfy the comparison."""
    days = _whole(operator, day)
    return Interval(
        None if days.low is None else days.low * MICROSECONDS_PER_DAY,
        None if days.high is None else (days.high + 1) * MICROSECONDS_PER_DAY - 1,
    )
