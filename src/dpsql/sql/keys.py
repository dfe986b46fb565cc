"""Which groups an answer shows, decided without looking at a row.

A list of keys is public where it follows from the policy, from public tables or from the query itself; then every key
of it appears, with nobody behind it too. All other keys are private and must be found by selection.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import product
from typing import Final, TypeAlias

from dpsql.catalog.model import KeyKind, PublicKeys, Value
from dpsql.catalog.types import SqlType
from dpsql.errors import BadKey
from dpsql.privacy.order import delivery_order
from dpsql.sql import inner
from dpsql.sql.check import count_people_instead
from dpsql.sql.intervals import Interval
from dpsql.sql.outputs import GroupKey
from dpsql.sql.relations import Column, Filter, Group, Join, Listed, Project, Relation, Scan
from dpsql.sql.resolve import Resolved
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, columns_of, conjuncts, substituted, walk
from dpsql.sql.syntax import At


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyList:
    """Public, and known before anything is asked. In the order of delivery."""

    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyTable:
    """Public: the values of an expression over one public table."""

    relation: Relation


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """Found by selection."""


PublicDomain: TypeAlias = KeyList | KeyTable
Domain: TypeAlias = PublicDomain | PrivateKey


def domain(key: GroupKey, query: Resolved, *, max_keys: int) -> Domain:
    """Where the values of this key come from."""
    asked = _Asked(query=query, computed=_computed(query.relation), max_keys=max_keys, at=key.at)
    values = _listed_in_query(key.expression, asked)
    table = _public_table(key, asked)
    if values is None and table is not None and key.expression.type is SqlType.INTEGER:
        return table  # of all whole numbers between bounds, it knows which there are
    if values is None:
        values = _enumerated(key.expression, asked)
    if values is not None:
        return KeyList(values=in_order(_of_type(values, key.expression.type)))
    if table is not None:
        return table
    _require_declared(key, asked)
    return PrivateKey()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """One expression of GROUP BY in its query."""

    query: Resolved
    computed: Mapping[int, Scalar]
    """The columns of subqueries that are expressions."""
    max_keys: int
    at: At

    def over_tables(self, scalar: Scalar) -> Scalar:
        """The expression with computed columns replaced by what they stand for, unless that grows out of hand."""
        spelled = scalar
        while columns_of(spelled) & self.computed.keys():
            spelled = substituted(spelled, self.computed)
            if sum(1 for _ in walk(spelled)) > _LONGEST:
                return scalar
        return spelled


_LONGEST: Final = 1000
"""Nodes of an expression that is still compared with others."""


def _computed(relation: Relation) -> dict[int, Scalar]:
    found: dict[int, Scalar] = {}
    for each in _below(relation):
        if isinstance(each, Project):
            pairs = zip(each.columns, each.expressions, strict=True)
            found |= {column.id: scalar for column, scalar in pairs if scalar != ColumnRef(column.id, column.type)}
    return found


def _below(relation: Relation) -> Iterator[Relation]:
    """The relation and all it reads."""
    yield relation
    match relation:
        case Join():
            yield from _below(relation.left)
            yield from _below(relation.right)
        case Scan() | Listed():
            return
        case _:
            yield from _below(relation.input)


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


def _listed_in_query(expression: Scalar, asked: _Asked) -> tuple[Value, ...] | None:
    """`WHERE k IN (…)` or `k = …`: the rows that are left have no other key."""
    wanted = asked.over_tables(expression)
    for condition in _conditions(asked.query.relation):
        match condition:
            case Apply("in" | "eq", (same, *listed)) if (
                all(map(_is_constant, listed)) and asked.over_tables(same) == wanted
            ):
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


def _enumerated(scalar: Scalar, asked: _Asked) -> tuple[Value, ...] | None:
    """Every value the expression can have, from the policy and the query alone; None where there is no such list."""
    match scalar:
        case Constant():
            return (scalar.value,)
        case ColumnRef():
            column = asked.query.findings.columns[scalar.id]
            if isinstance(column.keys, PublicKeys):
                return column.keys.values
            if column.keys is KeyKind.CALENDAR:
                return _days(column.declared, scalar.type, asked)
            if scalar.id in asked.computed:
                values = _enumerated(asked.computed[scalar.id], asked)
                return _by_type(scalar, asked) if values is None else _kept(values, column)
            if column.public:
                return None
        case Apply("case", arguments):
            return _united((*arguments[1::2], *arguments[-1:]), asked)
        case Apply("coalesce", arguments):
            return _united(arguments, asked)
        case Apply("date_trunc", (Constant(value=str(unit)), of)):
            return _buckets(unit, asked.query.findings.declared(of), of.type, asked)
        case Apply("add" | "sub" | "mul", (_, Constant()) | (Constant(), _), SqlType.INTEGER):
            return _calculated(scalar, asked) or _by_type(scalar, asked)
        case _:
            pass
    return _by_type(scalar, asked)


def _kept(values: tuple[Value, ...], column: Column) -> tuple[Value, ...]:
    """Without the whole numbers that a filter on the column of a subquery leaves out."""
    return tuple(value for value in values if type(value) is not int or column.declared.contains(value))


_ARITHMETIC: Final[Mapping[str, Callable[[int, int], int]]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
}


def _calculated(call: Apply, asked: _Asked) -> tuple[Value, ...] | None:
    """Whole numbers of which there is a list, and a constant: age // 10 * 10 has every tenth number of its range."""
    left, right = ([each.value] if isinstance(each, Constant) else _enumerated(each, asked) for each in call.arguments)
    if left is None or right is None:
        return None
    pairs = list(product(left, right))
    wholes = [(a, b) for a, b in pairs if isinstance(a, int) and isinstance(b, int)]
    missing = (None,) if len(wholes) < len(pairs) else ()
    return (*(_ARITHMETIC[call.function](a, b) for a, b in wholes), *missing)


def _united(parts: Iterable[Scalar], asked: _Asked) -> tuple[Value, ...] | None:
    found: list[Value] = []
    for part in parts:
        values = _enumerated(part, asked)
        if values is None:
            return None
        found += values
    return tuple(dict.fromkeys(found))


FEW_KEYS: Final = 2000
"""Keys that a function lists by itself, of a column without bounds: months and remainders, but not all years."""


def _by_type(scalar: Scalar, asked: _Asked) -> tuple[Value, ...] | None:
    """Truth values, and whole numbers between bounds."""
    findings = asked.query.findings
    read = [findings.columns[number] for number in columns_of(asked.over_tables(scalar))]
    if any(column.keys is KeyKind.PRIVATE for column in read):
        return None
    if scalar.type is SqlType.BOOLEAN:
        return (False, True)
    if scalar.type is not SqlType.INTEGER:
        return None
    interval = findings.declared(scalar)
    if interval.low is None or interval.high is None:
        return None
    low, high = math.ceil(interval.low), math.floor(interval.high)
    bounded = all(column.declared.bounded for column in read)
    most = asked.max_keys if bounded else min(asked.max_keys, FEW_KEYS)
    return tuple(range(low, high + 1)) if high - low < most else None


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


def _days(interval: Interval, type_: SqlType, asked: _Asked) -> tuple[Value, ...] | None:
    """Each day between the bounds. Timestamps have no such list, their days have."""
    dates = _dates(interval, type_) if type_ is SqlType.DATE else None
    if dates is None:
        return None
    first, last = dates
    count = (last - first).days + 1
    _require_few(count, asked)
    return tuple(first + timedelta(days=day) for day in range(count))


def _buckets(unit: str, interval: Interval, type_: SqlType, asked: _Asked) -> tuple[Value, ...] | None:
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
            _require_few(len(found), asked)
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


def _require_few(count: int, asked: _Asked) -> None:
    if count > asked.max_keys:
        raise too_many_keys(asked.max_keys, at=asked.at)


def too_many_keys(max_keys: int, *, at: At = None) -> BadKey:
    """More public groups than the owner allows in one answer."""
    return BadKey(
        f"the answer would have more than {max_keys} groups",
        why="every public group appears in the answer, and each takes its share of memory and time",
        fix="group by something coarser, or list the groups you want: WHERE k IN (…)",
        at=at,
    )


def _public_table(key: GroupKey, asked: _Asked) -> KeyTable | None:
    """All values of an expression over the columns of one public table, in the rows that filters on it leave."""
    expression, relation = asked.over_tables(key.expression), asked.query.relation
    conditions = [asked.over_tables(condition) for condition in _conditions(relation)]
    for scan in (each for each in _below(relation) if isinstance(each, Scan) and not each.private):
        ids = {column.id for column in scan.columns}
        own = [condition for condition in conditions if columns_of(condition) and columns_of(condition) <= ids]
        if columns_of(expression) and columns_of(expression) <= ids:
            rows = Filter(input=scan, condition=inner.all_of(*own), columns=scan.columns) if own else scan
            values = Project(input=rows, columns=(key.column,), expressions=(expression,))
            return KeyTable(relation=Group(input=values, by=(key.column.id,), columns=(key.column,), totals=()))
    return None


def _require_declared(key: GroupKey, asked: _Asked) -> None:
    """Private keys are found only in columns the owner has thought about."""
    for number in columns_of(asked.over_tables(key.expression)):
        column = asked.query.findings.columns[number]
        if column.keys is None and not column.declared.bounded and not column.public:
            name = column.name or key.text
            groups = f"the groups of {name}" if name == key.text else f"the groups of {key.text}, and those of {name},"
            if asked.query.is_person(column):
                raise BadKey(
                    f"each group of {name} would be one {asked.query.catalog.policy.person.name}",
                    why="a list of groups would be a list of people, and a group of one is no statistic",
                    fix=count_people_instead(name, asked.query),
                    at=key.at,
                )
            raise BadKey(
                f"{groups} are not declared",
                why="a group that only one person has would reveal that person just by being listed",
                fix=f"say which you want: WHERE {name} {_EXAMPLES[column.type]}. The owner can declare bounds or "
                'keys = [...] for the column, or keys = "private" to have them found with noise',
                at=key.at,
            )


_EXAMPLES: Final[Mapping[SqlType, str]] = {
    SqlType.BOOLEAN: "IN (TRUE, FALSE)",
    SqlType.INTEGER: "BETWEEN 0 AND 99",
    SqlType.DOUBLE: "BETWEEN 0 AND 99",
    SqlType.TEXT: "IN ('a', 'b')",
    SqlType.DATE: "BETWEEN '2024-01-01' AND '2024-12-31'",
    SqlType.TIMESTAMP: "BETWEEN '2024-01-01' AND '2024-12-31'",
}
