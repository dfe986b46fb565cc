"""Whose the rows of each table are, as far as names and references tell: one person table, and ways that lead there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dpsql.catalog.constraints import Constraints
from dpsql.catalog.model import EngineTable, PathStep
from dpsql.catalog.names import folded
from dpsql.suggest.columns import words

PEOPLE: Final = frozenset(
    {
        *("patient", "person", "people", "customer", "client", "user", "member", "employee", "student", "pupil"),
        *("subject", "participant", "citizen", "resident", "individual", "voter", "passenger", "driver", "guest"),
        *("subscriber", "donor", "teacher", "worker", "tenant", "applicant", "beneficiary"),
    }
)
_PLURALS: Final[Mapping[str, str]] = {"people": "person", "persons": "person", "children": "child"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One table as the catalogue has it."""

    table: EngineTable
    constraints: Constraints

    @property
    def key(self) -> tuple[str, ...]:
        return self.constraints.primary_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A way from a table to the key of another one."""

    step: PathStep
    """Names as the engine spells them."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """How a table is owned: by `person` of its own, or by way of another table."""

    person: tuple[str, ...] = ()
    via: PathStep | None = None
    reason: str
    also: tuple[str, ...] = ()
    """Other columns that lead to people as well."""
    beside: tuple[str, ...] = ()
    """Of a person table: those that look more like it."""


def singular(name: str) -> str:
    """patients → patient: the last word of a name, one of them."""
    last = (words(name.rpartition(".")[2]) or ["person"])[-1]
    if last in _PLURALS:
        return _PLURALS[last]
    if last.endswith("ies"):
        return last[:-3] + "y"
    return last[:-1] if last.endswith("s") and not last.endswith("ss") else last


def references(tables: Mapping[str, Facts]) -> dict[str, tuple[Reference, ...]]:
    """By table: its foreign keys, and columns that are called like the key of another table."""
    keys = _callers(tables)
    return {name: (*_declared(facts), *_by_name(name, facts, keys)) for name, facts in tables.items()}


def _declared(facts: Facts) -> Iterator[Reference]:
    for key in facts.constraints.foreign_keys:
        step = PathStep(columns=key.columns, table=key.table, to_columns=key.to_columns)
        yield Reference(step=step, reason=f"FOREIGN KEY to {key.table}")


def _callers(tables: Mapping[str, Facts]) -> dict[tuple[str, str], list[PathStep]]:
    """By name and type of a column: the keys of one column that it may hold, in the order of the tables."""
    found: dict[tuple[str, str], list[PathStep]] = {}
    for name, facts in tables.items():
        for column in facts.table.columns:
            if facts.key == (column.name,):
                for called in _called(name, column.name):
                    step = PathStep(columns=(), table=name, to_columns=facts.key)
                    found.setdefault((called, column.engine_type), []).append(step)
    return found


def _by_name(name: str, facts: Facts, keys: Mapping[tuple[str, str], list[PathStep]]) -> Iterator[Reference]:
    taken = {folded(column) for key in facts.constraints.foreign_keys for column in key.columns}
    for column in facts.table.columns:
        if folded(column.name) in taken or facts.key == (column.name,):
            continue
        held = keys.get((folded(column.name), column.engine_type), ())
        step = next((step for step in held if step.table != name), None)
        if step is not None:
            reason = f"the name: it is called like the key of {step.table}"
            yield Reference(step=replace(step, columns=(column.name,)), reason=reason)


def _called(table: str, key: str) -> set[str]:
    """How columns that hold this key are called."""
    own = folded(key)
    return {f"{singular(table)}_id", f"{singular(table)}id"} if own == "id" else {own}


def person_tables(tables: Mapping[str, Facts], refers: Mapping[str, Sequence[Reference]]) -> tuple[str, ...]:
    """Tables with one row per person, the likeliest first: they have a key, and are called like people."""
    pointed: dict[str, int] = {}
    for name, found in refers.items():
        for there in {reference.step.table for reference in found} - {name}:
            pointed[there] = pointed.get(there, 0) + 1
    called = [name for name, facts in tables.items() if facts.key and _is_called_like_people(name)]
    return tuple(sorted(called, key=lambda name: (-pointed.get(name, 0), list(tables).index(name))))


def _is_called_like_people(name: str) -> bool:
    return singular(name) in PEOPLE


def owners(tables: Mapping[str, Facts], refers: Mapping[str, Sequence[Reference]]) -> dict[str, Owned]:
    """By table, for those that lead to a person: the shortest way, foreign keys before names."""
    people = person_tables(tables, refers)
    found = {
        name: Owned(
            person=tables[name].key, reason=f"PRIMARY KEY({', '.join(tables[name].key)})", beside=people[:index]
        )
        for index, name in enumerate(people)
    }
    if not found:
        found = dict(_by_person_column(tables))
    waiting = [name for name in tables if name not in found]
    while True:
        reached = {name: owned for name in waiting if (owned := _step(refers[name], found)) is not None}
        if not reached:
            return found
        found |= reached
        waiting = [name for name in waiting if name not in reached]


def _by_person_column(tables: Mapping[str, Facts]) -> Iterator[tuple[str, Owned]]:
    """Where no table is called like people: columns such as user_id say whose a row is."""
    for name, facts in tables.items():
        called = [column.name for column in facts.table.columns if _names_a_person(column.name)]
        if called:
            reason = f"the name: {called[0]} is called like a person"
            yield name, Owned(person=(called[0],), reason=reason, also=tuple(called[1:]))


def _names_a_person(column: str) -> bool:
    parts = words(column)
    return len(parts) == 2 and parts[0] in PEOPLE and parts[1] in ("id", "no", "number")


def _step(refers: Iterable[Reference], found: Mapping[str, Owned]) -> Owned | None:
    order = list(found)  # the likeliest person first
    leading = sorted(
        (reference for reference in refers if reference.step.table in found),
        key=lambda reference: order.index(reference.step.table),
    )
    if not leading:
        return None
    first, *others = leading
    also = tuple(
        column for other in others for column in other.step.columns if other.step.columns != first.step.columns
    )
    owner = found[first.step.table]
    if owner.person and owner.person == first.step.to_columns:
        return Owned(person=first.step.columns, reason=first.reason, also=also)
    return Owned(via=first.step, reason=first.reason, also=also)
