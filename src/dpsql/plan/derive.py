"""seal, first half: how far one unit can move the numbers a statement releases, from the statement itself.

    tables ─▶ whose rows ─▶ how many of each unit, how large ─▶ totals ─▶ Reach

`bound` says how far a unit may reach and `rewrite` builds a statement that keeps it there; this module believes
neither (rule 11). It reads the relation about to be printed for the engine, shares no function with the stages that
made it, and refuses what it cannot follow. Proof: docs/theorems/derivation.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from dpsql.catalog.model import Catalog
from dpsql.plan.derivation.joins import of_exists, of_join, of_union
from dpsql.plan.derivation.rows import of_filter, of_group, of_project, of_rank, of_window
from dpsql.plan.derivation.states import State, Totals, Value, refused
from dpsql.plan.derivation.tables import of_awaited, of_listed, of_listed_keys, of_scan
from dpsql.privacy.unit import Neighbours
from dpsql.sql.relations import (
    AwaitedRows,
    Exists,
    Filter,
    Group,
    Join,
    Listed,
    ListedKeys,
    Project,
    Rank,
    Relation,
    Scan,
    Union,
    Window,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """How far one unit moves one column, over all keys."""

    l1: int
    l2_squared: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ball:
    """How far one unit moves all columns together: Σ over keys and columns of (weight · move)² <= radius_squared."""

    weights: tuple[int, ...]
    radius_squared: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """How far one unit moves the columns, each by itself."""

    columns: tuple[Move, ...]
    """One per value column, in their order."""
    keys_per_unit: int
    """In how many key rows one unit counts, in each of two neighbours."""


Reach: TypeAlias = Moves | Ball
"""How far one unit can move the released vector: column by column, or all columns in one ball."""


def derive(
    relation: Relation, *, keys: tuple[int, ...], values: tuple[int, ...], catalog: Catalog, selection: bool = False
) -> Reach:
    """How far the rows of one unit move the columns `values`, one row per combination of the columns `keys`.

    Theorem   docs/theorems/derivation.md: if f is the vector of all values over all keys, then for all neighbouring
              databases |f_j(D) − f_j(D′)|₁ <= l1, |f_j(D) − f_j(D′)|₂² <= l2_squared for every column j, or all
              columns together lie in the ball. Neighbours are those of the policy.
    Requires  a statement of rules that are named here; InternalError otherwise. `selection`: keys are those of
              private rows and are shown only by a private selection; else they must come from public relations.
    Rounds    nothing: integers.
    """
    state = _States(catalog=catalog).of(relation)
    if not isinstance(state, Totals):
        raise refused("rows leave the engine that are not totals")
    if len(set(keys)) != len(keys) or frozenset(keys) != state.keys.keys():
        raise refused("released keys that are not the keys of the totals")
    if state.public is selection:
        raise refused("keys of private rows are shown, or public keys are selected")
    if not values or len(set(values)) != len(values) or not state.values.keys() >= set(values):
        raise refused("a released number that is not a total")
    chosen = tuple(state.values[number] for number in values)
    if any(value.null for value in chosen):
        raise refused("a total that is NULL where nobody is")
    return _reach(chosen, grouped=bool(keys), neighbours=catalog.policy.person.relation)


@dataclass(frozen=True, slots=True, kw_only=True)
class _States:
    """What is known about each relation of a statement; one that is read in several places is derived once."""

    catalog: Catalog
    _known: dict[int, State] = field(default_factory=dict)

    def of(self, relation: Relation) -> State:
        if id(relation) not in self._known:
            self._known[id(relation)] = self._derived(relation)
        return self._known[id(relation)]

    def _derived(self, relation: Relation) -> State:
        match relation:
            case Scan():
                return of_scan(relation, self.catalog)
            case ListedKeys():
                return of_listed_keys(relation)
            case Listed():
                return of_listed(relation)
            case AwaitedRows():
                return of_awaited(relation)
            case Filter():
                return of_filter(relation, self.of(relation.input))
            case Project():
                return of_project(relation, self.of(relation.input))
            case Rank():
                return of_rank(relation, self.of(relation.input))
            case Window():
                return of_window(relation, self.of(relation.input))
            case Group():
                return of_group(relation, self.of(relation.input))
            case Join():
                return of_join(relation, self.of(relation.left), self.of(relation.right))
            case Union():
                return of_union(relation, [self.of(branch) for branch in relation.branches])
            case Exists():
                return of_exists(relation, self.of(relation.input), self.of(relation.among))
            case _:
                raise refused("an operator no rule names")


def _reach(values: tuple[Value, ...], *, grouped: bool, neighbours: Neighbours) -> Reach:
    ball = _ball(values, neighbours)
    if ball is not None:
        return ball
    limits = [value.groups for value in values if value.groups is not None]
    if len(limits) != len(values):
        raise refused("a person counts in any number of groups")
    columns = tuple(
        _move(value, groups=groups, grouped=grouped, neighbours=neighbours)
        for value, groups in zip(values, limits, strict=True)
    )
    return Moves(columns=columns, keys_per_unit=max(limits))


def _ball(values: tuple[Value, ...], neighbours: Neighbours) -> Ball | None:
    """All columns are different coordinates of one ball, or there is none."""
    found = [value.coordinate for value in values if value.coordinate is not None]
    if len(found) != len(values) or len({each.index for each in found}) != len(found):
        return None
    if any(each.factor != found[0].factor for each in found):
        return None
    apart = 2 if neighbours is Neighbours.CHANGE_ONE else 1
    return Ball(
        weights=tuple(each.weight for each in found),
        radius_squared=found[0].factor.radius_squared * apart * apart,
    )


def _move(value: Value, *, groups: int, grouped: bool, neighbours: Neighbours) -> Move:
    """One unit comes or goes, or trades its contributions for others."""
    low, high = min(value.low, 0), max(value.high, 0)
    size = max(-low, high)
    if neighbours is Neighbours.ADD_REMOVE:
        return Move(l1=groups * size, l2_squared=groups * size * size)
    if not grouped:
        return Move(l1=high - low, l2_squared=(high - low) ** 2)
    return Move(l1=2 * groups * size, l2_squared=groups * max((high - low) ** 2, 2 * size * size))
