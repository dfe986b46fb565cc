"""What each person adds to each slot of each group: whole grains, capped, in a limited number of groups.

Theorem: docs/theorems/bounding.md. A contribution depends on that person's rows alone, as a multiset (rule 3).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dpsql.catalog.model import Mode
from dpsql.catalog.types import SqlType
from dpsql.sql import inner
from dpsql.sql.ball import COUNT_GRAIN, ball
from dpsql.sql.bound import Bounded, PlacedSlot
from dpsql.sql.relations import Column, Filter, Group, Join, Numbers, Project, Rank, Relation, Total
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar
from dpsql.sql.slots import Slot, SlotKind


def ref(column: Column) -> ColumnRef:
    return ColumnRef(column.id, column.type)


def refs(columns: Iterable[Column]) -> tuple[ColumnRef, ...]:
    return tuple(map(ref, columns))


def ids(columns: Iterable[Column]) -> tuple[int, ...]:
    return tuple(column.id for column in columns)


@dataclass(slots=True)
class Builder:
    """Fresh columns for one relation, the arguments its slots read, and where contributions stand."""

    bounded: Bounded
    numbers: Numbers
    arguments: dict[Scalar, Column] = field(default_factory=dict)
    given: dict[Slot, Column] = field(default_factory=dict)

    def column(self, type_: SqlType = SqlType.INTEGER) -> Column:
        return Column(id=self.numbers.fresh(), name="", type=type_)

    def like(self, columns: Iterable[Column]) -> tuple[Column, ...]:
        return tuple(self.column(column.type) for column in columns)

    def argument(self, scalar: Scalar) -> Column:
        """The column that will hold this expression, one for equal ones."""
        if scalar not in self.arguments:
            self.arguments[scalar] = self.column(scalar.type)
        return self.arguments[scalar]

    @property
    def owner(self) -> tuple[Column, ...]:
        return tuple(self.bounded.query.findings.columns[number] for number in self.bounded.query.owner)

    @property
    def keys(self) -> tuple[Column, ...]:
        return tuple(key.column for key in self.bounded.query.keys)

    def base(self) -> Relation:
        """The rows of the query that have an owner: who, which group, which arguments."""
        query = self.bounded.query
        relation = query.relation
        if self.owner:
            condition = inner.all_of(*map(inner.known, refs(self.owner)))
            relation = Filter(input=relation, condition=condition, columns=relation.columns)
        return Project(
            input=relation,
            columns=(*self.owner, *self.keys, *self.arguments.values()),
            expressions=(*refs(self.owner), *(key.expression for key in query.keys), *self.arguments),
        )


def contributions(build: Builder, slots: Sequence[PlacedSlot], keys: Relation | None) -> Relation:
    """One row per person and group, with the owner, the keys and one column per slot (`build.given`).

    Theorem   docs/theorems/bounding.md: a person adds between `low` and `high` to each slot of each of at most G
              groups, or to all groups together no more than the ball of scale mode holds.
    Requires  slots of `bound`; keys that are public or were released.
    Rounds    toward zero.
    """
    bounded = build.bounded
    rows = _grained(build, [placed.slot for placed in slots])
    if bounded.one_row_each:
        return _row_by_row(build, rows, slots)
    pairs = _inside(_capped(build, rows, slots), keys, build)
    if bounded.mode is Mode.SCALE:
        return _scaled(build, pairs, slots)
    if bounded.mode is Mode.CHOOSE and not bounded.all_keys_fit:
        return chosen_groups(pairs, build, groups=bounded.groups)
    return pairs


def _inside(relation: Relation, keys: Relation | None, build: Builder) -> Relation:
    """Rows whose key is not among the public ones are dropped."""
    if keys is None:
        return relation
    return Join(
        left=relation, right=keys, condition=inner.all_of(*map(inner.alike, refs(build.keys), refs(keys.columns)))
    )


def _grained(build: Builder, slots: Sequence[Slot]) -> Relation:
    """The rows of the query, with each bounded argument in whole grains beside it."""
    for slot in slots:
        if slot.argument is not None:
            build.argument(slot.argument)
    base = build.base()
    grained: dict[Scalar, tuple[Column, Scalar]] = {}
    for slot in slots:
        if slot.argument is not None and slot.grain is not None:
            name = inner.grains(slot.argument, slot.grain)
            grained.setdefault(name, (build.column(), inner.grains(ref(build.arguments[slot.argument]), slot.grain)))
    if not grained:
        return base
    build.arguments.update({name: column for name, (column, _) in grained.items()})
    return Project(
        input=base,
        columns=(*base.columns, *(column for column, _ in grained.values())),
        expressions=(*refs(base.columns), *(scalar for _, scalar in grained.values())),
    )


def _grains(build: Builder, slot: Slot) -> Scalar:
    """The argument in grains, moved into the bounds whatever they came from (rule 7)."""
    if slot.argument is None or slot.grain is None:
        raise TypeError("a slot without bounds has no grains")
    column = build.arguments[inner.grains(slot.argument, slot.grain)]
    value = inner.clamp_whole(ref(column), low=slot.grain.low, high=slot.grain.high)
    if slot.kind is SlotKind.SUM:
        return value
    distance = inner.minus(value, slot.middle)
    return distance if slot.kind is SlotKind.CENTRED else inner.squared(distance)


def _count(build: Builder, slot: Slot) -> Total:
    if slot.argument is None:
        return Total(function="count")
    return Total(function="count_of", argument=ref(build.arguments[slot.argument]))


_WEIGHTED = (SlotKind.CENTRED, SlotKind.SQUARES)


def _capped(build: Builder, rows: Relation, slots: Sequence[PlacedSlot]) -> Relation:
    """One row per person and group: totals of their rows, each moved into what one person may add."""
    totals: dict[Total, Column] = {}

    def of(total: Total) -> ColumnRef:
        return ref(totals.setdefault(total, build.column()))

    limited = []
    for placed in slots:
        slot = placed.slot
        if slot.counts:
            amount: Scalar = of(_count(build, slot))
        else:
            amount = of(Total(function="sum", argument=_grains(build, slot)))
        if slot.kind in _WEIGHTED:
            amount = inner.down_weighted(amount, of(_count(build, slot)), slot.cap)
        limited.append(inner.clamp_whole(inner.or_zero(amount), low=slot.low, high=slot.high))
        build.given[slot] = build.column()
    by = (*build.owner, *build.keys)
    grouped = Group(input=rows, by=ids(by), columns=(*by, *totals.values()), totals=tuple(totals))
    return _with_given(build, grouped, by, slots, limited)


def _row_by_row(build: Builder, rows: Relation, slots: Sequence[PlacedSlot]) -> Relation:
    """Every row is one unit: what it adds is its value."""
    limited = []
    for placed in slots:
        slot = placed.slot
        amount = _presence(build, slot) if slot.counts else _grains(build, slot)
        limited.append(inner.clamp_whole(inner.or_zero(amount), low=slot.low, high=slot.high))
        build.given[slot] = build.column()
    return _with_given(build, rows, (*build.owner, *build.keys), slots, limited)


def _presence(build: Builder, slot: Slot) -> Scalar:
    if slot.argument is None:
        return Constant(1, SqlType.INTEGER)
    return Apply("presence", (ref(build.arguments[slot.argument]),), SqlType.INTEGER)


def _with_given(
    build: Builder, relation: Relation, by: tuple[Column, ...], slots: Sequence[PlacedSlot], amounts: Sequence[Scalar]
) -> Relation:
    given = tuple(build.given[placed.slot] for placed in slots)
    return Project(input=relation, columns=(*by, *given), expressions=(*refs(by), *amounts))


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


def _scaled(build: Builder, pairs: Relation, slots: Sequence[PlacedSlot]) -> Relation:
    """All groups of a person, scaled together into the ball; truncation goes toward zero, so into it."""
    kinds = [placed.slot for placed in slots]
    inside = ball(kinds, groups=build.bounded.groups)
    amounts = [_in_scale(build, slot) for slot in kinds]
    terms = [inner.squared(inner.times(a, w)) for a, w in zip(amounts, inside.weights, strict=True)]
    twins, term, norm = build.like(build.owner), build.column(), build.column()
    each = Project(input=pairs, columns=(*twins, term), expressions=(*refs(build.owner), inner.plus(*terms)))
    norms = Group(
        input=each,
        by=ids(twins),
        columns=(*twins, norm),
        totals=(Total(function="sum", argument=ref(term)),),
    )
    together = Join(left=pairs, right=norms, condition=inner.all_of(*map(inner.same, refs(build.owner), refs(twins))))
    by = inner.factor(ref(norm), radius_squared=inside.radius_squared)
    amount_by = build.column(SqlType.DOUBLE)
    who = (*build.owner, *build.keys)
    given = tuple(build.given[slot] for slot in kinds)
    factored = Project(input=together, columns=(*who, *given, amount_by), expressions=(*refs(who), *refs(given), by))
    shrunk = {slot: build.column() for slot in kinds}
    relation = Project(
        input=factored,
        columns=(*who, *shrunk.values()),
        expressions=(*refs(who), *(inner.shrink(amount, ref(amount_by)) for amount in amounts)),
    )
    build.given.update(shrunk)
    return relation


def _in_scale(build: Builder, slot: Slot) -> Scalar:
    """Counts become whole numbers of 1024ths before they are scaled."""
    column = ref(build.given[slot])
    return inner.times(column, COUNT_GRAIN.denominator) if slot.counts else column
