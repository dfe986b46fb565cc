"""A subquery that groups by the person: its rows are still rows of people, each computed from one person's rows. And
one that groups public rows: nobody is in them, before and after.

    rows with an owner ─▶ keys ─▶ one row per person and keys ─▶ HAVING ─▶ outputs

What is asked about each person is exact and stays inside; noise is added to what the outer query asks about all of
them. Every value is a function of the person's rows as a multiset (rule 3): fractions are added up in whole grains.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, TypeAlias

from dpsql.catalog.types import NUMERIC, SqlType
from dpsql.errors import BadType, NotSupported, Unbounded
from dpsql.sensitivity.grain import Grain, inner_grain
from dpsql.sql import functions, inner
from dpsql.sql.aggregates.measure import double
from dpsql.sql.intervals import EVERYTHING, INT64, Interval
from dpsql.sql.notes import Notes
from dpsql.sql.outputs import Aggregate, Outputs, chosen
from dpsql.sql.relations import Column, Filter, Group, Project, Relation, Total, ref, refs
from dpsql.sql.scalars import Apply, ColumnRef, Scalar
from dpsql.sql.scans import Source
from dpsql.sql.syntax import At

OWN_AGGREGATES: Final = ("avg", "count", "max", "min", "sum")
"""What can be asked about each person."""
_FROM_ZERO: Final = Interval(Fraction(0), INT64.high)


_Made: TypeAlias = Callable[[ColumnRef], Scalar]
"""How a total of the engine becomes one of our numbers: engines add up in wider ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    total: Total
    made: _Made
    column: Column
    """Where the number will stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Own:
    """One aggregate about each person: totals of the engine, each made one of our numbers, and the value of them."""

    parts: tuple[_Part, ...]
    value: Scalar
    """Over the columns of the parts."""
    column: Column


def grouped_by_person(source: Source, outputs: Outputs, notes: Notes) -> Relation:
    """One row per person and keys: the owner, the keys of GROUP BY and every aggregate, each in its own column.

    Public rows have no owner; what is computed from them is public.
    """
    owner = tuple(notes.columns[number] for number in source.owner)
    whose = [key for key in outputs.keys if notes.is_person(key.column)]
    others = [key for key in outputs.keys if key not in whose]
    rows = source.relation
    if owner:
        known = inner.all_of(*(inner.known(ref(column)) for column in owner))
        rows = Filter(input=rows, condition=known, columns=rows.columns)
    keys = tuple(key.column for key in others)
    rows = _with(rows, keys, tuple(key.expression for key in others))
    own = [_own(aggregate, cap_of(source, notes, grouped=bool(others)), notes) for aggregate in outputs.aggregates]
    parts = [part for each in own for part in each.parts]
    raw = tuple(notes.know(replace(part.column, id=notes.numbers.fresh())) for part in parts)
    persons = tuple(key.column for key in whose)
    grouped = Group(
        input=rows,
        by=tuple(column.id for column in (*owner, *keys)),
        columns=(*owner, *keys, *persons, *raw),
        totals=(  # the person as it may be named: the same in all rows of one, so that any of them will do
            *(Total(function="own_min", argument=key.expression) for key in whose),
            *(part.total for part in parts),
        ),
    )
    kept = (*owner, *keys, *persons)
    narrowed = Project(
        input=grouped,
        columns=(*kept, *(part.column for part in parts)),
        expressions=(*refs(kept), *(part.made(ref(column)) for part, column in zip(parts, raw, strict=True))),
    )
    return Project(
        input=narrowed,
        columns=(*kept, *(notes.know(replace(each.column, public=not source.private)) for each in own)),
        expressions=(*refs(kept), *(each.value for each in own)),
    )


def _with(rows: Relation, columns: tuple[Column, ...], expressions: tuple[Scalar, ...]) -> Relation:
    if not columns:
        return rows
    return Project(input=rows, columns=(*rows.columns, *columns), expressions=(*refs(rows.columns), *expressions))


def cap_of(source: Source, notes: Notes, *, grouped: bool) -> int | None:
    """How many rows of one person count, where every table says so: a bound for what is asked about a person."""
    caps = [notes.catalog.policy.tables[name].rows_that_count(grouped=grouped) for name in source.tables]
    known = [cap for cap in caps if cap is not None]
    return max(known) if known and len(known) == len(caps) else None


def _own(aggregate: Aggregate, cap: int | None, notes: Notes) -> _Own:
    function, name = aggregate.function, aggregate.text or aggregate.function.upper()
    if function not in OWN_AGGREGATES or (aggregate.distinct and function != "count") or len(aggregate.arguments) > 1:
        raise NotSupported(
            f"{name} is not available inside a subquery",
            why="no rule names it",
            fix=f"use {', '.join(each.upper() for each in OWN_AGGREGATES)} there, COUNT(DISTINCT x) too",
            at=aggregate.at,
        )
    if function == "count":
        return _count(aggregate, cap, notes)
    argument = _argument(aggregate, numbers=function in ("sum", "avg"))
    if function in ("min", "max"):
        total = Total(function=f"own_{aggregate.function}", argument=argument)
        proved, declared = notes.proved(argument), notes.declared(argument)
        return _one(aggregate, total, _same, notes, proved=proved, declared=declared)
    if argument.type not in NUMERIC:
        raise BadType(f"{name} needs numbers", why="only numbers can be added up", fix="count them", at=aggregate.at)
    return _sum(aggregate, argument, cap, notes) if function == "sum" else _mean(aggregate, argument, notes)


def _argument(aggregate: Aggregate, *, numbers: bool) -> Scalar:
    """What is compared, or added up: then truth values are 0 and 1."""
    argument = aggregate.arguments[0]
    if numbers and argument.type is SqlType.BOOLEAN:
        argument = Apply("to_integer", (argument,), SqlType.INTEGER)
    return chosen(argument, aggregate.filter) or argument


def _count(aggregate: Aggregate, cap: int | None, notes: Notes) -> _Own:
    argument = chosen(aggregate.arguments[0] if aggregate.arguments else None, aggregate.filter)
    function = "count" if argument is None else "count_distinct" if aggregate.distinct else "count_of"
    total = Total(function=function, argument=argument)
    declared = Interval(Fraction(0), None if cap is None else Fraction(cap))
    return _one(aggregate, total, _same, notes, proved=_FROM_ZERO, declared=declared)


def _sum(aggregate: Aggregate, argument: Scalar, cap: int | None, notes: Notes) -> _Own:
    declared = sum_of(notes.declared(argument), cap)
    total, made, proved = _added(aggregate, argument, notes)
    return _one(aggregate, total, made, notes, proved=proved, declared=declared)


def sum_of(one: Interval, cap: int | None) -> Interval:
    """Where the sum of at most so many values lies; NULL adds nothing."""
    if cap is None or one.low is None or one.high is None:
        return EVERYTHING
    return Interval(cap * min(one.low, Fraction(0)), cap * max(one.high, Fraction(0)))


def _mean(aggregate: Aggregate, argument: Scalar, notes: Notes) -> _Own:
    """Σ/n of the rows that have a value; NULL where none has."""
    total, made, _ = _added(aggregate, argument, notes)
    parts = (
        _part(total, made, SqlType.DOUBLE if argument.type is SqlType.DOUBLE else SqlType.INTEGER, notes),
        _part(Total(function="count_of", argument=argument), _same, SqlType.INTEGER, notes),
    )
    added, number = (double(ref(part.column)) for part in parts)
    value = functions.apply("div", (added, number), proved=lambda _: EVERYTHING)
    declared = notes.declared(argument)
    return _Own(parts=parts, value=value, column=_known(aggregate, EVERYTHING, declared))


def _added(aggregate: Aggregate, argument: Scalar, notes: Notes) -> tuple[Total, _Made, Interval]:
    """Whole numbers as they are; fractions in whole grains, so that their order tells nothing."""
    if argument.type is not SqlType.DOUBLE:
        return Total(function="own_sum", argument=argument), inner.narrow, INT64
    grain = grain_of(argument, aggregate.text or aggregate.function.upper(), aggregate.at, notes)
    total = Total(function="own_sum", argument=inner.fine_grains(argument, grain))
    return total, lambda column: inner.from_grains(column, grain), EVERYTHING


def grain_of(argument: Scalar, written: str, at: At, notes: Notes) -> Grain:
    """The steps in which fractions are added up inside one person."""
    declared = notes.declared(argument)
    if declared.low is None or declared.high is None or declared.low >= declared.high:
        raise Unbounded(
            f"{written} inside a subquery needs limits for its values",
            why="fractions are added up in whole steps, whose size follows from the limits; otherwise the order of the "
            "rows would change the last digits, and with them what is said about others",
            fix="say the limits, as in SUM(CLAMP(x, 0, 1000)), or have the owner declare bounds for the column",
            at=at,
        )
    return inner_grain(lower=declared.low, upper=declared.high)


def _one(
    aggregate: Aggregate, total: Total, made: _Made, notes: Notes, *, proved: Interval, declared: Interval
) -> _Own:
    part = _part(total, made, aggregate.column.type, notes)
    return _Own(parts=(part,), value=ref(part.column), column=_known(aggregate, proved, declared))


def _part(total: Total, made: _Made, type_: SqlType, notes: Notes) -> _Part:
    return _Part(total=total, made=made, column=notes.know(Column(id=notes.numbers.fresh(), name="", type=type_)))


def _known(aggregate: Aggregate, proved: Interval, declared: Interval) -> Column:
    return replace(aggregate.column, proved=proved, kept=proved, declared=declared)


def _same(column: ColumnRef) -> Scalar:
    return column
