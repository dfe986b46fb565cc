"""Which groups an answer shows, decided without looking at a row.

A list of keys is public where it follows from the policy, from public tables or from the query itself; then every key
of it appears, with nobody behind it too. All other keys are private and must be found by selection.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

from dpsql.catalog.model import KeyKind, PublicKeys, Value
from dpsql.catalog.types import SqlType
from dpsql.errors import BadKey
from dpsql.privacy.order import delivery_order
from dpsql.sql.check import count_people_instead
from dpsql.sql.intervals import Interval
from dpsql.sql.outputs import GroupKey
from dpsql.sql.relations import Filter, Group, Join, Listed, Project, Relation, Scan
from dpsql.sql.resolve import Resolved
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, columns_of, conjuncts
from dpsql.sql.syntax import At


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyList:
    """Public, and known before anything is asked. In the order of delivery."""

    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyTable:
    """Public: the values of an expression over one public table."""

    relation: Relation


class PrivateKey:
    """Found by selection."""


Domain: TypeAlias = KeyList | KeyTable | PrivateKey


def domain(key: GroupKey, query: Resolved, *, max_keys: int) -> Domain:
    """Where the values of this key come from."""
    values = _listed_in_query(key.expression, query.relation)
    if values is None:
        values = _enumerated(key.expression, query, _Limit(max_keys, key.at))
    if values is not None:
        return KeyList(values=in_order(_of_type(values, key.expression.type)))
    table = _public_table(key, query)
    if table is not None:
        return table
    _require_declared(key, query)
    return PrivateKey()


class _Limit(NamedTuple):
    """The most keys of one GROUP BY expression, and where it stands."""

    max_keys: int
    at: At


def _of_type(values: Iterable[Value], type_: SqlType) -> Iterator[Value]:
    """A date among timestamps is the midnight it begins with."""
    for value in values:
        if type_ is SqlType.TIMESTAMP and isinstance(value, date) and not isinstance(value, datetime):
            yield datetime(value.year, value.month, value.day)
        else:
            yield value


def in_order(values: Iterable[Value]) -> tuple[Value, ...]:
    """The order of delivery: by value, text by its bytes, NULL last."""
    return tuple(sorted(set(values), key=lambda value: delivery_order((value,))))


def _listed_in_query(expression: Scalar, relation: Relation) -> tuple[Value, ...] | None:
    """`WHERE k IN (…)` or `k = …`: the rows that are left have no other key."""
    for condition in _conditions(relation):
        match condition:
            case Apply("in" | "eq", (same, *listed)) if same == expression and all(map(_is_constant, listed)):
                return tuple(each.value for each in listed if isinstance(each, Constant) and each.value is not None)
            case _:
                continue
    return None


def _is_constant(scalar: Scalar) -> bool:
    return isinstance(scalar, Constant)


def _conditions(relation: Relation) -> Iterator[Scalar]:
    """Everything that holds for each row, down to the tables."""
    match relation:
        case Filter():
            yield from conjuncts(relation.condition)
            yield from _conditions(relation.input)
        case Project():
            yield from _conditions(relation.input)
        case Join(outer=False):
            yield from conjuncts(relation.condition)
            yield from _conditions(relation.left)
            yield from _conditions(relation.right)
        case _:
            return


def _enumerated(scalar: Scalar, query: Resolved, limit: _Limit) -> tuple[Value, ...] | None:
    """Every value the expression can have, from the policy and the query alone; None where there is no such list."""
    match scalar:
        case Constant():
            return (scalar.value,)
        case ColumnRef():
            column = query.notes.columns[scalar.id]
            if isinstance(column.keys, PublicKeys):
                return column.keys.values
            if column.keys is KeyKind.PRIVATE or column.public:
                return None
            if column.keys is KeyKind.CALENDAR:
                return _days(column.declared, scalar.type, limit)
        case Apply("case", arguments):
            return _united((*arguments[1::2], *arguments[-1:]), query, limit)
        case Apply("coalesce", arguments):
            return _united(arguments, query, limit)
        case Apply("date_trunc", (Constant(value=str(unit)), of)):
            return _buckets(unit, query.notes.declared(of), of.type, limit)
        case _:
            pass
    return _by_type(scalar, query, limit)


def _united(parts: Iterable[Scalar], query: Resolved, limit: _Limit) -> tuple[Value, ...] | None:
    found: list[Value] = []
    for part in parts:
        values = _enumerated(part, query, limit)
        if values is None:
            return None
        found += values
    return tuple(dict.fromkeys(found))


def _by_type(scalar: Scalar, query: Resolved, limit: _Limit) -> tuple[Value, ...] | None:
    if any(query.notes.columns[number].keys is KeyKind.PRIVATE for number in columns_of(scalar)):
        return None
    if scalar.type is SqlType.BOOLEAN:
        return (False, True)
    if scalar.type is not SqlType.INTEGER:
        return None
    interval = query.notes.declared(scalar)
    if interval.low is None or interval.high is None:
        return None
    low, high = math.ceil(interval.low), math.floor(interval.high)
    return tuple(range(low, high + 1)) if high - low < limit.max_keys else None


_MICROSECONDS: Final = 86_400_000_000
_EPOCH: Final = date(1970, 1, 1)


def _dates(interval: Interval, type_: SqlType) -> tuple[date, date] | None:
    """The first and the last day of an interval of days or microseconds since 1970."""
    if interval.low is None or interval.high is None:
        return None
    unit = _MICROSECONDS if type_ is SqlType.TIMESTAMP else 1
    first, last = math.floor(interval.low / unit), math.floor(interval.high / unit)
    try:
        return _EPOCH + timedelta(days=first), _EPOCH + timedelta(days=last)
    except OverflowError:
        return None


def _days(interval: Interval, type_: SqlType, limit: _Limit) -> tuple[Value, ...] | None:
    """Each day between the bounds. Timestamps have no such list, their days have."""
    dates = _dates(interval, type_) if type_ is SqlType.DATE else None
    if dates is None:
        return None
    first, last = dates
    count = (last - first).days + 1
    _require_few(count, limit)
    return tuple(first + timedelta(days=day) for day in range(count))


def _buckets(unit: str, interval: Interval, type_: SqlType, limit: _Limit) -> tuple[Value, ...] | None:
    """Each bucket of a date_trunc between the bounds."""
    dates = _dates(interval, type_)
    step = _STEPS.get(unit.lower())
    if dates is None or step is None:
        return None
    found: list[Value] = []
    with suppress(ValueError, OverflowError):  # the calendar ends with the year 9999
        bucket = step(dates[0], 0)
        while bucket <= dates[1]:
            found.append(bucket)
            _require_few(len(found), limit)
            bucket = step(bucket, 1)
    return tuple(found)


def _month(day: date, months: int) -> date:
    """The first of the month, some months later."""
    whole = day.year * 12 + day.month - 1 + months
    return date(whole // 12, whole % 12 + 1, 1)


_STEPS: Final[Mapping[str, Callable[[date, int], date]]] = {
    "year": lambda day, n: date(day.year + n, 1, 1),
    "quarter": lambda day, n: _month(date(day.year, (day.month - 1) // 3 * 3 + 1, 1), 3 * n),
    "month": _month,
    "week": lambda day, n: day - timedelta(days=day.weekday()) + timedelta(weeks=n),
    "day": lambda day, n: day + timedelta(days=n),
}
"""The bucket of a day, or the n-th one after it."""


def _require_few(count: int, limit: _Limit) -> None:
    if count > limit.max_keys:
        raise too_many_keys(limit.max_keys, at=limit.at)


def too_many_keys(max_keys: int, *, at: At = None) -> BadKey:
    """More public groups than the owner allows in one answer."""
    return BadKey(
        f"the answer would have more than {max_keys} groups",
        why="every public group appears in the answer, and each takes its share of memory and time",
        fix="group by something coarser, or list the groups you want: WHERE k IN (…)",
        at=at,
    )


def _public_table(key: GroupKey, query: Resolved) -> KeyTable | None:
    """All values of an expression over the columns of one public table."""
    wanted = columns_of(key.expression)
    for scan in _scans(query.relation):
        ids = {column.id for column in scan.columns}
        if wanted and not scan.private and wanted <= ids:
            values = Project(input=scan, columns=(key.column,), expressions=(key.expression,))
            return KeyTable(relation=Group(input=values, by=(key.column.id,), columns=(key.column,), totals=()))
    return None


def _scans(relation: Relation) -> Iterator[Scan]:
    match relation:
        case Scan():
            yield relation
        case Join():
            yield from _scans(relation.left)
            yield from _scans(relation.right)
        case Listed():
            return
        case _:
            yield from _scans(relation.input)


def _require_declared(key: GroupKey, query: Resolved) -> None:
    """Private keys are found only in columns the owner has thought about."""
    for number in columns_of(key.expression):
        column = query.notes.columns[number]
        bounded = column.declared.low is not None and column.declared.high is not None
        if column.keys is None and not bounded and not column.public:
            name = column.name or key.text
            if query.is_person(column):
                raise BadKey(
                    f"each group of {name} would be one {query.catalog.policy.person.name}",
                    why="a list of groups would be a list of people, and a group of one is no statistic",
                    fix=count_people_instead(name, query),
                    at=key.at,
                )
            raise BadKey(
                f"the groups of {name} are not declared",
                why="a group that only one person has would reveal that person just by being listed",
                fix=f"list the groups you want: WHERE {name} IN ('a', 'b'). The owner can declare keys = [...] for the "
                'column, or keys = "private" to have them found with noise',
                at=key.at,
            )
