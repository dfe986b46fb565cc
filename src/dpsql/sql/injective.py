"""Which columns an expression keeps apart, by its form: their values can be read off its value, but for a few.

GROUP BY id + 0, -id, CAST(id AS VARCHAR) and 'no. ' || id have the groups of id. The forms are not all one-to-one:
COALESCE and NULLIF make one value another's, texts in a row may be cut in several places ('a' || 'bc', 'ab' || 'c'),
and arithmetic counts as exact, although doubles round and what overflows is NULL. A form that may join many values, as
% 10, a piece of a text, DATE_TRUNC or any CASE, keeps nothing apart here, even where its values happen to stay apart.

No protection rests on this: groups are listed in public or found by selection, whatever their expression. It decides
which queries are refused because each group would belong to one person, and what is advised instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from dpsql.catalog.model import Catalog, PathStep, TablePolicy
from dpsql.catalog.names import folded
from dpsql.catalog.types import SqlType
from dpsql.sql.intervals import Interval
from dpsql.sql.notes import Findings, Notes
from dpsql.sql.relations import Column
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar

NOTHING: frozenset[int] = frozenset()


def told_apart(scalar: Scalar, known: Findings | Notes) -> frozenset[int]:
    """The columns that it keeps apart, by their numbers."""
    match scalar:
        case ColumnRef():
            return frozenset({scalar.id})
        case Apply("to_text" | "to_double" | "neg", (inner,)):
            return told_apart(inner, known)
        case Apply("to_integer", (inner,)):
            return _whole(told_apart(inner, known), known)
        case Apply("to_timestamp" | "to_date", (inner,)) if inner.type in (SqlType.DATE, scalar.type):
            return told_apart(inner, known)
        case Apply("add" | "sub", (inner, Constant()) | (Constant(), inner)):
            return told_apart(inner, known)
        case Apply("mul", (inner, Constant() as by) | (Constant() as by, inner)) if abs(_number(by)) >= 1:
            return told_apart(inner, known)
        case Apply("intdiv" | "div", (inner, Constant() as by)) if abs(_number(by)) == 1:
            return told_apart(inner, known)
        case Apply("mod", (inner, Constant() as by)) if _fits(inner, 0, abs(_number(by)) - 1, known):
            return told_apart(inner, known)
        case Apply("clamp", (inner, Constant() as low, Constant() as high)) if _fits(
            inner, _number(low), _number(high), known
        ):
            return told_apart(inner, known)
        case Apply("coalesce" | "nullif", (inner, *others)) if all(isinstance(each, Constant) for each in others):
            return told_apart(inner, known)
        case Apply("concat", parts):  # although its parts may run into one another
            return NOTHING.union(*(told_apart(part, known) for part in parts))
        case _:
            return NOTHING


def _whole(columns: frozenset[int], known: Findings | Notes) -> frozenset[int]:
    """Fractions and texts may become the same whole number; whole numbers stay apart."""
    return frozenset(number for number in columns if known.columns[number].type is SqlType.INTEGER)


def _number(constant: Constant) -> Fraction:
    """0 for what is no number: no rule holds for it."""
    value = constant.value
    return Fraction(value) if isinstance(value, int | Fraction) and not isinstance(value, bool) else Fraction(0)


def _fits(inner: Scalar, low: Fraction | int, high: Fraction, known: Findings | Notes) -> bool:
    """Every value that counts lies there: by the owner's bounds, or by a filter of the query."""
    limits = Interval(Fraction(low), high)
    return known.declared(inner).within(limits) or known.kept(inner).within(limits)


def keys_of_people(
    spelled: Iterable[Scalar], known: Findings | Notes, catalog: Catalog
) -> Iterator[tuple[Column, ...]]:
    """Columns that these expressions keep apart and whose values, together, are of one person by declaration: the
    person, a key of a path to the person, or what the engine keeps unique in a private table."""
    apart = (known.columns[number] for scalar in spelled for number in sorted(told_apart(scalar, known)))
    columns = {column.origin: column for column in apart if column.origin is not None}
    for name in dict.fromkeys(table for table, _ in columns):
        for parts in _of_one(name, catalog):
            if all((name, part) in columns for part in parts):
                yield tuple(columns[name, part] for part in parts)


def _of_one(name: str, catalog: Catalog) -> Iterator[tuple[str, ...]]:
    """Each list of columns of a table whose values belong to one person."""
    tables = catalog.policy.tables
    if tables[name].public:
        return
    if tables[name].person and not tables[name].path:
        yield tables[name].person
    for here, step in (each for table in tables.values() for each in _steps(table)):
        if here == name:
            yield step.columns
        if step.table == name:
            yield step.to_columns
    for unique in catalog.schema[name].unique:
        yield tuple(map(folded, unique))


def _steps(table: TablePolicy) -> Iterator[tuple[str, PathStep]]:
    """Each step of the path to a person, with the table it starts from."""
    here = table.name
    for step in table.path:
        yield here, step
        here = step.table
