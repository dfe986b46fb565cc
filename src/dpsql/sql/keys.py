"""Which groups an answer shows, decided without looking at a row.

A list of keys is public where it follows from the policy, from public tables or from the query itself; then every key
of it appears, with nobody behind it too. All other keys are private and must be found by selection.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, TypeAlias

from dpsql.catalog.key_lists import declared_list
from dpsql.catalog.model import KeyKind, KeyList, KeyRange, PublicKeys, Value
from dpsql.catalog.types import SqlType
from dpsql.sql import inner
from dpsql.sql.key_refusals import require_private, require_shared
from dpsql.sql.missing import where_conditions
from dpsql.sql.outputs import GroupKey
from dpsql.sql.relations import Column, Exists, Filter, Group, Join, Project, Relation, Scan, Union, Window, inputs
from dpsql.sql.resolve import Resolved
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, columns_of, conjuncts, substituted, walk
from dpsql.sql.scans import Kept
from dpsql.sql.stretches import stretch_of


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
            found |= {column.id: scalar for column, scalar in pairs if scalar != ColumnRef(column.id, column.type)}
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
                all(map(_is_constant, listed)) and scope.over_tables(same) == wanted
            ):
                values = (each.value for each in listed if isinstance(each, Constant))
                return PublicKeys(values=tuple(value for value in values if value is not None))
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
            return _first_of(arguments, scope)
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


def _first_of(parts: Sequence[Scalar], scope: _Scope) -> PublicKeys | None:
    """Of COALESCE: NULL only where every part can be NULL."""
    found = _united(parts, scope)
    if found is None or all(_can_be_null(part, scope) for part in parts):
        return found
    return PublicKeys(values=tuple(value for value in found.values if value is not None))


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
