"""Two relations side by side: each pair of kinds has one rule, and a pair without a rule is refused.

Then rows of several relations under one another, and rows that have, or have not, a partner: inside each person.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from dpsql.catalog.names import folded
from dpsql.catalog.types import SqlType
from dpsql.plan.derivation.states import (
    KEYS,
    NOTHING,
    ROWS,
    Coordinate,
    Fact,
    Facts,
    Ids,
    Norm,
    Owned,
    Pending,
    Public,
    Range,
    State,
    Totals,
    all_known,
    as_basis,
    columns_in,
    conjuncts,
    equalities,
    least,
    refused,
    require_condition,
    types_in,
)
from dpsql.plan.derivation.tables import unique_numbers
from dpsql.sql.relations import Exists, Join, Union
from dpsql.sql.scalars import Apply, ColumnRef, Constant

Pairs: TypeAlias = frozenset[tuple[int, int]]
_ANY: Final = SqlType.INTEGER


def of_join(relation: Join, left: State, right: State) -> State:
    """Pairs of rows for which the condition is true."""
    if columns_in(left) & columns_in(right):
        raise refused("two columns with one number")
    types = {**types_in(left), **types_in(right)}
    require_condition(relation.condition, types, columns_in(left) | columns_in(right))
    if isinstance(right, Totals):
        return _totals_beside(relation, left, right)
    if isinstance(left, Totals):
        raise refused("rows are put beside totals")
    if relation.outer and not isinstance(left, Owned) and not isinstance(right, Public):
        raise refused("an outer join that keeps rows without an owner")
    pairs = of_one_type(equalities(relation.condition), types)
    match left, right:
        case Public(), Public():
            return _public(relation, left, right)
        case Owned(), Public():
            return _with_public(relation, left, right, pairs)
        case Public(), Owned():
            return _with_public(relation, right, left, pairs)
        case Owned(), Owned():
            return _of_one_person(relation, left, right, pairs)
        case Pending(), Owned():
            return _along_path(relation, left, right, pairs)
        case _:
            raise refused("a join no rule names")


def of_one_type(pairs: Pairs, types: Mapping[int, SqlType | None]) -> Pairs:
    """Equal after a conversion is not equal: '1' and '01' are one number."""
    return frozenset((a, b) for a, b in pairs if types[a] is types[b])


def _public(relation: Join, left: Public, right: Public) -> Public:
    both = left.distinct is not None and right.distinct is not None and not relation.outer
    most = None if left.most is None or right.most is None else left.most * right.most
    return Public(
        types={**left.types, **right.types},
        distinct=(left.distinct or NOTHING) | (right.distinct or NOTHING) if both else None,
        most=most,
    )


def _with_public(relation: Join, owned: Owned, public: Public, pairs: Pairs) -> Owned:
    """Rows keep their owner. Equality with all columns of distinct public rows finds at most one of them."""
    mine = frozenset(number for number, fact in owned.facts.items() if fact.type is not None)
    matched = frozenset(b for a, b in pairs if a in mine and b in public.types)
    equal = frozenset(a for a, b in pairs if a in mine and b in public.types)
    once = public.distinct is not None and public.distinct <= matched
    facts = {**owned.facts, **{number: Fact(type=type_) for number, type_ in public.types.items()}}
    crowd = ROWS
    caps: Mapping[Ids, int] = {}
    if once:
        caps = owned.caps
        inside = [most for alike, most in caps.items() if alike - owned.owner_columns <= equal and not relation.outer]
        crowd = min([owned.crowd, *(KEYS * most for most in inside)])
    elif public.most is not None:
        caps = {alike: most * public.most for alike, most in owned.caps.items()}
    return replace(
        owned,
        facts=_beside(facts, once=once),
        basis=relation,
        part=False,
        caps=caps,
        spread=owned.spread
        if public.most is None or not equal or relation.outer
        else least(owned.spread, {equal: public.most}),
        crowd=crowd,
        table=None,
    )


def _beside(facts: Facts, *, once: bool) -> dict[int, Fact]:
    """Facts above a join: columns are no longer those of one table, and a repeated row leaves its ball."""
    return {
        number: replace(fact, source=None, role=None if isinstance(fact.role, Coordinate) and not once else fact.role)
        for number, fact in as_basis(facts).items()
    }


def _of_one_person(relation: Join, left: Owned, right: Owned, pairs: Pairs) -> Owned:
    """Rows of two private relations, where every part of the person is equated."""
    require_one_person(left, right, pairs)
    typed = frozenset(number for number, fact in left.facts.items() if fact.type is not None)
    crossing = frozenset((a, b) for a, b in pairs if a in typed and b in right.facts)
    back = frozenset((b, a) for a, b in crossing)
    left_once, right_once = _found_once(right, crossing), _found_once(left, back)
    if relation.outer:
        return _with_or_without(relation, left, right, once=left_once)
    owner = tuple(mine | other for mine, other in zip(left.owner, right.owner, strict=True))
    joined = Owned(
        owner=owner,
        facts={**_beside(left.facts, once=left_once), **_beside(right.facts, once=right_once)},
        basis=relation,
        known=all_known(left.known | right.known, owner),
        caps=least(
            left.caps if left_once else {},
            right.caps if right_once else {},
            {a | b: m * n for a, m in left.caps.items() for b, n in right.caps.items()},
        ),
        spread=least(left.spread, right.spread, _equal_spread(right, crossing), _equal_spread(left, back)),
        crowd=min([ROWS, *([left.crowd] if left_once else []), *([right.crowd] if right_once else [])]),
    )
    return _kept_basis(joined, left, right) if left_once and _norm_beside(left, right) else joined


def require_one_person(left: Owned, right: Owned, pairs: Pairs) -> None:
    """Refuse pairs of rows that may be of two people.

    Theorem   docs/theorems/derivation.md: where every part of the owner is equated, both rows are of one unit.
    Requires  pairs of unconverted columns that are equal wherever the condition is true.
    Rounds    nothing.
    """
    if not left.owner or len(left.owner) != len(right.owner):
        raise refused("rows that are units of their own are paired")
    for mine, other in zip(left.owner, right.owner, strict=True):
        if not any(a in mine and b in other for a, b in pairs):
            raise refused("rows of different people are paired")


def _with_or_without(relation: Join, left: Owned, right: Owned, *, once: bool) -> Owned:
    """Rows of the left stay whether or not the same person has a partner for them; what is on the right may be NULL.

    Rows that agree on columns of both sides are pairs, at most m · n of them, or one row of the left without a partner.
    """
    beside = {number: replace(fact, range=replace(fact.range, null=True)) for number, fact in right.facts.items()}
    return Owned(
        owner=left.owner,
        facts={**_beside(left.facts, once=once), **_beside(beside, once=False)},
        basis=relation,
        known=left.known,
        caps=least(
            left.caps if once else {},
            {a | b: m * max(n, 1) for a, m in left.caps.items() for b, n in right.caps.items()},
        ),
        spread=left.spread,
        crowd=left.crowd if once else ROWS,
    )


def _found_once(other: Owned, crossing: Iterable[tuple[int, int]]) -> bool:
    """No row finds two partners: of one unit at most one row of `other` agrees on what is equated."""
    return other.rows(frozenset(b for _, b in crossing)) in {0, 1}


def _equal_spread(other: Owned, crossing: Pairs) -> Mapping[Ids, int]:
    """Columns equal to columns of `other` have no more combinations than those."""
    groups = other.groups(frozenset(b for _, b in crossing))
    return {} if groups is None else {frozenset(a for a, _ in crossing): groups}


def _norm_beside(left: Owned, right: Owned) -> bool:
    norms = [fact.role for fact in right.facts.values() if isinstance(fact.role, Norm)]
    return bool(norms) and all(norm.basis is left.basis or norm.basis == left.basis for norm in norms)


def _kept_basis(joined: Owned, left: Owned, right: Owned) -> Owned:
    """A norm was put beside its own rows: each row is still one row of the basis, none is there twice."""
    facts = {
        number: replace(fact, meaning=left.facts[number].meaning)
        for number, fact in joined.facts.items()
        if number in left.facts
    }
    for number in right.facts:
        elsewhere = Apply("beside", (ColumnRef(number, _ANY),), _ANY)  # no column of the basis, whatever its number
        facts[number] = replace(joined.facts[number], meaning=elsewhere)
    return replace(joined, facts=facts, basis=left.basis, part=True)


def _along_path(relation: Join, left: Pending, right: Owned, pairs: Pairs) -> Owned:
    """One declared step towards the person, on unconverted columns. What has arrived can be arrived at in turn."""
    step, onward = left.table.path[0], right.table
    if onward is None or onward.name != step.table:
        raise refused("a path that leads to another table")
    if (left.table.path[1:], left.table.person) != (onward.path, onward.person):
        raise refused("a path that ends at another person")
    named = {(left.facts[a].source, right.facts[b].source) for a, b in pairs if a in left.facts and b in right.facts}
    wanted = {(folded(a), folded(b)) for a, b in zip(step.columns, step.to_columns, strict=True)}
    if not wanted <= named:
        raise refused("a path that is not followed along its declared columns")
    return replace(
        right,
        facts={**as_basis(left.facts), **_beside(right.facts, once=False)},
        basis=relation,
        part=False,
        caps={},
        spread={},
        crowd=ROWS,
        table=left.table,
    )


def _totals_beside(relation: Join, left: State, right: Totals) -> Totals:
    """Totals are put beside other totals without keys, or to the right of public keys, each at its own."""
    if isinstance(left, Totals) and not left.keys and not right.keys:
        always = isinstance(relation.condition, Constant) and relation.condition.value is True
        if not always or relation.outer:
            raise refused("one row of totals is there or not, depending on rows")
        return replace(left, values={**left.values, **right.values})
    keys = {number: types_in(left)[number] for number in _public_keys(left)}
    if not relation.outer or right.public or not right.keys:
        raise refused("keys of private rows decide which totals are shown")
    _require_each_key_once(relation, keys, right.keys)
    added = {number: replace(value, null=True) for number, value in right.values.items()}
    before = left.values if isinstance(left, Totals) else {}
    return Totals(keys=keys, public=True, values={**before, **added})


def _public_keys(left: State) -> Ids:
    match left:
        case Public(distinct=frozenset() as distinct) if distinct:
            return distinct
        case Totals(public=True, keys=keys) if keys:
            return frozenset(keys)
        case _:
            raise refused("totals beside rows that are not distinct public keys")


def _require_each_key_once(
    relation: Join, keys: Mapping[int, SqlType | None], others: Mapping[int, SqlType | None]
) -> None:
    """The condition equates each public key with one key of the totals, one to one, and says nothing else."""
    found: list[tuple[int, int]] = []
    for part in conjuncts(relation.condition):
        match part:
            case Apply("alike", (ColumnRef(id=a), ColumnRef(id=b))):
                found.append((a, b) if a in keys else (b, a))
            case _:
                raise refused("totals are put beside keys by something else than equality")
    mine, other = [a for a, _ in found], [b for _, b in found]
    if (set(mine), set(other)) != (set(keys), set(others)) or not len(keys) == len(others) == len(found):
        raise refused("totals are put beside keys that are not their own")
    if any(keys[a] is not others[b] for a, b in found):
        raise refused("keys of two types are equal only after a conversion")


_Place: TypeAlias = Mapping[int, int]
"""Where each column of a union stands in one of its branches."""


def of_union(relation: Union, states: Sequence[State]) -> State:
    """Every row of every branch: the rows of a unit are its rows in all branches."""
    numbers = unique_numbers(relation.columns)
    places: list[_Place] = []
    for branch, state in zip(relation.branches, states, strict=True):
        own = unique_numbers(branch.columns)
        if len(own) != len(numbers) or frozenset(own) != columns_in(state):
            raise refused("branches with different columns")
        places.append(dict(zip(numbers, own, strict=True)))
    owned = [state for state in states if isinstance(state, Owned)]
    public = [state for state in states if isinstance(state, Public)]
    if not states or len(states) not in (len(owned), len(public)):
        raise refused("branches of which some have no owner")
    types = {number: _one_type(number, places, states) for number in numbers}
    return _of_all_branches(relation, types, places, owned) if owned else Public(types=types)


def _one_type(number: int, places: Sequence[_Place], states: Sequence[State]) -> SqlType | None:
    types = {types_in(state)[place[number]] for place, state in zip(places, states, strict=True)}
    if len(types) != 1:
        raise refused("a column that has two types")
    return types.pop()


def _of_all_branches(
    relation: Union, types: Mapping[int, SqlType | None], places: Sequence[_Place], states: Sequence[Owned]
) -> Owned:
    """A column holds a part of the person where it does in every branch. What limits one branch, limits no union."""
    parts = {len(state.owner) for state in states}
    if len(parts) != 1 or parts == {0}:
        raise refused("rows that are units of their own, or of two kinds of person, are mixed")
    branches = list(zip(places, states, strict=True))
    owner = tuple(
        frozenset(number for number in types if all(place[number] in state.owner[part] for place, state in branches))
        for part in range(*parts)
    )
    if not all(owner):
        raise refused("rows lose their owner")
    return Owned(
        owner=owner,
        facts={
            number: Fact(type=type_, range=_hull([state.facts[place[number]].range for place, state in branches]))
            for number, type_ in types.items()
        },
        basis=relation,
        known=frozenset(number for number in types if all(place[number] in state.known for place, state in branches)),
        caps={},
        spread={},
        crowd=min(ROWS, sum(state.crowd for state in states)),
    )


def _hull(ranges: Sequence[Range]) -> Range:
    """What holds in every branch."""
    lows = [range_.low for range_ in ranges if range_.low is not None]
    highs = [range_.high for range_ in ranges if range_.high is not None]
    return Range(
        low=min(lows) if len(lows) == len(ranges) else None,
        high=max(highs) if len(highs) == len(ranges) else None,
        null=any(range_.null for range_ in ranges),
        sure=all(range_.sure for range_ in ranges),
    )


def of_exists(relation: Exists, state: State, among: State) -> State:
    """Rows are left out for what the same person has elsewhere, or for what public tables hold.

    Theorem   docs/theorems/derivation.md: what is left of the rows of a unit is a function of that unit's rows.
    Requires  the states of both sides; a pair of kinds that no rule names is refused.
    Rounds    nothing.
    """
    if columns_in(state) & columns_in(among):
        raise refused("two columns with one number")
    types = {**types_in(state), **types_in(among)}
    require_condition(relation.condition, types, columns_in(state) | columns_in(among))
    match state, among:
        case Public(), Public():
            return state
        case Owned(), Public():
            pass
        case Owned(), Owned():
            require_one_person(state, among, of_one_type(equalities(relation.condition), types))
        case _:
            raise refused("rows are left out for what somebody else has")
    return replace(state, facts=as_basis(state.facts), basis=relation, part=False)
