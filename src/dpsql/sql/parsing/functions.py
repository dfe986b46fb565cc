"""The names of functions, as DuckDB knows them, and the canonical call each one becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NoReturn, TypeAlias

from dpsql.catalog.types import SqlType
from dpsql.errors import BadName, BadType
from dpsql.sql.parsing.refusals import NO_RULE, Lesson, unsupported
from dpsql.sql.syntax import At, Call, Expression, Literal

Arguments: TypeAlias = tuple[Expression, ...]

NULL: Final = Literal(value=None, type=None)
_EMPTY: Final = Literal(value="", type=SqlType.TEXT)
MOST_JOINED: Final = 20
"""Arguments of CONCAT: each is one level of nesting for every later stage."""

OTHER_NAMES: Final[Mapping[str, str]] = {
    "ceiling": "ceil",
    "pow": "power",
    "ifnull": "coalesce",
    "nvl": "coalesce",
    "mean": "avg",
    "variance": "var_samp",
    "stddev": "stddev_samp",
    "lcase": "lower",
    "ucase": "upper",
    "len": "length",
    "char_length": "length",
    "character_length": "length",
    "substr": "substring",
    "prefix": "starts_with",
    "suffix": "ends_with",
    "today": "current_date",
    "dayofmonth": "day",
    "dayofweek": "dow",
    "weekday": "dow",
    "dayofyear": "doy",
    "weekofyear": "week",
    "datetrunc": "date_trunc",
    "datediff": "date_diff",
}
"""Two names of one function."""

NOT_CALLABLE: Final = frozenset(
    [
        "add",
        "sub",
        "mul",
        "div",
        "intdiv",
        "neg",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "is_null",
        "is_not_null",
        "is_distinct",
        "is_not_distinct",
        "is_true",
        "is_false",
        "and",
        "or",
        "not",
        "in",
        "like",
        "ilike",
        "case",
        "to_integer",
        "to_double",
        "to_text",
        "to_date",
        "to_timestamp",
        "to_boolean",
        "clean",
        "together",
        "interval",
        "row",
    ]
)
"""Names of operators and casts inside dpsql. As functions they do not exist, or mean something else on the engine."""

UNITS: Final = frozenset({"year", "quarter", "month", "week", "day", "hour", "minute", "second"})
PARTS: Final[Mapping[str, str]] = {
    **{unit: unit for unit in UNITS},
    **{f"{unit}s": unit for unit in UNITS},
    "dow": "dow",
    "dayofweek": "dow",
    "weekday": "dow",
    "isodow": "isodow",
    "doy": "doy",
    "dayofyear": "doy",
    "dayofmonth": "day",
    "weekofyear": "week",
}


def called(name: str, arguments: Arguments, *, distinct: bool, at: At) -> Call:
    """The canonical call of the function `name`; one that nobody knows stays a call by its own name."""
    if name in NOT_CALLABLE:
        raise BadName(
            f"there is no function {name!r} here",
            why="it is an operator or a cast",
            fix="write the operator, or CAST(x AS …)",
            at=at,
        )
    if not distinct and name in _REWRITES:
        return _REWRITES[name](arguments, at)
    return Call(function=OTHER_NAMES.get(name, name), arguments=arguments, distinct=distinct, at=at)


def part_of(name: str, moment: Expression, *, at: At) -> Call:
    """EXTRACT(name FROM moment)."""
    part = PARTS.get(name.lower())
    if part is None:
        raise unsupported(
            Lesson(
                f"The part {name[:20]!r} of a date", NO_RULE, f"use one of: {', '.join(sorted(set(PARTS.values())))}"
            ),
            at=at,
        )
    return Call(function=part, arguments=(moment,), at=at)


def unit_of(name: str, *, at: At) -> Literal:
    """A unit of time as a text literal; plurals mean the same."""
    unit = name.lower()
    unit = unit if unit in UNITS else unit.removesuffix("s")
    if unit not in UNITS:
        raise unsupported(
            Lesson(f"The unit {name[:20]!r}", NO_RULE, f"use one of: {', '.join(sorted(UNITS))}"),
            at=at,
        )
    return Literal(value=unit, type=SqlType.TEXT, at=at)


def _wrong(usage: str, at: At) -> NoReturn:
    raise BadType(
        f"This call is not {usage}",
        why="arguments of another number or kind have no meaning here",
        fix=f"write {usage}",
        at=at,
    )


def _if(arguments: Arguments, at: At) -> Call:
    if len(arguments) != 3:
        _wrong("IF(condition, then, otherwise)", at)
    return Call(function="case", arguments=arguments, at=at)


def _concat(arguments: Arguments, at: At) -> Call:
    """CONCAT joins its arguments as text and passes over NULL, where || would give NULL."""
    if not 1 <= len(arguments) <= MOST_JOINED:
        _wrong(f"CONCAT(a, b, …) with at most {MOST_JOINED} arguments", at)
    parts = [argument if _is_text(argument) else _text_or_nothing(argument) for argument in arguments]
    first, second, *rest = parts if len(parts) > 1 else [_EMPTY, *parts]
    joined = Call(function="concat", arguments=(first, second), at=at)
    for part in rest:
        joined = Call(function="concat", arguments=(joined, part), at=at)
    return joined


def _is_text(argument: Expression) -> bool:
    return isinstance(argument, Literal) and argument.type is SqlType.TEXT


def _text_or_nothing(argument: Expression) -> Call:
    shown = Call(function="to_text", arguments=(argument,), at=argument.at)
    return Call(function="coalesce", arguments=(shown, _EMPTY), at=argument.at)


def _log(arguments: Arguments, at: At) -> Call:
    """LOG(x) is to the base 10, as in DuckDB; LOG(b, x) only for the bases 2 and 10."""
    if len(arguments) == 1:
        return Call(function="log10", arguments=arguments, at=at)
    base = arguments[0] if len(arguments) == 2 else None
    if not isinstance(base, Literal) or base.value not in (2, 10):
        _wrong("LOG(x), LOG2(x), LN(x) or LN(x) / LN(b)", at)
    return Call(function="log2" if base.value == 2 else "log10", arguments=arguments[1:], at=at)


def _date_part(arguments: Arguments, at: At) -> Call:
    if len(arguments) != 2 or not isinstance(arguments[0], Literal) or not isinstance(arguments[0].value, str):
        _wrong("DATE_PART('year', x)", at)
    return part_of(arguments[0].value, arguments[1], at=at)


def _with_unit(function: str, count: int, usage: str) -> Callable[[Arguments, At], Call]:
    def rewrite(arguments: Arguments, at: At) -> Call:
        unit = arguments[0] if len(arguments) == count else None
        if not isinstance(unit, Literal) or not isinstance(unit.value, str):
            _wrong(usage, at)
        return Call(function=function, arguments=(unit_of(unit.value, at=unit.at), *arguments[1:]), at=at)

    return rewrite


def _count(arguments: Arguments, at: At) -> Call:
    if len(arguments) > 1:
        _wrong("COUNT(*), COUNT(x) or COUNT(DISTINCT x, y)", at)
    return Call(function="count", arguments=arguments, at=at)


def _only_with_interval(_arguments: Arguments, at: At) -> Call:
    _wrong("DATE_ADD(x, INTERVAL 3 DAY)", at)


_TRUNC: Final = _with_unit("date_trunc", 2, "DATE_TRUNC('month', x)")
_DIFF: Final = _with_unit("date_diff", 3, "DATE_DIFF('day', a, b)")

_REWRITES: Final[Mapping[str, Callable[[Arguments, At], Call]]] = {
    "if": _if,
    "iif": _if,
    "concat": _concat,
    "count": _count,
    "log": _log,
    "date_part": _date_part,
    "datepart": _date_part,
    "date_trunc": _TRUNC,
    "datetrunc": _TRUNC,
    "date_diff": _DIFF,
    "datediff": _DIFF,
    "date_add": _only_with_interval,
}
"""Functions whose arguments are checked or arranged here."""
