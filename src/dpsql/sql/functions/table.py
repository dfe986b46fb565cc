"""The allow-list, and the two questions that need all of it: does this application fit, and where does it lie?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

from dpsql.catalog.types import SqlType
from dpsql.errors import BadName
from dpsql.sql.functions.arithmetic import ARITHMETIC
from dpsql.sql.functions.casts import CASTS, CLEAN
from dpsql.sql.functions.choices import CHOICES, hull
from dpsql.sql.functions.constants import constant_interval
from dpsql.sql.functions.conversions import counted, in_range
from dpsql.sql.functions.function import Argument, Function, Request
from dpsql.sql.functions.logic import LOGIC
from dpsql.sql.functions.mathematics import MATHEMATICS
from dpsql.sql.functions.refinement import facts
from dpsql.sql.functions.rounding import ROUNDING
from dpsql.sql.functions.text import TEXT
from dpsql.sql.functions.time import TIME
from dpsql.sql.functions.windows import window_range
from dpsql.sql.intervals import TRUTH, Interval
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
            return _case_interval(scalar, column)
    return entry(scalar.function).range(scalar, [interval_of(argument, column) for argument in scalar.arguments])


def refined(condition: Scalar, column: Callable[[int], Interval]) -> Mapping[int, Interval]:
    """The ranges of the columns a condition speaks of, in the rows for which it is true."""
    return {number: column(number).intersect(known) for number, known in facts(condition, true=True).items()}


def _case_interval(call: Apply, column: Callable[[int], Interval]) -> Interval:
    """Each result is seen under its condition, and under none of the earlier ones being true."""
    *branches, otherwise = call.arguments
    results, ranges = [*branches[1::2], otherwise], []
    here = column
    for condition, result in zip(branches[0::2], branches[1::2], strict=True):
        ranges.append(interval_of(result, _narrowed(here, facts(condition, true=True))))
        here = _narrowed(here, facts(condition, true=False))
    ranges.append(interval_of(otherwise, here))
    return hull(results, ranges)


def _narrowed(column: Callable[[int], Interval], known: Mapping[int, Interval]) -> Callable[[int], Interval]:
    if not known:
        return column

    def narrowed(number: int) -> Interval:
        return column(number).intersect(known[number]) if number in known else column(number)

    return narrowed
