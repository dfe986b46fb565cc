"""Operators over one relation: what they do to owners, to the number of rows of a unit, to ranges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from dpsql.catalog.types import SqlType
from dpsql.plan.derivation.ball import meaning_of, norm_of, role_of
from dpsql.plan.derivation.ranges import added, ends, largest_of, range_of, require_fits, type_of
from dpsql.plan.derivation.states import (
    ROWS,
    Coordinate,
    Fact,
    Facts,
    Ids,
    Owned,
    Pending,
    Public,
    Range,
    State,
    Totals,
    Value,
    all_known,
    as_basis,
    columns_in,
    conjuncts,
    least,
    refused,
    require_condition,
    require_reads,
    types_in,
    whole,
)
from dpsql.plan.derivation.tables import unique_numbers
from dpsql.plan.derivation.windows import numbered_limits
from dpsql.sql.relations import Filter, Group, Project, Rank, Total
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, columns_of


def of_filter(relation: Filter, state: State) -> State:
    """Rows are left out one by one, each for what it holds itself."""
    if isinstance(state, Totals):
        raise refused("totals are filtered before they are noisy")
    require_condition(relation.condition, types_in(state), columns_in(state))
    if not columns_in(state).issuperset(unique_numbers(relation.columns)):
        raise refused("a filter with columns of its own")
    if not isinstance(state, Owned):
        return state
    return replace(
        state,
        facts=as_basis(state.facts),
        basis=relation,
        part=False,
        known=all_known(state.known | frozenset(_said_known(relation.condition)), state.owner),
        caps=least(state.caps, _rank_limits(relation, state), numbered_limits(relation, state)),
    )


def _said_known(condition: Scalar) -> Iterator[int]:
    for part in conjuncts(condition):
        match part:
            case Apply("known", (ColumnRef(id=number),)):
                yield number
            case _:
                continue


def _rank_limits(relation: Filter, state: Owned) -> Mapping[Ids, int]:
    """A filter that stands directly on a rank keeps at most so many rows of each partition."""
    rank = relation.input
    if not isinstance(rank, Rank):
        return {}
    together = frozenset(rank.partition) - state.owner_columns
    found: dict[Ids, int] = {}
    for part in conjuncts(relation.condition):
        match part:
            case Apply("at_most", (ColumnRef(id=number), limit)) if number == rank.column.id:
                most = whole(limit)
                if most is not None:
                    found = least(found, {together: max(most, 0)})
            case _:
                continue
    return found


def of_rank(relation: Rank, state: State) -> State:
    """Rows of one unit in an order that is a function of these rows: no ties, nothing of anybody else."""
    if not isinstance(state, Owned) or not state.owner:
        raise refused("a rank over rows that have no owner")
    present = columns_in(state)
    if relation.column.id in present or not present.issuperset(relation.partition):
        raise refused("a rank over columns that are not there")
    partition = frozenset(relation.partition)
    if not all(part & partition for part in state.owner):
        raise refused("a window that is not inside one person")
    _require_settled_order(relation, state)
    facts = {**as_basis(state.facts), relation.column.id: Fact(type=SqlType.INTEGER)}
    return replace(state, facts=facts, basis=relation, part=False)


def _require_settled_order(relation: Rank, state: Owned) -> None:
    """Hash first, then columns on which no two rows of a partition agree; only owner and these may be read."""
    for term in relation.order:
        require_reads(term, columns_in(state))
    given = state.owner_columns | frozenset(relation.partition)
    listed = frozenset(term.id for term in relation.order if isinstance(term, ColumnRef))
    settled = [alike for alike, most in state.caps.items() if most <= 1 and alike <= given | listed]
    for alike in settled:
        if all(_reads_only(term, given | alike) for term in relation.order) and _is_salted(relation.order[0]):
            return
    raise refused("which rows of a person count is not settled by these rows alone")


def _reads_only(term: Scalar, columns: Ids) -> bool:
    match term:
        case ColumnRef(id=number):
            return number in columns
        case Constant() | Apply("salt", ()):
            return True
        case Apply("hash", parts):
            return all(_reads_only(part, columns) for part in parts)
        case _:
            return False


def _is_salted(term: Scalar) -> bool:
    return isinstance(term, Apply) and term.function == "hash" and any(_is_salt(part) for part in term.arguments)


def _is_salt(scalar: Scalar) -> bool:
    return isinstance(scalar, Apply) and scalar.function == "salt" and not scalar.arguments


def of_project(relation: Project, state: State) -> State:
    """New columns from the columns of the same row."""
    numbers = unique_numbers(relation.columns)
    if len(numbers) != len(relation.expressions):
        raise refused("columns without expressions")
    new, present = dict(zip(numbers, relation.expressions, strict=True)), columns_in(state)
    for scalar in new.values():
        require_reads(scalar, present)
    _require_one_meaning(new, present)
    match state:
        case Public():
            return _public_project(new, state)
        case Pending():
            return replace(state, facts={number: _plain_fact(scalar, state.facts) for number, scalar in new.items()})
        case Totals():
            return _totals_project(new, state)
        case Owned():
            return _owned_project(new, state)


def _require_one_meaning(new: Mapping[int, Scalar], present: Ids) -> None:
    """A number that is given away again is read by its own expression only: printed names would be ambiguous."""
    given_away = {n for n in new.keys() & present if new[n] != ColumnRef(n, new[n].type)}
    for other, scalar in new.items() if given_away else ():
        if columns_of(scalar) & given_away - {other}:
            raise refused("a number that means two columns")


def _copies(new: Mapping[int, Scalar]) -> dict[int, int]:
    """Where an unchanged column stands now; the first place of several."""
    found: dict[int, int] = {}
    for number, scalar in new.items():
        if isinstance(scalar, ColumnRef):
            found.setdefault(scalar.id, number)
    return found


def _public_project(new: Mapping[int, Scalar], state: Public) -> Public:
    copies = _copies(new)
    types = {n: state.types[s.id] if isinstance(s, ColumnRef) else s.type for n, s in new.items()}
    kept = state.distinct is not None and state.distinct <= copies.keys()
    distinct = frozenset(copies[number] for number in state.distinct or ()) if kept else None
    return Public(types=types, distinct=distinct, most=state.most)


def _plain_fact(scalar: Scalar, facts: Facts) -> Fact:
    return Fact(type=type_of(scalar, facts), source=_source(scalar, facts))


def _source(scalar: Scalar, facts: Facts) -> str | None:
    return facts[scalar.id].source if isinstance(scalar, ColumnRef) else None


def _owned_project(new: Mapping[int, Scalar], state: Owned) -> Owned:
    owner = tuple(
        frozenset(number for number, scalar in new.items() if isinstance(scalar, ColumnRef) and scalar.id in part)
        for part in state.owner
    )
    if not all(owner):
        raise refused("rows lose their owner")
    facts = {
        number: Fact(
            type=type_of(scalar, state.facts),
            source=_source(scalar, state.facts),
            range=range_of(scalar, state.facts),
            meaning=meaning_of(scalar, state.facts),
            role=role_of(scalar, state),
        )
        for number, scalar in new.items()
    }
    copies = _copies(new)
    return replace(
        state,
        owner=owner,
        facts=facts,
        known=frozenset(n for n, s in new.items() if isinstance(s, ColumnRef) and s.id in state.known),
        caps=_renamed(state.caps, copies, state.owner_columns),
        spread=_renamed(state.spread, copies, state.owner_columns),
    )


def _renamed(limits: Mapping[Ids, int], copies: Mapping[int, int], owner: Ids) -> dict[Ids, int]:
    """Limits whose columns are all still there."""
    return least(
        *(
            {frozenset(copies[number] for number in columns - owner): most}
            for columns, most in limits.items()
            if columns - owner <= copies.keys()
        )
    )


def _totals_project(new: Mapping[int, Scalar], state: Totals) -> Totals:
    """Keys unchanged, each once; totals unchanged or with 0 for NULL."""
    keys: dict[int, int] = {}
    values: dict[int, Value] = {}
    for number, scalar in new.items():
        match scalar:
            case ColumnRef(id=old) if old in state.keys and old not in keys:
                keys[old] = number
            case ColumnRef(id=old) if old in state.values:
                values[number] = state.values[old]
            case Apply("or_zero", (ColumnRef(id=old),)) if old in state.values:
                values[number] = replace(state.values[old], null=False)
            case _:
                raise refused("totals are changed before they are noisy")
    if keys.keys() != state.keys.keys():
        raise refused("rows of totals lose their key")
    return replace(state, keys={number: state.keys[old] for old, number in keys.items()}, values=values)


def of_group(relation: Group, state: State) -> State:
    """Rows become one row per combination: inside each unit, or across all of them."""
    numbers = unique_numbers(relation.columns)
    by, count = relation.by, len(relation.by)
    if numbers[:count] != by or len(numbers) != count + len(relation.totals):
        raise refused("groups with columns of their own")
    present = columns_in(state)
    if not present.issuperset(by):
        raise refused("groups by a column that is not there")
    totals = dict(zip(numbers[count:], relation.totals, strict=True))
    for total in relation.totals:
        for scalar in (total.argument, total.filter):
            if scalar is not None:
                require_reads(scalar, present)
    if isinstance(state, Totals):
        raise refused("totals of totals")
    if isinstance(state, Public):
        types = {number: state.types[number] for number in by}
        types |= {number: _settled_type(total, state) for number, total in totals.items()}
        return Public(types=types, distinct=frozenset(by), most=state.most if by else 1)
    if isinstance(state, Pending):
        if totals:
            raise refused("totals of rows whose person is not known yet")
        return replace(state, facts={number: state.facts[number] for number in by})
    if any(total.filter is not None for total in relation.totals):
        raise refused("a total with a filter of its own")
    inside = bool(state.owner) and all(part & frozenset(by) for part in state.owner)
    return _per_unit(relation, totals, state) if inside else _across_units(relation, totals, state)


def _settled_type(total: Total, state: Public) -> SqlType | None:
    """Of a total that is the same in every order of the rows: else people's rows would meet now one, now another."""
    argument = total.argument
    type_ = state.types[argument.id] if isinstance(argument, ColumnRef) else argument.type if argument else None
    if total.function in _ONE_OF_THE_VALUES:
        return type_
    if total.function in _COUNTS or (total.function == "own_sum" and type_ is SqlType.INTEGER):
        return SqlType.INTEGER
    raise refused(f"{total.function} of public rows, in an order that nothing settles")


def _per_unit(relation: Group, totals: Mapping[int, Total], state: Owned) -> Owned:
    """One row per unit and combination: still rows of that unit."""
    by = frozenset(relation.by)
    if totals and not state.owners_known:
        raise refused("rows without a person are added up as if they were one person's")
    alone = by <= state.owner_columns
    facts = {number: replace(state.facts[number], meaning=None, role=None) for number in by}
    for number, total in totals.items():
        range_ = _PER_UNIT.get(total.function, _no_total)(total, state, by)
        type_ = (
            type_of(total.argument, state.facts) if total.function in _EXTREMES and total.argument else SqlType.INTEGER
        )
        facts[number] = Fact(type=type_, range=range_, role=norm_of(total, state) if alone else None)
    kept = {columns: most for columns, most in state.caps.items() if columns - state.owner_columns <= by}
    return replace(
        state,
        owner=tuple(part & by for part in state.owner),
        facts=facts,
        basis=relation,
        part=False,
        known=state.known & by,
        caps=least(kept, {by - state.owner_columns: 1}),
        spread={columns: most for columns, most in state.spread.items() if columns - state.owner_columns <= by},
    )


def _total_sum(total: Total, state: Owned, by: Ids) -> Range:
    if total.argument is None:
        raise refused("a sum of nothing")
    range_ = range_of(total.argument, state.facts)
    ends(range_)
    rows = state.rows(by)
    if rows is not None and rows <= ROWS:
        return added(range_, times=rows)
    return replace(added(range_, times=min(ROWS, state.crowd)), sure=False)


def _total_count(total: Total, state: Owned, by: Ids) -> Range:
    if (total.argument is None) != (total.function == "count"):
        raise refused("a count of something else")
    rows = state.rows(by)
    return Range(low=0, high=ROWS if rows is None else rows, null=False, sure=rows is not None)


def _own_sum(total: Total, state: Owned, _by: Ids) -> Range:
    """A number the analyst asks about each person: whole, without a clamp, and far from the end of 128 bits."""
    if total.argument is None:
        raise refused("a sum of nothing")
    most = largest_of(total.argument, state.facts) * min(ROWS, state.crowd)
    require_fits(most)
    return Range(low=-most, high=most)


def _own_extreme(total: Total, state: Owned, _by: Ids) -> Range:
    """One of the values, or NULL."""
    if total.argument is None:
        raise refused(f"{total.function} of nothing")
    return replace(range_of(total.argument, state.facts), null=True)


def _no_total(total: Total, _state: Owned, _by: Ids) -> Range:
    raise refused(f"{total.function} over private rows")


_TOTALS: Final = {"sum": _total_sum, "count": _total_count, "count_of": _total_count, "count_distinct": _total_count}
_EXTREMES: Final = ("own_min", "own_max")
_ONE_OF_THE_VALUES: Final = ("min", "max", *_EXTREMES)
_COUNTS: Final = ("count", "count_of", "count_distinct")
_PER_UNIT: Final = {**_TOTALS, "own_sum": _own_sum, **dict.fromkeys(_EXTREMES, _own_extreme)}
"""Inside one unit nothing is released yet, and the smallest of its values is a function of them."""


def _across_units(relation: Group, totals: Mapping[int, Total], state: Owned) -> Totals:
    """Totals over everybody: from here on only vectors of numbers, moved by each unit as far as its rows go."""
    if not state.owners_known:
        raise refused("rows without a person are counted")
    by = frozenset(relation.by)
    if not totals:
        raise refused("keys of private rows without totals")
    values = {number: _value(total, state, by) for number, total in totals.items()}
    return Totals(keys={number: state.facts[number].type for number in by}, public=not by, values=values)


def _value(total: Total, state: Owned, by: Ids) -> Value:
    """What one unit adds to one group: its rows there, times what a row adds."""
    counted = total.function in _COUNTS
    range_ = _TOTALS.get(total.function, _no_total)(total, state, by)
    rows = state.rows(by)
    if rows is None:
        raise refused("any number of rows of one person is added up")
    if counted:
        return Value(low=0, high=rows, groups=state.groups(by), null=False)
    one = range_of(total.argument, state.facts) if total.argument is not None else Range()
    if not one.sure:
        raise refused("numbers are added up that no clamp bounds")
    added(one, times=ROWS)
    low, high = ends(range_)
    role = state.facts[total.argument.id].role if isinstance(total.argument, ColumnRef) else None
    coordinate = role if isinstance(role, Coordinate) and rows <= 1 else None
    return Value(low=low, high=high, groups=state.groups(by), coordinate=coordinate, null=True)
