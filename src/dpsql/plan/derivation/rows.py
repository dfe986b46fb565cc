"""Operators over one relation, windows among them: what they do to owners, to the number of rows of a unit, to ranges.

What a window function says of a row of a unit is a function of that unit's rows as a multiset.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from dpsql.catalog.types import SqlType
from dpsql.plan.derivation.ranges import added, ends, largest_of, range_of, require_fits, type_of
from dpsql.plan.derivation.states import (
    ROWS,
    Coordinate,
    Fact,
    Factor,
    Facts,
    Ids,
    Norm,
    Owned,
    Pending,
    Public,
    Range,
    Role,
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
from dpsql.sql.relations import Filter, Group, Project, Rank, Relation, Total, Window
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, Windowed, children, columns_of, substituted

# ---- rows that stay rows: fewer, numbered or with other columns -----------------------------------------------------


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


def numbered_limits(relation: Filter, state: Owned) -> Mapping[Ids, int]:
    """Rows that agree on a partition have different row numbers: a filter on these keeps so many of them.

    Theorem   docs/theorems/derivation.md: at most so many rows of one unit agree on these columns.
    Requires  a filter over owned rows; conditions on whole numbers that are none of rows limit nothing.
    Rounds    nothing.
    """
    found: dict[Ids, int] = {}
    for part in conjuncts(relation.condition):
        match part:
            case Apply("eq" | "le" | "lt" as word, (ColumnRef(id=number), limit)):
                most = _numbers_kept(word, whole(limit))
            case Apply("eq" | "ge" | "gt" as word, (limit, ColumnRef(id=number))):
                most = _numbers_kept({"ge": "le", "gt": "lt"}.get(word, word), whole(limit))
            case _:
                continue
        together = _numbered_inside(relation.input, number)
        if most is not None and together is not None and together <= columns_in(state):
            found = least(found, {together - state.owner_columns: most})
    return found


def _numbers_kept(word: str, limit: int | None) -> int | None:
    """How many of 1, 2, 3, … are equal to the limit, up to it, or below it."""
    if limit is None:
        return None
    return 1 if word == "eq" else max(limit if word == "le" else limit - 1, 0)


def _numbered_inside(relation: Relation, number: int) -> Ids | None:
    """The columns of the partition in which this column is a row number, as they are called here; None: it is none."""
    match relation:
        case Filter():
            return _numbered_inside(relation.input, number)
        case Project():
            pairs = list(zip((column.id for column in relation.columns), relation.expressions, strict=True))
            copies = {scalar.id: new for new, scalar in reversed(pairs) if isinstance(scalar, ColumnRef)}
            below = next((scalar.id for new, scalar in pairs if new == number and isinstance(scalar, ColumnRef)), None)
            inside = None if below is None else _numbered_inside(relation.input, below)
            return (
                frozenset(copies[each] for each in inside) if inside is not None and inside <= copies.keys() else None
            )
        case Window():
            calls = dict(zip((column.id for column in relation.added), relation.calls, strict=True))
            if number not in calls:
                return _numbered_inside(relation.input, number)
            if calls[number].function != "row_number":
                return None
            return frozenset().union(*map(columns_of, calls[number].partition_by))
        case _:
            return None


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


# ---- groups ---------------------------------------------------------------------------------------------------------


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


# ---- windows --------------------------------------------------------------------------------------------------------


_OF_PEERS: Final = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist", "count", "min", "max", "sum"})
"""Rows that the order does not tell apart get the same value, unless a frame counts rows."""
_OF_PLACES: Final = frozenset({"row_number", "ntile", "lag", "lead", "first_value", "last_value"})
"""These tell rows apart: rows may be equal in the order only if they are equal in everything."""
_TYPES: Final[Mapping[str, SqlType]] = {
    **dict.fromkeys(("row_number", "rank", "dense_rank", "ntile", "count", "sum"), SqlType.INTEGER),
    **dict.fromkeys(("percent_rank", "cume_dist"), SqlType.DOUBLE),
}
"""All others have the type of what they look at."""
_EDGE: Final = r"(UNBOUNDED PRECEDING|UNBOUNDED FOLLOWING|CURRENT ROW|\d{1,9} PRECEDING|\d{1,9} FOLLOWING)"
_FRAME: Final = re.compile(rf"(ROWS|RANGE) BETWEEN {_EDGE} AND {_EDGE}", re.ASCII)


def of_window(relation: Window, state: State) -> State:
    """Each row gets values computed from rows of the same unit.

    Theorem   docs/theorems/derivation.md: the rows of a unit, with these values, are a function of its rows as a
              multiset; no unit gets more or fewer rows.
    Requires  owned rows, the whole owner in every partition, and no value that tells tied rows apart unless they are
              equal in all columns; InternalError otherwise.
    Rounds    nothing.
    """
    if not isinstance(state, Owned) or not state.owner:
        raise refused("a window over rows that have no owner")
    added = unique_numbers(relation.columns)[len(relation.input.columns) :]
    if len(added) != len(relation.calls) or columns_in(state) & frozenset(added):
        raise refused("a window with columns of its own")
    facts = {
        number: Fact(type=_type_inside_one_person(call, state))
        for number, call in zip(added, relation.calls, strict=True)
    }
    return replace(state, facts={**as_basis(state.facts), **facts}, basis=relation, part=False)


def _type_inside_one_person(call: Windowed, state: Owned) -> SqlType:
    """What the value is, if it is a function of the rows of one unit as a multiset; refused otherwise."""
    for part in children(call):
        require_reads(part, columns_in(state))
    if call.function not in _OF_PEERS | _OF_PLACES:
        raise refused(f"{call.function} over rows of a person")
    within = frozenset(part.id for part in call.partition_by if isinstance(part, ColumnRef))
    if not all(part & within for part in state.owner):
        raise refused("a window that is not inside one person")
    sorted_by = frozenset(key.by.id for key in call.order_by if isinstance(key.by, ColumnRef))
    tells_apart = _counts_rows(call, state) or call.function in _OF_PLACES
    if tells_apart and not columns_in(state) <= within | sorted_by:
        raise refused("which row of a person comes first is not settled by these rows alone")
    found = [type_of(argument, state.facts) for argument in call.arguments]
    if call.function == "sum":
        if len(call.arguments) != 1:
            raise refused("a sum of nothing, or of several things")
        require_fits(ROWS * largest_of(call.arguments[0], state.facts))
    type_ = _TYPES.get(call.function) or (found[0] if found else None)
    if type_ is None or type_ is not call.type:
        raise refused("a window function of another type")
    return type_


def _counts_rows(call: Windowed, state: Owned) -> bool:
    """True where the frame ends so many rows away; other frames end where the order changes, or so far away in it."""
    if not call.frame:
        return False
    frame = _FRAME.fullmatch(call.frame)
    if frame is None:
        raise refused("a frame no rule names")
    if frame[1] == "RANGE" and re.search(r"\d", call.frame):
        keys = [type_of(key.by, state.facts) for key in call.order_by]
        if keys not in ([SqlType.INTEGER], [SqlType.DATE]):
            raise refused("a distance between rows that is not whole")
    return frame[1] == "ROWS"


# ---- all groups of a person, scaled together into an L2 ball: the one pattern that is trusted, node by node ----------
#
#    norm    per unit, the sum over all its rows of Σ_j (w_j · a_j)²       a Group by the owner alone
#    factor  min(1, R(1 − 2^-40)/√norm)                                    beside the very rows of that sum
#    shrink  a_j · factor, toward zero
#
# Then Σ (w_j · shrunk_j)² over the rows of one unit is at most R². Proof: docs/theorems/derivation.md.


LARGEST_COORDINATE: Final = 2**53
"""Below it a double holds every whole number."""


def meaning_of(scalar: Scalar, facts: Facts) -> Scalar:
    """The expression over the row of the basis."""
    if isinstance(scalar, ColumnRef):
        return facts[scalar.id].meaning or scalar
    meanings = ((number, facts[number].meaning) for number in columns_of(scalar))
    known = {number: meaning for number, meaning in meanings if meaning is not None}
    return substituted(scalar, known) if known else scalar


def norm_of(total: Total, state: Owned) -> Norm | None:
    """What a sum per unit is a norm of. The caller has seen that the unit alone is grouped by."""
    if total.function != "sum" or total.argument is None or state.part:
        return None
    if range_of(total.argument, state.facts).null:
        return None  # a NULL term would hide the other terms of its row from the sum
    meant = meaning_of(total.argument, state.facts)
    squares = meant.arguments if isinstance(meant, Apply) and meant.function == "plus" else (meant,)
    terms = []
    for square in squares:
        if not (isinstance(square, Apply) and square.function == "squared"):
            return None
        terms.append(square.arguments[0])
    return Norm(state.basis, tuple(terms))


def role_of(scalar: Scalar, state: Owned) -> Role | None:
    """What a new column is in the pattern; `factor` and `shrink` anywhere else are refused."""
    if isinstance(scalar, ColumnRef):
        return state.facts[scalar.id].role
    match scalar:
        case Apply("factor", (ColumnRef(id=number), limit)):
            return _factor(state.facts[number].role, whole(limit))
        case Apply("shrink", (amount, ColumnRef(id=number))):
            return _coordinate(amount, state.facts[number].role, state)
        case _:
            _require_free(scalar)
            return None


def _require_free(scalar: Scalar) -> None:
    if isinstance(scalar, Apply):
        if scalar.function in {"factor", "shrink"}:
            raise refused("a factor outside of the pattern that bounds a norm")
        for argument in scalar.arguments:
            _require_free(argument)


def _factor(role: Role | None, radius_squared: int | None) -> Factor:
    if not isinstance(role, Norm):
        raise refused("a factor of something that is not the norm of a unit")
    if radius_squared is None or radius_squared < 1:
        raise refused("a ball without a radius")
    require_fits(radius_squared)
    return Factor(role, radius_squared)


def _coordinate(amount: Scalar, role: Role | None, state: Owned) -> Coordinate:
    _require_free(amount)
    if not isinstance(role, Factor):
        raise refused("a number is scaled by something that is not a factor")
    norm = role.norm
    if not (norm.basis is state.basis or norm.basis == state.basis):
        raise refused("numbers are scaled by the norm of other rows")
    range_ = range_of(amount, state.facts)
    if max(map(abs, ends(range_))) >= LARGEST_COORDINATE or range_.null:
        raise refused("a scaled number does not fit a double, or may be NULL")
    meant = meaning_of(amount, state.facts)
    for index, term in enumerate(norm.terms):
        weight = _weight(term, meant)
        if weight is not None:
            return Coordinate(role, index, weight)
    raise refused("a number is scaled by a norm it is not part of")


def _weight(term: Scalar, amount: Scalar) -> int | None:
    """w, where the term is w · amount; times 1 is not written."""
    if term == amount:
        return 1
    match term:
        case Apply("times", (inside, weight)) if inside == amount:
            number = whole(weight)
            return number if number is not None and number >= 1 else None
        case _:
            return None
