"""bound: how much one person can contribute, and so how far they can move each slot. Checked -> Bounded.

Everything here follows from the policy and the query (rule 1). The caps and clamps that make it true are emitted by
`rewrite`; `seal` derives the same sensitivities again from what was emitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Final

from dpsql.catalog.model import KeyList, KeyRange, Mode, Noise
from dpsql.catalog.names import folded
from dpsql.catalog.types import NUMERIC, SqlType
from dpsql.errors import NotSupported, Unbounded
from dpsql.privacy.unit import Neighbours
from dpsql.sql import functions
from dpsql.sql.aggregates.measure import Measured, Subject, double, require_room
from dpsql.sql.aggregates.registry import MEASURES
from dpsql.sql.caps import group_cap, one_row_declared, one_row_each, row_cap, rows_left
from dpsql.sql.check import Checked
from dpsql.sql.expressions import constant
from dpsql.sql.finish import Finish
from dpsql.sql.intervals import EVERYTHING, Interval
from dpsql.sql.keys import Domain, PrivateKey, domains_of, too_many_keys, too_many_numbers
from dpsql.sql.outputs import Aggregate, chosen, paired
from dpsql.sql.relations import Column, Numbers, ref
from dpsql.sql.resolve import Resolved
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, Windowed, columns_of, substituted, walk
from dpsql.sql.slots import Slot, SlotKind, fits, slot_l1, slot_l2_squared
from dpsql.sql.words import PAIRS


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What policy or query say about how to bound and to add noise; None leaves it to the plan."""

    mode: Mode | None
    noise: Noise | None
    gaussian: bool
    """The account would grant Gaussian noise at this price."""
    rows_per_person: int | None = None
    """The query lowers how many rows of one person count; it never raises it."""
    groups_per_person: int | None = None
    """The same for groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedSlot:
    """A slot, and the column of the released table in which it will stand."""

    slot: Slot
    column: Column


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """Who can contribute what."""

    query: Resolved
    domains: tuple[Domain, ...]
    slots: tuple[PlacedSlot, ...]
    finish: Finish
    """Over keys and slots: every aggregate replaced by its value."""
    groups: int
    """G: in how many groups one person counts."""
    mode: Mode | None
    """How that is achieved; None: no person can be in more than one group, by construction."""
    one_row_each: bool
    """Every unit has at most one row, by construction or by a constraint of the engine: no grouping by owner."""
    number_of_keys: int | None
    """How many groups there are, where that follows from policy and query; 1 without GROUP BY."""
    neighbours: Neighbours
    free: int
    """The first number that no column has."""

    @property
    def private_keys(self) -> bool:
        return any(isinstance(each, PrivateKey) for each in self.domains)

    @property
    def keys_limited(self) -> bool:
        """A person may have more groups than count."""
        return bool(self.query.keys) and not self.one_row_each

    @property
    def all_keys_fit(self) -> bool:
        """There are no more groups than one person may be in."""
        return self.number_of_keys is not None and self.number_of_keys <= self.groups

    def l1(self, slot: Slot) -> int:
        """How far one person can move a slot over all groups, in its own grains."""
        return slot_l1(slot, groups=self.groups, neighbours=self.neighbours, grouped=bool(self.query.keys))

    def l2_squared(self, slot: Slot) -> int:
        """The square of the same in L2."""
        return slot_l2_squared(slot, groups=self.groups, neighbours=self.neighbours, grouped=bool(self.query.keys))

    @property
    def only_people(self) -> bool:
        """The number of people per group is all that is asked: selecting the groups answers it."""
        slots = [placed.slot for placed in self.slots]
        return len(slots) == 1 and slots[0].kind is SlotKind.ROWS and slots[0].cap == 1 and slots[0].argument is None


def bound(checked: Checked, wishes: Wishes) -> Bounded:
    """Caps for rows and groups, bounds for values. Unbounded where the owner has not declared what is needed."""
    if not checked.query.private:
        return _unprotected(checked.query)
    alone = one_row_each(checked.query)
    query = settled(checked.query, one_row=alone or one_row_declared(checked.query))
    limit = query.catalog.policy.defaults.max_keys
    if limit is None and query.keys:
        raise Unbounded(
            "the policy does not say how many groups an answer may have",
            why="every public group appears in the answer",
            fix="the owner declares max_keys in [defaults]; 100000 is usual",
        )
    max_keys = limit or 1
    domains = domains_of(query, max_keys=max_keys)
    lists = [each for each in domains if isinstance(each, KeyList | KeyRange)]
    number = prod(each.count for each in lists) if len(lists) == len(domains) else None
    if number is not None and number > max_keys:
        raise too_many_keys(number, max_keys, at=query.keys[0].at)
    left = rows_left(query.relation, query.owner)
    cap = 1 if alone else row_cap(query, left, at_most=wishes.rows_per_person)
    groups = 1 if alone or not query.keys else group_cap(query, left, at_most=wishes.groups_per_person)
    groups = groups if number is None else min(groups, max(number, 1))
    ranges = [tuple(map(query.findings.declared, aggregate.arguments)) for aggregate in query.aggregates]
    ranged = list(zip(query.aggregates, ranges, strict=True))
    without_limits = [aggregate for aggregate, of_it in ranged if not _has_limits(aggregate, of_it)]
    measured = [
        _measured(aggregate, of_it, query, capped_in_group(aggregate, cap), without_limits)
        for aggregate, of_it in ranged
    ]
    numbers = Numbers(query.findings.free)
    slots = _placed([slot for each in measured for slot in each.slots], numbers)
    if number is not None and number * len(slots) > _MOST_NUMBERS:
        raise too_many_numbers(number, len(slots), _MOST_NUMBERS, at=query.keys[0].at if query.keys else None)
    return Bounded(
        query=query,
        domains=domains,
        slots=slots,
        finish=_finished(query, measured, slots),
        groups=groups,
        mode=None if alone or not query.keys else _mode(slots, wishes, groups=groups, number_of_keys=number),
        one_row_each=alone,
        number_of_keys=number,
        neighbours=query.catalog.policy.person.relation,
        free=numbers.free,
    )


def _unprotected(query: Resolved) -> Bounded:
    """Public tables: nobody is in them."""
    return Bounded(
        query=query,
        domains=(),
        slots=(),
        finish=query.finish,
        groups=1,
        mode=None,
        one_row_each=True,
        number_of_keys=None if query.keys else 1,
        neighbours=query.catalog.policy.person.relation,
        free=query.findings.free,
    )


def _measured(
    aggregate: Aggregate,
    ranges: tuple[Interval, ...],
    query: Resolved,
    cap: int,
    without_limits: Sequence[Aggregate],
) -> Measured:
    rewritable = all(each is aggregate for each in without_limits)
    subject_of = _pair if aggregate.function in PAIRS else _subject
    subject = subject_of(aggregate, ranges, query, cap, rewritable=rewritable)
    measured = MEASURES[aggregate.function](subject)
    require_room(subject, measured.slots)
    return measured


def _subject(
    aggregate: Aggregate, ranges: tuple[Interval, ...], query: Resolved, cap: int, *, rewritable: bool
) -> Subject:
    argument = None if _counts_rows(aggregate) else aggregate.arguments[0]
    interval = EVERYTHING if argument is None else ranges[0]
    if argument is not None and argument.type is SqlType.BOOLEAN and aggregate.function != "count":
        argument = Apply("to_integer", (argument,), SqlType.INTEGER)
    of_each = bounds_of(aggregate)
    if argument is not None and of_each is not None:
        interval = interval if interval.bounded or not of_each.bounded else query.findings.proved(argument)
        argument = argument if _stays_whole(aggregate, of_each) else double(argument)
    return Subject(
        aggregate=aggregate,
        text=query.text,
        rewritable=rewritable,
        cap=cap,
        range=interval,
        unlimited=() if interval.bounded else _unlimited(argument, query),
        argument=chosen(argument, aggregate.filter),
        scale=_scale(argument, query),
        of_person=argument is not None and _is_person(argument, query),
        public_rows=_public_rows(aggregate, argument, query),
        of_each=of_each,
    )


def _stays_whole(aggregate: Aggregate, of_each: Interval) -> bool:
    """An average has fractions, and so has a sum between bounds that have some."""
    whole = all(end is not None and end.denominator == 1 for end in (of_each.low, of_each.high))
    return aggregate.function == "sum" and whole


def _pair(
    aggregate: Aggregate, ranges: tuple[Interval, ...], query: Resolved, cap: int, *, rewritable: bool
) -> Subject:
    """The first of two values, with the second as its partner."""
    unlimited = [name for argument in aggregate.arguments for name in _unlimited(argument, query)]
    first, second = (
        Subject(
            aggregate=aggregate,
            text=query.text,
            rewritable=rewritable,
            cap=cap,
            range=interval,
            unlimited=tuple(dict.fromkeys(unlimited)),
            argument=known,
            scale=_scale(argument, query),
            of_person=False,
            public_rows=None,
        )
        for argument, interval, known in zip(aggregate.arguments, ranges, paired(aggregate), strict=True)
    )
    return replace(first, partner=second)


_MOST_NUMBERS: Final = 2**21
"""Of one answer. Each takes some 400 bytes until it is told."""
_USUAL: Final = Interval(Fraction(-(2**31)), Fraction(2**31))
"""Sums of squares up to here have room under every usual cap."""


def _has_limits(aggregate: Aggregate, ranges: tuple[Interval, ...]) -> bool:
    return aggregate.function == "count" or all(each.within(_USUAL) for each in ranges)


def _unlimited(argument: Scalar | None, query: Resolved) -> tuple[str, ...]:
    """The numbers in an expression that nothing limits, where limits for them would limit all of it."""
    if argument is None:
        return ()
    columns = {number: query.findings.columns[number] for number in sorted(columns_of(argument))}
    open_ = {n: each for n, each in columns.items() if each.type in NUMERIC and not each.declared.bounded}
    limited = functions.interval_of(argument, lambda n: _EXAMPLE if n in open_ else columns[n].declared)
    named = all(column.name for column in open_.values())  # what a subquery computes may have a name there only
    return tuple(column.name for column in open_.values()) if limited.bounded and named else ()


_EXAMPLE: Final = Interval(Fraction(0), Fraction(1000))


def _counts_rows(aggregate: Aggregate) -> bool:
    """COUNT(*), and COUNT(1): a literal that is there in every row."""
    match aggregate.arguments:
        case ():
            return True
        case (Constant(value=value), *_):
            return aggregate.function == "count" and not aggregate.distinct and value is not None
    return False


def _scale(argument: Scalar | None, query: Resolved) -> int | None:
    """How many digits stand behind the point, where the argument is an unchanged column of a decimal type."""
    origin = query.findings.columns[argument.id].origin if isinstance(argument, ColumnRef) else None
    if origin is None:
        return None
    table, name = origin
    return next(column.scale for column in query.catalog.schema[table].columns if folded(column.name) == name)


def _is_person(argument: Scalar, query: Resolved) -> bool:
    """The argument is the whole person: a different value is a different person."""
    if not isinstance(argument, ColumnRef) or len(query.owner) != 1:
        return False
    return query.is_person(query.findings.columns[argument.id])


def _public_rows(aggregate: Aggregate, argument: Scalar | None, query: Resolved) -> int | None:
    """The public number of rows, where every row of the whole table counts."""
    whole = not query.multiplied and not query.keys and aggregate.filter is None and not aggregate.distinct
    if not whole or query.catalog.policy.person.relation is not Neighbours.CHANGE_ONE:
        return None
    (name,) = query.private_tables
    table = query.catalog.policy.tables[name]
    full = argument is None or (isinstance(argument, ColumnRef) and _never_null(query.findings.columns[argument.id]))
    return table.rows if table.rows_public and table.unit_row and full else None


def _never_null(column: Column) -> bool:
    """Also not once it is read as one of our types: NaN is no number, and a wide integer may not fit."""
    return column.not_null and column.proved.bounded and column.type in (SqlType.INTEGER, SqlType.BOOLEAN)


def _placed(slots: list[Slot], numbers: Numbers) -> tuple[PlacedSlot, ...]:
    """Each different slot once."""
    types = [(slot, SqlType.INTEGER if slot.size == 1 else SqlType.DOUBLE) for slot in dict.fromkeys(slots)]
    return tuple(
        PlacedSlot(slot=slot, column=Column(id=numbers.fresh(), name="", type=type_, public=True))
        for slot, type_ in types
    )


def _finished(query: Resolved, measured: list[Measured], slots: tuple[PlacedSlot, ...]) -> Finish:
    where = {placed.slot: ref(placed.column) for placed in slots}
    values: dict[int, Scalar] = {}
    possible: dict[int, Scalar] = {}
    for aggregate, each in zip(query.aggregates, measured, strict=True):
        columns = tuple(where[slot] for slot in each.slots)
        values[aggregate.column.id] = each.value(columns)
        if each.possible is not None:
            possible[aggregate.column.id] = each.possible(columns)
    finish = query.finish
    if possible:
        shown = (replace(column, possible=_all_possible(column.expression, possible)) for column in finish.outputs)
        finish = replace(finish, outputs=tuple(shown))
    return finish.mapped(lambda scalar: substituted(scalar, values))


def _all_possible(scalar: Scalar, possible: Mapping[int, Scalar]) -> Scalar | None:
    """What holds for every aggregate inside. A window looks at other rows too, of which it says nothing."""
    if any(isinstance(node, Windowed) for node in walk(scalar)):
        return None
    parts = tuple(possible[number] for number in sorted(columns_of(scalar)) if number in possible)
    return Apply("and", parts, SqlType.BOOLEAN) if len(parts) > 1 else parts[0] if parts else None


def _mode(slots: tuple[PlacedSlot, ...], wishes: Wishes, *, groups: int, number_of_keys: int | None) -> Mode:
    """How a person is kept to so many groups."""
    possible = wishes.gaussian and wishes.noise is not Noise.LAPLACE and fits([placed.slot for placed in slots])
    if wishes.mode is Mode.SCALE and not possible:
        raise NotSupported(
            'mode "scale" is not possible here',
            why="it needs Gaussian noise, which this account or policy does not grant, and has no rule for "
            "COUNT(DISTINCT …) or for very wide bounds",
            fix='leave mode out, or say mode = "choose"',
        )
    useful = groups * len(slots) > 1 and (number_of_keys is None or groups < number_of_keys)
    scale = possible and useful and wishes.mode is not Mode.CHOOSE
    return Mode.SCALE if scale and slots else Mode.CHOOSE


def settled(query: Resolved, *, one_row: bool) -> Resolved:
    """The query whose aggregates are bounded where they are measured; `one_row` where no person has two.

    As GoogleSQL means them: of what each person has in a group, which its bounds are about. COUNT: the rows of a person
    are counted up to a number, which is the cap itself. SUM: the rows of a person are added up and the sum is moved
    into the bounds. AVG: the rows of a person are averaged, the average is moved into the bounds, and each person
    counts once. Where a person has one row, that is the row.
    """
    return replace(query, aggregates=tuple(_settled(each, query, one_row=one_row) for each in query.aggregates))


def _settled(aggregate: Aggregate, query: Resolved, *, one_row: bool) -> Aggregate:
    bounds = aggregate.per_group
    if aggregate.function == "count" or (bounds is None and not aggregate.per_person):
        return aggregate
    if not one_row:
        _require_rule(aggregate, query)
        return aggregate
    if bounds is None:
        return replace(aggregate, per_person=False)
    (argument,) = aggregate.arguments
    limits = (argument, constant(bounds.low), constant(bounds.high))
    clamped = functions.apply("clamp", limits, proved=query.findings.proved, at=bounds.at)
    return replace(aggregate, arguments=(clamped,), per_group=None, per_person=False)


def _require_rule(aggregate: Aggregate, query: Resolved) -> None:
    """What has no meaning, or another one in GoogleSQL, is refused."""
    bounds, name = aggregate.per_group, aggregate.function.upper()
    if query.options.rows_in_all is not None:
        raise NotSupported(
            f"{name} of each person with max_rows_contributed is not available",
            why="one is about all rows of a person, the other about some of them",
            fix="leave max_rows_contributed out; the owner's policy caps what one person adds",
            at=aggregate.at,
        )
    within = bounds_of(aggregate)
    if bounds is not None and within is not None and aggregate.function == "sum" and not within.contains(0):
        low, high = (float(end or 0) for end in (within.low, within.high))
        raise NotSupported(
            f"SUM within {low:g} and {high:g} of each person is not available here",
            why="0 is not between them, and who has no value adds 0",
            fix="say bounds with 0 between them, or bound each row: contribution_bounds_per_row",
            at=bounds.at,
        )


def bounds_of(aggregate: Aggregate) -> Interval | None:
    """What one person's sum or average in a group is moved into; None where rows are bounded one by one."""
    bounds = aggregate.per_group
    if aggregate.function == "count" or (bounds is None and not aggregate.per_person):
        return None
    if bounds is None:
        return EVERYTHING
    low, high = (each.value for each in (bounds.low, bounds.high))
    return Interval(Fraction(low), Fraction(high))  # type: ignore[arg-type]


def capped_in_group(aggregate: Aggregate, cap: int) -> int:
    """How many rows of one person count in this aggregate."""
    bounds = aggregate.per_group
    if aggregate.function == "count" and bounds is not None and isinstance(bounds.high.value, int):
        return min(cap, bounds.high.value)
    return 1 if aggregate.per_person else cap
