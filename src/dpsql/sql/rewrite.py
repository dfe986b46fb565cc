"""rewrite: the relations the engine will run, with every cap and clamp in them. Bounded -> Rewritten.

    query's rows ─▶ arguments ─▶ grains ─▶ one row per person and group ─▶ capped contributions
                                                                     ─▶ chosen or scaled groups ─▶ totals per key

Only totals per key leave the engine: integers and keys. What each person adds to each slot of each group is a whole
number of grains, capped, in a limited number of groups; it depends on that person's rows alone, as a multiset (rule 3).
Theorem: docs/theorems/bounding.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from dpsql.catalog.model import Mode, Value
from dpsql.catalog.types import SqlType
from dpsql.errors import InternalError
from dpsql.sql import functions, inner
from dpsql.sql.bound import Bounded, PlacedSlot
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
    ids,
    over,
    ref,
    refs,
)
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, columns_of
from dpsql.sql.slots import COUNT_GRAIN, Slot, SlotKind, ball


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The rows of a query, and the column in which each expression stands that its slots read."""

    relation: Relation
    holds: Mapping[Scalar, Column]
    grains: Mapping[Slot, Column] = field(default_factory=dict)
    """The argument of each slot in whole grains, where it has bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contributions:
    """What each person adds: one row per person and group, with the owner, the keys and one column per slot."""

    relation: Relation
    amounts: Mapping[Slot, Column]


@dataclass(frozen=True, slots=True)
class Builder:
    """Fresh columns for one relation over the rows of a query."""

    bounded: Bounded
    numbers: Numbers

    def column(self, type_: SqlType = SqlType.INTEGER) -> Column:
        return Column(id=self.numbers.fresh(), name="", type=type_)

    def like(self, columns: Iterable[Column]) -> tuple[Column, ...]:
        return tuple(self.column(column.type) for column in columns)

    @property
    def owner(self) -> tuple[Column, ...]:
        return tuple(self.bounded.query.findings.columns[number] for number in self.bounded.query.owner)

    @property
    def keys(self) -> tuple[Column, ...]:
        return tuple(key.column for key in self.bounded.query.keys)

    def base(self, arguments: Iterable[Scalar] = ()) -> Rows:
        """The rows of the query that have an owner: who, which group, and each different argument."""
        query = self.bounded.query
        holds = {scalar: self.column(scalar.type) for scalar in dict.fromkeys(arguments)}
        relation = query.relation
        if self.owner:
            condition = inner.all_of(*map(inner.known, refs(self.owner)))
            relation = Filter(input=relation, condition=condition, columns=relation.columns)
        rows = Project(
            input=relation,
            columns=(*self.owner, *self.keys, *holds.values()),
            expressions=(*refs(self.owner), *(key.expression for key in query.keys), *holds),
        )
        return Rows(relation=rows, holds=holds)


def contributions(build: Builder, slots: Sequence[Slot], keys: Relation | None) -> Contributions:
    """What each person adds to each slot of each group.

    Theorem   docs/theorems/bounding.md: a person adds between `low` and `high` to each slot of each of at most G
              groups, or to all groups together no more than the ball of scale mode holds.
    Requires  slots of `bound`; keys that are public or were released.
    Rounds    toward zero.
    """
    bounded = build.bounded
    rows = _grained(build, slots)
    if bounded.one_row_each:
        added = {slot: _presence(rows, slot) if slot.counts else _grains(rows, slot) for slot in slots}
        return _limited(build, rows.relation, added)  # every row is one unit: what it adds is its value
    capped = _capped(build, rows, slots)
    pairs = replace(capped, relation=_inside(capped.relation, keys, build))
    if bounded.mode is Mode.SCALE:
        return _scaled(build, pairs, slots)
    if bounded.mode is Mode.CHOOSE and not bounded.all_keys_fit:
        return replace(pairs, relation=chosen_groups(pairs.relation, build, groups=bounded.groups))
    return pairs


def _inside(relation: Relation, keys: Relation | None, build: Builder) -> Relation:
    """Rows whose key is not among the public ones are dropped."""
    if keys is None:
        return relation
    return Join(
        left=relation, right=keys, condition=inner.all_of(*map(inner.alike, refs(build.keys), refs(keys.columns)))
    )


def _grained(build: Builder, slots: Sequence[Slot]) -> Rows:
    """The rows of the query, with each bounded argument in whole grains beside it."""
    read = [each for slot in slots for each in (slot, slot.partner) if each is not None]
    base = build.base(slot.argument for slot in read if slot.argument is not None)
    grained = {
        slot: inner.grains(ref(base.holds[slot.argument]), slot.grain)
        for slot in read
        if slot.argument is not None and slot.grain is not None
    }
    if not grained:
        return base
    columns = {grains: build.column() for grains in dict.fromkeys(grained.values())}
    relation = Project(
        input=base.relation,
        columns=(*base.relation.columns, *columns.values()),
        expressions=(*refs(base.relation.columns), *columns),
    )
    return replace(base, relation=relation, grains={slot: columns[grains] for slot, grains in grained.items()})


def _grains(rows: Rows, slot: Slot) -> Scalar:
    """The argument in grains, moved into the bounds whatever they came from (rule 7)."""
    if slot.argument is None or slot.grain is None:
        raise TypeError("a slot without bounds has no grains")
    value = inner.clamp_whole(ref(rows.grains[slot]), low=slot.grain.low, high=slot.grain.high)
    if slot.kind is SlotKind.SUM:
        return value
    distance = inner.minus(value, slot.middle)
    if slot.kind in (SlotKind.CENTRED, SlotKind.MEAN):
        return distance
    return inner.squared(distance) if slot.partner is None else inner.multiplied(distance, _grains(rows, slot.partner))


def _count(rows: Rows, slot: Slot) -> Total:
    if slot.argument is None:
        return Total(function="count")
    return Total(function="count_of", argument=ref(rows.holds[slot.argument]))


_WEIGHTED = (SlotKind.CENTRED, SlotKind.MEAN, SlotKind.SQUARES, SlotKind.PRODUCTS)


def _capped(build: Builder, rows: Rows, slots: Sequence[Slot]) -> Contributions:
    """One row per person and group: totals of their rows, each moved into what one person may add."""
    totals: dict[Total, Column] = {}

    def of(total: Total) -> ColumnRef:
        return ref(totals.setdefault(total, build.column()))

    added: dict[Slot, Scalar] = {}
    for slot in slots:
        added[slot] = of(_count(rows, slot) if slot.counts else Total(function="sum", argument=_grains(rows, slot)))
        if slot.kind in _WEIGHTED:
            added[slot] = inner.down_weighted(added[slot], of(_count(rows, slot)), slot.cap)
    by = (*build.owner, *build.keys)
    grouped = Group(input=rows.relation, by=ids(by), columns=(*by, *totals.values()), totals=tuple(totals))
    return _limited(build, grouped, added)


def _presence(rows: Rows, slot: Slot) -> Scalar:
    if slot.argument is None:
        return Constant(1, SqlType.INTEGER)
    return Apply("presence", (ref(rows.holds[slot.argument]),), SqlType.INTEGER)


def _limited(build: Builder, relation: Relation, added: Mapping[Slot, Scalar]) -> Contributions:
    """Each amount moved into what one person may add; nothing where there is none."""
    by = (*build.owner, *build.keys)
    amounts = {slot: build.column() for slot in added}
    limited = (inner.clamp_whole(inner.or_zero(amount), low=slot.low, high=slot.high) for slot, amount in added.items())
    project = Project(input=relation, columns=(*by, *amounts.values()), expressions=(*refs(by), *limited))
    return Contributions(relation=project, amounts=amounts)


def chosen_groups(relation: Relation, build: Builder, *, groups: int) -> Relation:
    """At most G rows of each person, by a hash that nobody can steer: rows are (person, group) pairs."""
    owner, keys = refs(build.owner), refs(build.keys)
    rank = build.column()
    ranked = Rank(
        input=relation,
        partition=ids(build.owner),
        order=(inner.hash_of(inner.SALT, *owner, *keys), *keys),
        column=rank,
    )
    return Filter(input=ranked, condition=inner.at_most(ref(rank), groups), columns=ranked.columns)


def _scaled(build: Builder, pairs: Contributions, slots: Sequence[Slot]) -> Contributions:
    """All groups of a person, scaled together into the ball; truncation goes toward zero, so into it."""
    inside = ball(slots, groups=build.bounded.groups)
    amounts = [_in_scale(pairs, slot) for slot in slots]
    terms = [inner.squared(inner.times(a, w)) for a, w in zip(amounts, inside.weights, strict=True)]
    twins, term, norm = build.like(build.owner), build.column(), build.column()
    each = Project(input=pairs.relation, columns=(*twins, term), expressions=(*refs(build.owner), inner.plus(*terms)))
    norms = Group(
        input=each,
        by=ids(twins),
        columns=(*twins, norm),
        totals=(Total(function="sum", argument=ref(term)),),
    )
    same_owner = inner.all_of(*map(inner.same, refs(build.owner), refs(twins)))
    together = Join(left=pairs.relation, right=norms, condition=same_owner)
    by = inner.factor(ref(norm), radius_squared=inside.radius_squared)
    amount_by = build.column(SqlType.DOUBLE)
    who = (*build.owner, *build.keys)
    given = tuple(pairs.amounts.values())
    factored = Project(input=together, columns=(*who, *given, amount_by), expressions=(*refs(who), *refs(given), by))
    shrunk = {slot: build.column() for slot in slots}
    relation = Project(
        input=factored,
        columns=(*who, *shrunk.values()),
        expressions=(*refs(who), *(inner.shrink(amount, ref(amount_by)) for amount in amounts)),
    )
    return Contributions(relation=relation, amounts=shrunk)


def _in_scale(pairs: Contributions, slot: Slot) -> Scalar:
    """Counts become whole numbers of 1024ths before they are scaled."""
    column = ref(pairs.amounts[slot])
    return inner.times(column, COUNT_GRAIN.denominator) if slot.counts else column


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
        selection, build = _selection(bounded, numbers), Builder(bounded, numbers)
        if not bounded.slots:
            return Selecting(bounded=bounded, selection=selection, measurement=None)
        found = Listed(columns=build.like(build.keys), rows=(), from_step=0)
        return Selecting(bounded=bounded, selection=selection, measurement=_measurement(bounded, found, numbers))
    keys = _public_keys(domains, Builder(bounded, numbers)) if domains else None
    if not bounded.slots:  # only keys, and they are public: nothing private is read
        return Unprotected(bounded=bounded, statement=None if keys is None else _keys_alone(keys))
    measurement, counted = _measurement(bounded, keys, numbers), None
    if keys is not None and bounded.number_of_keys is None:
        number = Builder(bounded, numbers).column()
        relation = Group(input=keys, by=(), columns=(number,), totals=(Total(function="count"),))
        counted = Statement(relation=relation, keys=(), values=(number,))
    return Measuring(bounded=bounded, measurement=measurement, key_count=counted)


def _public(bounded: Bounded, numbers: Numbers) -> Statement:
    """Rows of public tables as they are, or aggregated by the engine itself."""
    query, build = bounded.query, Builder(bounded, numbers)
    if not query.grouped:
        scalars = [column.expression for column in query.finish.outputs] + [key.by for key in query.finish.order_by]
        needed = sorted(set().union(*map(columns_of, scalars)))
        if not needed:
            one = Constant(1, SqlType.INTEGER)  # nothing of the rows is shown but how many there are
            return _keys_alone(Project(input=query.relation, columns=(build.column(),), expressions=(one,)))
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
    else:
        by = (*build.owner, *build.keys)
        pairs = Group(input=build.base().relation, by=ids(by), columns=by, totals=())
        rows = chosen_groups(_inside_lists(pairs, bounded, build), build, groups=bounded.groups)
    relation = Group(input=rows, by=ids(build.keys), columns=(*build.keys, people), totals=(Total(function="count"),))
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
            done[id(relation)] = (
                replace(relation, rows=rows)
                if isinstance(relation, Listed) and relation.from_step is not None
                else over(relation, fill)
            )
        return done[id(relation)]

    return replace(statement, relation=fill(statement.relation))
