"""What each person adds to each slot of each group: whole grains, capped, in a limited number of groups.

Theorem: docs/theorems/bounding.md. A contribution depends on that person's rows alone, as a multiset (rule 3).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dpsql.catalog.model import Mode
from dpsql.catalog.types import SqlType
from dpsql.sql import inner
from dpsql.sql.ball import COUNT_GRAIN, ball
from dpsql.sql.bound import Bounded
from dpsql.sql.relations import Column, Filter, Group, Join, Numbers, Project, Rank, Relation, Total
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar
from dpsql.sql.slots import Slot, SlotKind


def ref(column: Column) -> ColumnRef:
    return ColumnRef(column.id, column.type)


def refs(columns: Iterable[Column]) -> tuple[ColumnRef, ...]:
    return tuple(map(ref, columns))


def ids(columns: Iterable[Column]) -> tuple[int, ...]:
    return tuple(column.id for column in columns)


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
        return _row_by_row(build, rows, slots)
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


def _row_by_row(build: Builder, rows: Rows, slots: Sequence[Slot]) -> Contributions:
    """Every row is one unit: what it adds is its value."""
    added = {slot: _presence(rows, slot) if slot.counts else _grains(rows, slot) for slot in slots}
    return _limited(build, rows.relation, added)


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
