"""rewrite: the relations the engine will run, with every cap and clamp in them. Bounded -> Rewritten.

    query's rows ─▶ arguments ─▶ grains ─▶ one row per person and group ─▶ capped contributions
                                                                     ─▶ chosen or scaled groups ─▶ totals per key

Only totals per key leave the engine: integers and keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from dpsql.catalog.model import Value
from dpsql.catalog.types import SqlType
from dpsql.errors import InternalError
from dpsql.sql import functions, inner
from dpsql.sql.bound import Bounded, PlacedSlot
from dpsql.sql.contributions import Builder, Contributions, chosen_groups, contributions, ids, ref, refs
from dpsql.sql.keys import KeyTable, PrivateKey, PublicDomain, combinations
from dpsql.sql.relations import (
    Column,
    Filter,
    Group,
    Join,
    Listed,
    ListedKeys,
    Numbers,
    Project,
    Rank,
    Relation,
    Total,
    over,
)
from dpsql.sql.scalars import ColumnRef, Constant, Scalar, columns_of
from dpsql.sql.slots import SlotKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One relation to run: its key columns, then its integers, in this order."""

    relation: Relation
    keys: tuple[Column, ...]
    values: tuple[Column, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*self.keys, *self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unprotected:
    """Nothing private is read: exact, free."""

    bounded: Bounded
    statement: Statement | None
    """None: the answer is made of constants of the policy alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """The groups are public, or there is one: every slot is measured for each."""

    bounded: Bounded
    measurement: Statement
    key_count: Statement | None
    """How many keys public tables hold: checked against the owner's limit before anything is paid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selecting:
    """Some keys are private: those that may be shown are found first."""

    bounded: Bounded
    selection: Statement
    """The number of people per key."""
    measurement: Statement | None
    """The slots, for the keys that the selection released; None where only keys are asked for."""


Rewritten: TypeAlias = Unprotected | Measuring | Selecting
"""What will be asked of the engine."""


def rewrite(bounded: Bounded) -> Rewritten:
    """The statements of a query. The same query and policy give the same statements, whatever the rows hold."""
    numbers = Numbers(bounded.free)
    if not bounded.query.private:
        return Unprotected(bounded=bounded, statement=_public(bounded, numbers))
    domains = [domain for domain in bounded.domains if not isinstance(domain, PrivateKey)]
    if len(domains) < len(bounded.domains):
        return Selecting(
            bounded=bounded,
            selection=_selection(bounded, numbers),
            measurement=_measurement(bounded, _selected(bounded, numbers), numbers) if bounded.slots else None,
        )
    keys = _public_keys(domains, Builder(bounded, numbers)) if domains else None
    if not bounded.slots:  # only keys, and they are public: nothing private is read
        return Unprotected(bounded=bounded, statement=None if keys is None else _keys_alone(keys))
    return Measuring(
        bounded=bounded,
        measurement=_measurement(bounded, keys, numbers),
        key_count=_key_count(bounded, keys, numbers),
    )


def _public(bounded: Bounded, numbers: Numbers) -> Statement:
    """Rows of public tables as they are, or aggregated by the engine itself."""
    query, build = bounded.query, Builder(bounded, numbers)
    if not query.grouped:
        scalars = [column.expression for column in query.finish.outputs] + [key.by for key in query.finish.order_by]
        needed = sorted(set().union(*map(columns_of, scalars)))
        if not needed:
            return _rows_alone(query.relation, build)
        return Statement(
            relation=query.relation, keys=tuple(query.findings.columns[number] for number in needed), values=()
        )
    arguments = [argument for a in query.aggregates for argument in a.arguments]
    base = build.base([*arguments, *(a.filter for a in query.aggregates if a.filter is not None)])
    keys = tuple(key.column for key in query.keys)
    totals = tuple(
        Total(
            function=_public_function(a.function, distinct=a.distinct, star=not a.arguments),
            argument=_public_argument([ref(base.holds[argument]) for argument in a.arguments]),
            filter=None if a.filter is None else ref(base.holds[a.filter]),
        )
        for a in query.aggregates
    )
    values = tuple(a.column for a in query.aggregates)
    if not keys and not values:  # one row, whatever the tables hold
        return _keys_alone(Listed(columns=(build.column(),), rows=((1,),)))
    sums = build.like(values)
    grouped = Group(input=base.relation, by=ids(keys), columns=(*keys, *sums), totals=totals)
    shown = tuple(functions.clean(column) if column.type is SqlType.DOUBLE else column for column in refs(sums))
    relation = Project(input=grouped, columns=(*keys, *values), expressions=(*refs(keys), *shown))
    return Statement(relation=relation, keys=(*keys, *values), values=())


def _public_argument(values: Sequence[ColumnRef]) -> Scalar | None:
    if len(values) > 1:
        return inner.side_by_side(*values)
    return values[0] if values else None


def _rows_alone(relation: Relation, build: Builder) -> Statement:
    """Nothing of the rows is shown but how many there are."""
    one = build.column()
    rows = Project(input=relation, columns=(one,), expressions=(Constant(1, SqlType.INTEGER),))
    return Statement(relation=rows, keys=(one,), values=())


def _public_function(function: str, *, distinct: bool, star: bool) -> str:
    if function == "count":
        return "count" if star else "count_distinct" if distinct else "count_of"
    return f"{function}_distinct" if distinct else function


def _selection(bounded: Bounded, numbers: Numbers) -> Statement:
    """How many people stand behind each key, each person under at most G keys."""
    build = Builder(bounded, numbers)
    people = build.column()
    if bounded.one_row_each:
        rows = _inside_lists(build.base().relation, bounded, build)
        relation = Group(
            input=rows, by=ids(build.keys), columns=(*build.keys, people), totals=(Total(function="count"),)
        )
        return Statement(relation=relation, keys=build.keys, values=(people,))
    by = (*build.owner, *build.keys)
    pairs: Relation = Group(input=build.base().relation, by=ids(by), columns=by, totals=())
    pairs = _inside_lists(pairs, bounded, build)
    chosen = chosen_groups(pairs, build, groups=bounded.groups)
    relation = Group(input=chosen, by=ids(build.keys), columns=(*build.keys, people), totals=(Total(function="count"),))
    return Statement(relation=relation, keys=build.keys, values=(people,))


def _inside_lists(relation: Relation, bounded: Bounded, build: Builder) -> Relation:
    """Among private keys, the parts that have a public list stay inside it."""
    for key, domain in zip(build.keys, bounded.domains, strict=True):
        if isinstance(domain, PrivateKey):
            continue
        twin = build.column(key.type)
        listed = _one_list(domain, twin)
        relation = Join(left=relation, right=listed, condition=inner.alike(ref(key), ref(twin)))
    return relation


def _one_list(domain: PublicDomain, column: Column) -> Relation:
    if not isinstance(domain, KeyTable):
        return ListedKeys(columns=(column,), keys=domain)
    (own,) = domain.relation.columns
    return Project(input=domain.relation, columns=(column,), expressions=(ref(own),))


def _selected(bounded: Bounded, numbers: Numbers) -> Relation:
    """The keys an earlier step released."""
    build = Builder(bounded, numbers)
    return Listed(columns=build.like(build.keys), rows=(), from_step=0)


def _public_keys(domains: Sequence[PublicDomain], build: Builder) -> Relation:
    """All combinations of public keys."""
    columns = build.like(build.keys)
    first, *others = _lists(domains, columns)
    relation = first
    for other in others:
        relation = Join(left=relation, right=other, condition=inner.TRUE)
    if relation.columns == columns:
        return relation
    return Project(input=relation, columns=columns, expressions=refs(columns))


def _lists(domains: Sequence[PublicDomain], columns: Sequence[Column]) -> Iterator[Relation]:
    """One list for each domain; what comes from the same public rows is listed together, as it stands there."""
    pairs = list(zip(domains, columns, strict=True))
    while pairs:
        first, column = pairs[0]
        if not isinstance(first, KeyTable):
            yield _one_list(first, column)
            pairs = pairs[1:]
            continue
        here = [(each, own) for each, own in pairs if isinstance(each, KeyTable) and each.rows == first.rows]
        pairs = [pair for pair in pairs if pair not in here]
        listed = combinations([each for each, _ in here])
        yield Project(input=listed, columns=tuple(own for _, own in here), expressions=refs(listed.columns))


def _keys_alone(keys: Relation) -> Statement:
    return Statement(relation=keys, keys=keys.columns, values=())


def _key_count(bounded: Bounded, keys: Relation | None, numbers: Numbers) -> Statement | None:
    if keys is None or bounded.number_of_keys is not None:
        return None
    number = Builder(bounded, numbers).column()
    relation = Group(input=keys, by=(), columns=(number,), totals=(Total(function="count"),))
    return Statement(relation=relation, keys=(), values=(number,))


def _measurement(bounded: Bounded, keys: Relation | None, numbers: Numbers) -> Statement:
    """Every slot per key: zero where nobody is."""
    build = Builder(bounded, numbers)
    added = [placed for placed in bounded.slots if placed.slot.kind is not SlotKind.DISTINCT]
    distinct = [placed for placed in bounded.slots if placed.slot.kind is SlotKind.DISTINCT]
    alone = bounded.one_row_each and not added
    pairs = None if alone else contributions(build, [placed.slot for placed in added], keys)
    parts = [_totals(build, pairs, added)] if added and pairs is not None else []
    parts += [_different(build, placed, pairs) for placed in distinct]
    values = tuple(placed.column for placed in bounded.slots)
    if keys is None:
        return Statement(relation=_side_by_side(parts, values), keys=(), values=values)
    return Statement(relation=_by_key(keys, parts, values, build), keys=keys.columns, values=values)


def _totals(build: Builder, pairs: Contributions, slots: Sequence[PlacedSlot]) -> Relation:
    """The contributions of everybody, added up per key."""
    columns = (*build.keys, *(placed.column for placed in slots))
    totals = tuple(Total(function="sum", argument=ref(pairs.amounts[placed.slot])) for placed in slots)
    return Group(input=pairs.relation, by=ids(build.keys), columns=columns, totals=totals)


def _different(build: Builder, placed: PlacedSlot, pairs: Contributions | None) -> Relation:
    """How many different values there are, at most C of each person and group, chosen by hash."""
    bounded, slot = build.bounded, placed.slot
    own = Builder(bounded, build.numbers)
    if slot.argument is None:
        raise InternalError("COUNT(DISTINCT) without an argument")
    base = own.base([slot.argument])
    rows, value = base.relation, base.holds[slot.argument]
    rows = Filter(input=rows, condition=inner.known(ref(value)), columns=rows.columns)
    if not bounded.one_row_each:
        rows = _few_values(own, rows, value, cap=slot.cap, pairs=pairs if bounded.keys_limited else None)
    total = Total(function="count_distinct", argument=ref(value))
    return Group(input=rows, by=ids(own.keys), columns=(*own.keys, placed.column), totals=(total,))


def _few_values(own: Builder, rows: Relation, value: Column, *, cap: int, pairs: Contributions | None) -> Relation:
    """Each value of a person and group once, at most `cap` of them, in the groups the person counts in."""
    by = (*own.owner, *own.keys, value)
    rows = Group(input=rows, by=ids(by), columns=by, totals=())
    if pairs is not None:
        who = (*own.owner, *own.keys)
        twins = own.like(who)
        counted = Project(input=pairs.relation, columns=twins, expressions=refs(who))
        rows = Join(left=rows, right=counted, condition=inner.all_of(*map(inner.alike, refs(who), refs(twins))))
    rank = own.column()
    ranked = Rank(
        input=rows,
        partition=ids((*own.owner, *own.keys)),
        order=(inner.hash_of(inner.SALT, *refs(by)), ref(value)),
        column=rank,
    )
    return Filter(input=ranked, condition=inner.at_most(ref(rank), cap), columns=ranked.columns)


def _side_by_side(parts: Sequence[Relation], values: tuple[Column, ...]) -> Relation:
    """Without groups each part is one row, also of an empty table."""
    relation = parts[0]
    for part in parts[1:]:
        relation = Join(left=relation, right=part, condition=inner.TRUE)
    return Project(input=relation, columns=values, expressions=tuple(map(inner.or_zero, refs(values))))


def _by_key(keys: Relation, parts: Sequence[Relation], values: tuple[Column, ...], build: Builder) -> Relation:
    """Every key once, with zeros where a part has no row for it."""
    relation = keys
    for part in parts:
        twins = build.like(build.keys)
        own = part.columns[len(build.keys) :]
        renamed = Project(input=part, columns=(*twins, *own), expressions=(*refs(build.keys), *refs(own)))
        condition = inner.all_of(*map(inner.alike, refs(keys.columns), refs(twins)))
        relation = Join(left=relation, right=renamed, condition=condition, outer=True)
    return Project(
        input=relation,
        columns=(*keys.columns, *values),
        expressions=(*refs(keys.columns), *map(inner.or_zero, refs(values))),
    )


def filled(statement: Statement, rows: tuple[tuple[Value, ...], ...]) -> Statement:
    """The statement with the keys that an earlier step released. What is read twice stays one relation."""
    done: dict[int, Relation] = {}

    def fill(relation: Relation) -> Relation:
        if id(relation) not in done:
            done[id(relation)] = _refilled(relation, rows, fill)
        return done[id(relation)]

    return replace(statement, relation=fill(statement.relation))


def _refilled(
    relation: Relation, rows: tuple[tuple[Value, ...], ...], fill: Callable[[Relation], Relation]
) -> Relation:
    if isinstance(relation, Listed) and relation.from_step is not None:
        return replace(relation, rows=rows)
    return over(relation, fill)
