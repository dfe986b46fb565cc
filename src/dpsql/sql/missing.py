"""What an expression is in a row without a partner, where every column of the other side is NULL.

Wherever this is not sure the answer is None, and nothing rests on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from dpsql.catalog.types import SqlType
from dpsql.sql.relations import Filter, Relation
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, conjuncts

STRICT: Final = frozenset(
    {
        "abs", "add", "ceil", "clamp", "concat", "date_diff", "date_trunc", "day", "div", "dow", "doy", "eq", "exp",
        "floor", "ge", "gt", "hour", "intdiv", "isodow", "le", "left", "length", "like", "ln", "log10", "log2", "lower",
        "lt", "minute", "mod", "month", "mul", "ne", "neg", "not", "quarter", "right", "round", "second", "sign",
        "sqrt", "starts_with", "sub", "to_boolean", "to_date", "to_double", "to_integer", "to_text", "to_timestamp",
        "upper", "week", "year",
    }
)  # fmt: skip
"""Functions that are NULL where one of their arguments is."""

_NOTHING: Final = Constant(None, SqlType.TEXT)
_TRUE, _FALSE = Constant(True, SqlType.BOOLEAN), Constant(False, SqlType.BOOLEAN)


def when_missing(scalar: Scalar, columns: frozenset[int]) -> Constant | None:
    """The value where all of `columns` are NULL; None where it depends on more than that."""
    match scalar:
        case Constant():
            return scalar
        case ColumnRef():
            return _NOTHING if scalar.id in columns else None
        case Apply("case", arguments):
            return _case(arguments, columns)
        case Apply():
            parts = [when_missing(argument, columns) for argument in scalar.arguments]
            if scalar.function in STRICT:
                return _NOTHING if any(map(_is_null, parts)) else None
            rule = _RULES.get(scalar.function)
            return None if rule is None else rule(parts)
        case _:
            return None


def never_true(condition: Scalar, columns: frozenset[int]) -> bool:
    """No row without a partner satisfies it; whether it is false there or NULL makes no difference to a condition."""
    match condition:
        case Apply("and", parts):
            return any(never_true(part, columns) for part in parts)
        case Apply("or", parts):
            return all(never_true(part, columns) for part in parts)
        case _:
            value = when_missing(condition, columns)
            return value is not None and value.value is not True


def where_conditions(relation: Relation) -> Iterator[Scalar]:
    """Those of filters that stand above every join."""
    while isinstance(relation, Filter):
        yield from conjuncts(relation.condition)
        relation = relation.input


def _is_null(part: Constant | None) -> bool:
    return part is not None and part.value is None


_Parts = list[Constant | None]


def _connected(decides: Constant, otherwise: Constant) -> Callable[[_Parts], Constant | None]:
    """AND, OR: one value decides whatever the others are, and without it NULL outweighs the other value."""

    def rule(parts: _Parts) -> Constant | None:
        if decides in parts:
            return decides
        if None in parts:
            return None
        return _NOTHING if any(map(_is_null, parts)) else otherwise

    return rule


def _case(arguments: tuple[Scalar, ...], columns: frozenset[int]) -> Constant | None:
    *branches, otherwise = arguments
    for condition, result in zip(branches[0::2], branches[1::2], strict=True):
        if never_true(condition, columns):
            continue
        return when_missing(result, columns) if when_missing(condition, columns) == _TRUE else None
    return when_missing(otherwise, columns)


def _coalesce(parts: _Parts) -> Constant | None:
    for part in parts:
        if not _is_null(part):
            return part
    return _NOTHING


_RULES: Final[Mapping[str, Callable[[_Parts], Constant | None]]] = {
    "and": _connected(_FALSE, _TRUE),
    "or": _connected(_TRUE, _FALSE),
    "coalesce": _coalesce,
    "in": lambda parts: _NOTHING if _is_null(parts[0]) else None,
    "is_null": lambda parts: None if parts[0] is None else Constant(parts[0].value is None, SqlType.BOOLEAN),
    "is_not_null": lambda parts: None if parts[0] is None else Constant(parts[0].value is not None, SqlType.BOOLEAN),
}
