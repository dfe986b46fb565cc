"""Which columns an expression tells apart, by its rules alone: different values of them are different values of it.

GROUP BY id + 0, -id, CAST(id AS VARCHAR) and 'no. ' || id have the groups of id. What may make two values one, as % 10,
a piece of a text, DATE_TRUNC or CASE, has groups of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from dpsql.catalog.types import SqlType
from dpsql.sql.intervals import Interval
from dpsql.sql.notes import Findings
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar

NOTHING: frozenset[int] = frozenset()


def told_apart(scalar: Scalar, findings: Findings) -> frozenset[int]:
    """The columns, by their numbers. COALESCE and NULLIF make at most one value another's."""
    match scalar:
        case ColumnRef():
            return frozenset({scalar.id})
        case Apply("to_text" | "to_double" | "neg", (inner,)):
            return told_apart(inner, findings)
        case Apply("to_integer", (inner,)):
            return _whole(told_apart(inner, findings), findings)
        case Apply("to_timestamp" | "to_date", (inner,)) if inner.type in (SqlType.DATE, scalar.type):
            return told_apart(inner, findings)
        case Apply("add" | "sub", (inner, Constant()) | (Constant(), inner)):
            return told_apart(inner, findings)
        case Apply("mul", (inner, Constant() as by) | (Constant() as by, inner)) if abs(_number(by)) >= 1:
            return told_apart(inner, findings)
        case Apply("intdiv" | "div", (inner, Constant() as by)) if abs(_number(by)) == 1:
            return told_apart(inner, findings)
        case Apply("mod", (inner, Constant() as by)) if _fits(inner, 0, abs(_number(by)) - 1, findings):
            return told_apart(inner, findings)
        case Apply("clamp", (inner, Constant() as low, Constant() as high)) if _fits(
            inner, _number(low), _number(high), findings
        ):
            return told_apart(inner, findings)
        case Apply("coalesce" | "nullif", (inner, *others)) if all(isinstance(each, Constant) for each in others):
            return told_apart(inner, findings)
        case Apply("concat", parts):
            return _of_all(parts, findings)
        case _:
            return NOTHING


def _of_all(parts: Iterable[Scalar], findings: Findings) -> frozenset[int]:
    """Where one text ends and the next begins is not seen, which no list of groups depends on."""
    return NOTHING.union(*(told_apart(part, findings) for part in parts))


def _whole(columns: frozenset[int], findings: Findings) -> frozenset[int]:
    """Fractions and texts may become the same whole number; whole numbers stay apart."""
    return frozenset(number for number in columns if findings.columns[number].type is SqlType.INTEGER)


def _number(constant: Constant) -> Fraction:
    """0 for what is no number: no rule holds for it."""
    value = constant.value
    return Fraction(value) if isinstance(value, int | Fraction) and not isinstance(value, bool) else Fraction(0)


def _fits(inner: Scalar, low: Fraction | int, high: Fraction, findings: Findings) -> bool:
    """Every value that counts lies there: by the owner's bounds, or by a filter of the query."""
    limits = Interval(Fraction(low), high)
    return findings.declared(inner).within(limits) or findings.kept(inner).within(limits)
