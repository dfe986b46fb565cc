"""Rows of several relations under one another, and rows that have, or have not, a partner: inside each person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from dpsql.catalog.types import SqlType
from dpsql.plan.derivation.joins import of_one_type, require_one_person
from dpsql.plan.derivation.states import (
    ROWS,
    Fact,
    Owned,
    Public,
    Range,
    State,
    as_basis,
    columns_in,
    equalities,
    refused,
    require_condition,
    types_in,
)
from dpsql.plan.derivation.tables import unique_numbers
from dpsql.sql.relations import Exists, Union

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
