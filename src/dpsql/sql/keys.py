"""Which groups an answer shows, decided without looking at a row.

A list of keys is public where it follows from the policy, from public tables or from the query itself; then every key
of it appears, with nobody behind it too. All other keys are private and must be found by selection.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import product
from typing import Final, TypeAlias

from dpsql.catalog.key_lists import declared_list
from dpsql.catalog.model import KeyKind, KeyList, KeyRange, PublicKeys, Value
from dpsql.catalog.types import SqlType
from dpsql.errors import BadKey
from dpsql.sql import inner
from dpsql.sql.check import count_people_instead, where_conditions
from dpsql.sql.functions.time import UNITS, Unit, moment
from dpsql.sql.injective import keys_of_people
from dpsql.sql.instead import EXAMPLES, of_listed_groups, per_person, with_key
from dpsql.sql.intervals import MICROSECONDS_PER_DAY, Interval
from dpsql.sql.notes import Findings
from dpsql.sql.outputs import GroupKey
from dpsql.sql.relations import Column, Exists, Filter, Group, Join, Project, Relation, Scan, Union, Window, inputs, ref
from dpsql.sql.resolve import Resolved
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, columns_of, conjuncts, substituted, walk
from dpsql.sql.scans import Kept
from dpsql.sql.syntax import At


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyTable:
    """Public: the values of an expression over public rows."""

    rows: Relation
    column: Column
    expression: Scalar

    @property
    def relation(self) -> Relation:
        """Each value once."""
        return combinations((self,))


def combinations(tables: Sequence[KeyTable]) -> Relation:
    """The different combinations of several expressions over the same public rows."""
    columns = tuple(table.column for table in tables)
    values = Project(input=tables[0].rows, columns=columns, expressions=tuple(table.expression for table in tables))
    return Group(input=values, by=tuple(column.id for column in columns), columns=columns, totals=())


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """Found by selection."""


PublicDomain: TypeAlias = KeyList | KeyRange | KeyTable
Domain: TypeAlias = PublicDomain | PrivateKey


def domains_of(query: Resolved, *, max_keys: int) -> tuple[Domain, ...]:
    """Where the values of all keys come from. Refuses what would have to be found and belongs to one person."""
    scope = _Scope(
        query=query, computed=_computed(query.relation), branches=_branches(query.relation), max_keys=max_keys
    )
    found = tuple(_domain(key, scope) for key in query.keys)
    if any(isinstance(each, PrivateKey) for each in found):
        require_shared(query.keys, [scope.over_tables(key.expression) for key in query.keys], query)
    return found


def _domain(key: GroupKey, scope: _Scope) -> Domain:
    """Where the values of this key come from."""
    query = scope.query
    if query.kept is not None and (kept := _kept_keys(key, query.kept, scope)) is not None:
        return kept
    known: _Known | None = _listed_in_query(key.expression, scope)
    table = _public_table(key, scope)
    if known is None and table is not None and key.expression.type is SqlType.INTEGER:
        return table  # of all whole numbers between bounds, it knows which there are
    if known is None:
        known = _enumerated(key.expression, scope)
    if known is not None:
        return known if isinstance(known, KeyRange) else declared_list(known, key.expression.type)
    if table is not None:
        return table
    require_private(key, scope.over_tables(key.expression), query, max_keys=scope.max_keys)
    return PrivateKey()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """A query and what its keys may be written in: collected once for all of them."""

    query: Resolved
    computed: Mapping[int, Scalar]
    """The columns of subqueries that are expressions."""
    branches: Mapping[int, tuple[Scalar, ...]]
    """Of a column of UNION ALL, the columns that stand under one another in it."""
    max_keys: int

    def over_tables(self, scalar: Scalar, *, given: frozenset[int] = frozenset()) -> Scalar:
        """The expression with computed columns replaced by what they stand for, unless that grows out of hand.

        Columns that are `given` stay.
        """
        computed = {number: each for number, each in self.computed.items() if number not in given}
        spelled = scalar
        while columns_of(spelled) & computed.keys():
            spelled = substituted(spelled, computed)
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
            found |= {column.id: scalar for column, scalar in pairs if scalar != ref(column)}
    return found


def _branches(relation: Relation) -> dict[int, tuple[Scalar, ...]]:
    found: dict[int, tuple[Scalar, ...]] = {}
    for each in _below(relation):
        if isinstance(each, Union):
            for place, column in enumerate(each.columns):
                found[column.id] = tuple(ColumnRef(one.columns[place].id, column.type) for one in each.branches)
    return found


def _below(relation: Relation) -> Iterator[Relation]:
    """The relation and all it reads."""
    yield relation
    for each in inputs(relation):
        yield from _below(each)


_Known: TypeAlias = PublicKeys | KeyRange
"""Every value an expression can have, in any order: a declared list stays the value that the policy holds."""


def _listed_in_query(expression: Scalar, scope: _Scope) -> PublicKeys | None:
    """`WHERE k IN (…)` or `k = …`: the rows that are left have no other key."""
    wanted = scope.over_tables(expression)
    for condition in _conditions(scope.query.relation):
        match condition:
            case Apply("in" | "eq", (same, *listed)) if (
                all(isinstance(each, Constant) for each in listed) and scope.over_tables(same) == wanted
            ):
                values = (each.value for each in listed if isinstance(each, Constant))
                return PublicKeys(values=tuple(value for value in values if value is not None))
            case _:
                continue
    return None


def _conditions(relation: Relation) -> Iterator[Scalar]:
    """Everything that holds for each row, down to the tables."""
    match relation:
        case Filter():
            yield from conjuncts(relation.condition)
            yield from _conditions(relation.input)
        case Project() | Exists() | Window():
            yield from _conditions(relation.input)
        case Join(outer=False):
            yield from conjuncts(relation.condition)
            yield from _conditions(relation.left)
            yield from _conditions(relation.right)
        case _:
            return


def _enumerated(scalar: Scalar, scope: _Scope) -> _Known | None:
    """Every value the expression can have, from the policy and the query alone; None where there is no such list."""
    match scalar:
        case Constant():
            return PublicKeys(values=(scalar.value,))
        case ColumnRef():
            column = scope.query.findings.columns[scalar.id]
            if isinstance(column.keys, PublicKeys):
                return column.keys
            if scalar.id in scope.computed:
                known = _enumerated(scope.computed[scalar.id], scope)
                return _by_type(scalar, scope) if known is None else _kept(known, column)
            if scalar.id in scope.branches:
                known = _united(scope.branches[scalar.id], scope)
                return _by_type(scalar, scope) if known is None else _kept(known, column)
            if column.public:
                return None
        case Apply("case", arguments):
            return _united((*arguments[1::2], *arguments[-1:]), scope)
        case Apply("coalesce", arguments):
            found = _united(arguments, scope)
            if found is None or all(_can_be_null(part, scope) for part in arguments):  # NULL: only where all can be
                return found
            return PublicKeys(values=tuple(value for value in found.values if value is not None))
        case Apply("add" | "sub" | "mul", (_, Constant()) | (Constant(), _), SqlType.INTEGER):
            known = _calculated(scalar, scope)
            return known if known is not None and known.values else _by_type(scalar, scope)
        case _:
            pass
    return _by_type(scalar, scope)


def _kept(known: _Known, column: Column) -> _Known:
    """Without the whole numbers that a filter on the column of a subquery leaves out."""
    if isinstance(known, KeyRange):
        return known.between(column.declared.low, column.declared.high) if isinstance(known.first, int) else known
    contains = column.declared.contains
    return PublicKeys(values=tuple(value for value in known.values if type(value) is not int or contains(value)))


_ARITHMETIC: Final[Mapping[str, Callable[[int, int], int]]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
}


def _calculated(call: Apply, scope: _Scope) -> PublicKeys | None:
    """Whole numbers of which there is a list, and a constant: age // 10 * 10 has every tenth number of its range."""
    left, right = (_enumerated(each, scope) for each in call.arguments)
    if left is None or right is None:
        return None
    pairs = list(product(left.values, right.values))
    wholes = [(a, b) for a, b in pairs if isinstance(a, int) and isinstance(b, int)]
    missing = (None,) if len(wholes) < len(pairs) else ()
    return PublicKeys(values=(*(_ARITHMETIC[call.function](a, b) for a, b in wholes), *missing))


def _united(parts: Iterable[Scalar], scope: _Scope) -> PublicKeys | None:
    found: list[Value] = []
    for part in parts:
        known = _enumerated(part, scope)
        if known is None:
            return None
        found += known.values
    return PublicKeys(values=tuple(dict.fromkeys(found)))


def _can_be_null(part: Scalar, scope: _Scope) -> bool:
    known = _enumerated(part, scope)
    return isinstance(known, PublicKeys) and None in known.values


FEW_KEYS: Final = 2000
"""Keys that a function lists by itself, of a column without bounds: months and remainders, but not all years."""


_OF_TOTALS: Final = frozenset(inner.FORMS["duckdb"])
"""How the totals of one person are computed: no function of the list, so that their range is that of the column."""


def _by_type(scalar: Scalar, scope: _Scope) -> _Known | None:
    """Truth values; whole numbers, days and pieces of the calendar between bounds."""
    findings = scope.query.findings
    read = [findings.columns[number] for number in columns_of(scope.over_tables(scalar))]
    if any(column.keys is KeyKind.PRIVATE for column in read):
        return None
    if scalar.type is SqlType.BOOLEAN:
        return PublicKeys(values=(False, True))
    if any(isinstance(node, Apply) and node.function in _OF_TOTALS for node in walk(scalar)):
        return None
    stretch = stretch_of(scalar, findings)
    bounded = all(column.declared.bounded for column in read)
    most = scope.max_keys if bounded else min(scope.max_keys, FEW_KEYS)
    return None if stretch is None or stretch.count > most else stretch


def _public_table(key: GroupKey, scope: _Scope) -> KeyTable | None:
    """All values of an expression over the columns of public rows, of those that filters on them leave."""
    relation = scope.query.relation
    conditions = list(_conditions(relation))
    for public in _public_below(relation):
        ids = frozenset(column.id for column in public.columns)
        expression = scope.over_tables(key.expression, given=ids)
        if not columns_of(expression) or not columns_of(expression) <= ids:
            continue
        spelled = [scope.over_tables(condition, given=ids) for condition in conditions]
        return KeyTable(rows=_left_by(spelled, public), column=key.column, expression=expression)
    return None


def _left_by(conditions: Iterable[Scalar], public: Relation) -> Relation:
    """The public rows that the conditions on them alone leave."""
    ids = {column.id for column in public.columns}
    own = [condition for condition in conditions if columns_of(condition) and columns_of(condition) <= ids]
    return Filter(input=public, condition=inner.all_of(*own), columns=public.columns) if own else public


def _kept_keys(key: GroupKey, kept: Kept, scope: _Scope) -> KeyTable | None:
    """Rows that an outer join keeps are left out by WHERE, and not by what they are joined on."""
    ids = frozenset(column.id for column in kept.relation.columns)
    expression = scope.over_tables(key.expression, given=ids)
    if not columns_of(expression) or not columns_of(expression) <= ids:
        return None
    rows = _left_by(where_conditions(scope.query.relation), kept.relation)
    return KeyTable(rows=rows, column=key.column, expression=expression)


def _public_below(relation: Relation) -> Iterator[Relation]:
    """The largest parts of the query that read public tables, and what was released before, and everything in them."""
    for each in _below(relation):
        if all(not scan.private for scan in _below(each) if isinstance(scan, Scan)):
            yield each


def require_private(key: GroupKey, spelled: Scalar, query: Resolved, *, max_keys: int) -> None:
    """Some column has private keys, or all keys come from lists. `spelled`: the key over the columns of tables.

    Finding groups privately costs delta and hides the rare ones. Nothing is found so unless the owner has said
    `keys = "private"`, or the expression is made of listed keys.
    """
    read = [query.findings.columns[number] for number in sorted(columns_of(spelled))]
    alone = next(keys_of_people([spelled], query.findings, query.catalog), None)
    if alone is not None:
        raise _of_one_person(key, alone, query)
    if any(column.keys is KeyKind.PRIVATE for column in read):
        return
    unlisted = [column for column in read if not column.public and not isinstance(column.keys, PublicKeys)]
    for column in unlisted:
        if not column.declared.bounded and column.type is not SqlType.BOOLEAN:
            raise _undeclared(key, column, query)
    if not unlisted:
        return
    stretch = stretch_of(_moved(key.expression), query.findings)
    if stretch is not None:
        raise too_many_keys(stretch.count, max_keys, of=key.text, column=unlisted[0], at=key.at)
    if key.expression.type is SqlType.TIMESTAMP:
        raise _no_moments(key, query, max_keys=max_keys)
    raise BadKey(
        f"the groups of {key.text} are not declared",
        why=f"they follow from no list, and the groups of {_listed(unlisted)} are not declared private",
        fix=f'group by {_listed(unlisted)}. The owner can declare keys = "private" to have groups found with noise',
        at=key.at,
    )


def _moved(scalar: Scalar) -> Scalar:
    """What is shifted or spread by constants: there are as many of it."""
    match scalar:
        case Apply("add" | "sub" | "mul", (inner, Constant()) | (Constant(), inner), SqlType.INTEGER):
            return _moved(inner)
        case _:
            return scalar


def _listed(columns: list[Column]) -> str:
    return ", ".join(dict.fromkeys(column.name for column in columns))


def too_many_keys(
    number: object, max_keys: int, *, of: str = "", column: Column | None = None, at: At = None
) -> BadKey:
    """More public groups than the owner allows in one answer."""
    name = column.name if column is not None and column.name else "x"
    return BadKey(
        f"the answer would have {number} groups{' of ' + of if of else ''}, and at most {max_keys} are allowed",
        why="every public group appears in the answer, also with nobody in it, and each takes its share of "
        "memory and time",
        fix=f"group by something coarser, or ask for fewer: WHERE {name} BETWEEN … AND …. "
        'The owner can declare keys = "private" for the column to have the groups found with noise, or raise max_keys',
        at=at,
    )


def too_many_numbers(groups: int, slots: int, most: int, *, at: At = None) -> BadKey:
    """More noisy numbers than one answer may hold."""
    return BadKey(
        f"the answer would hold {groups * slots} noisy numbers, {slots} for each of {groups} groups, and at most "
        f"{most} are allowed",
        why="every public group appears in the answer, and each of its numbers takes memory of whoever computes it",
        fix="ask for fewer columns at once, or for fewer groups",
        at=at,
    )


def _no_moments(key: GroupKey, query: Resolved, *, max_keys: int) -> BadKey:
    """Timestamps have no list; their days, months and years have."""
    day = f"CAST({key.text} AS DATE)"
    days = stretch_of(
        Apply("date_trunc", (Constant("day", SqlType.TEXT), key.expression), SqlType.TIMESTAMP), query.findings
    )
    fits = days is not None and days.count <= max_keys
    return BadKey(
        f"the moments of {key.text} cannot be groups",
        why="hardly two people share one, so a list of them would be a list of people",
        fix=f"group by the day, {day}, or by something longer: DATE_TRUNC('month', {key.text})",
        try_sql=with_key(key, day, query) if fits else None,
        at=key.at,
    )


def require_shared(keys: Sequence[GroupKey], spelled: Sequence[Scalar], query: Resolved) -> None:
    """No combination of these keys belongs to one person by declaration. `spelled`: the keys over columns of tables."""
    together = next(keys_of_people(spelled, query.findings, query.catalog), None)
    if together is not None:
        raise _of_one_person(keys[-1], together, query)


def _of_one_person(key: GroupKey, columns: tuple[Column, ...], query: Resolved) -> BadKey:
    person, names = query.catalog.policy.person.name, _listed(list(columns))
    is_person = all(map(query.is_person, columns))
    counted = names if len(columns) == 1 else f"({names})"
    return BadKey(
        f"each group of {names or key.text} would {'be' if is_person else 'belong to'} one {person}",
        why="a list of groups would be a list of people, and a group of one is no statistic",
        fix=count_people_instead(columns[0], query)
        if is_person
        else f"group by something that several {person}s share; COUNT(DISTINCT {counted}) counts without a group",
        try_sql=per_person(key, query) if is_person else None,
        at=key.at,
    )


def _undeclared(key: GroupKey, column: Column, query: Resolved) -> BadKey:
    name = column.name or key.text
    groups = f"the groups of {name}" if name == key.text else f"the groups of {key.text}, and those of {name},"
    if query.is_person(column):
        return _of_one_person(key, (column,), query)
    return BadKey(
        f"{groups} are not declared",
        why="a group that only one person has would reveal that person just by being listed",
        fix=f"say which you want: WHERE {name} {EXAMPLES[column.type]}. These are an example: put in what there may "
        "be, since a group that does not exist is shown and paid for too. The owner can declare bounds or keys = [...] "
        'for the column, or keys = "private" to have them found with noise',
        try_sql=of_listed_groups(key, query),
        at=key.at,
    )


def stretch_of(scalar: Scalar, notes: Findings) -> KeyRange | None:
    """None where it has no first or no last value, or too many between any two: text, fractions, moments."""
    match scalar:
        case Apply("date_trunc", (Constant(value=str(unit)), of)):
            return _pieces(UNITS[unit], notes.declared(of), of.type)
        case _ if scalar.type is SqlType.INTEGER:
            return _whole_numbers(notes.declared(scalar))
        case _ if scalar.type is SqlType.DATE:
            return _days(notes.declared(scalar))
        case _:
            return None


def _whole_numbers(between: Interval) -> KeyRange | None:
    if between.low is None or between.high is None:
        return None
    first, last = math.ceil(between.low), math.floor(between.high)
    return KeyRange(first=first, count=max(0, last - first + 1))


def _days(between: Interval) -> KeyRange | None:
    ends = _moments(between, SqlType.DATE)
    if ends is None:
        return None
    first, last = (end.date() for end in ends)
    return KeyRange(first=first, count=max(0, (last - first).days + 1))


def _pieces(unit: Unit, between: Interval, type_: SqlType) -> KeyRange | None:
    ends = _moments(between, type_)
    if ends is None:
        return None
    first, last = map(unit.start, ends)
    count = max(0, _steps(unit, first, last) + 1)
    return KeyRange(first=first, count=count, months=unit.months, microseconds=unit.length)


def _moments(between: Interval, type_: SqlType) -> tuple[datetime, datetime] | None:
    """The first and the last moment between numbers of days, or of microseconds, since 1970."""
    if between.low is None or between.high is None:
        return None
    length = MICROSECONDS_PER_DAY if type_ is SqlType.DATE else 1
    return moment(between.low * length), moment(between.high * length)


def _steps(unit: Unit, first: datetime, last: datetime) -> int:
    """Between the beginnings of two pieces."""
    if unit.months:
        return unit.ordinal(last) - unit.ordinal(first)
    return (last - first) // timedelta(microseconds=unit.length)
