"""What an explanation rests on: the declarations a plan used, and what no promise covers."""

from __future__ import annotations

from collections.abc import Iterator

from dpsql.catalog.model import Bounds, KeyKind, PublicKeys, TablePolicy
from dpsql.plan.explanation.rows import way_to_person
from dpsql.plan.price import Plan, SelectionStep
from dpsql.plan.slot_words import unit_name
from dpsql.plan.wording import amount, plural, some, value_text
from dpsql.sql.caps import enforced_once
from dpsql.sql.notes import Role
from dpsql.sql.relations import Column
from dpsql.sql.resolve import Resolved


def assumes(plan: Plan) -> tuple[str, ...]:
    """The facts of the policy that the plan used, in the order of the query."""
    query = plan.bounded.query
    found = [f"policy {plan.recalled.identity.declarations[:12]}, data version {plan.recalled.data_version}"]
    for name in query.tables:
        table = query.catalog.policy.tables[name]
        if table.public:
            found.append(f"nobody is in {name}")
        elif plan.steps:
            found += _of_table(table, plan) if name in query.private_tables else _of_path(table, plan)
    found += [fact for column in _used(query) for fact in _of_column(column, query)]
    if any(isinstance(step, SelectionStep) for step in plan.steps) and plan.terms.delta is not None:
        found.append(f"finding groups may spend δ = {amount(plan.terms.delta)}")
    return tuple(dict.fromkeys(found))


def _of_table(table: TablePolicy, plan: Plan) -> Iterator[str]:
    bounded, person = plan.bounded, unit_name(plan.bounded.query)
    if table.unit_row:
        yield f"each row of {table.name} is about somebody else"
        return
    yield _belongs(table, person)
    if bounded.one_row_each and enforced_once(table, bounded.query.catalog):
        yield f"{'+'.join(table.person)} of {table.name} is unique, enforced by the engine"
    elif table.unique:
        yield f"{table.name} has one row per {person}; further ones are not counted"
    for name, limit in (
        ("rows_per_person", table.rows_per_person),
        ("rows_per_group", table.rows_per_group),
        ("groups_per_person", table.groups_per_person),
    ):
        if limit is not None and not bounded.one_row_each:
            yield f"{name} = {amount(limit)} in {table.name}"


def _of_path(table: TablePolicy, plan: Plan) -> Iterator[str]:
    """A table that is only looked into on the way to the person."""
    yield _belongs(table, unit_name(plan.bounded.query))


def _belongs(table: TablePolicy, person: str) -> str:
    if table.path:
        return f"a row of {table.name} is about those whom {way_to_person(table)} leads to, and nobody else"
    return f"{'+'.join(table.person)} of {table.name} is never shared by two {plural(person)}"


def _used(query: Resolved) -> list[Column]:
    """Base columns that are added up or grouped by."""
    wanted = (Role.VALUE, Role.GROUP)
    return [column for use in query.uses if use.role in wanted for column in use.columns if column.origin]


def _of_column(column: Column, query: Resolved) -> Iterator[str]:
    if column.origin is None:
        return
    table, name = column.origin
    declared = query.catalog.policy.tables[table].columns[name]
    if declared.bounds is not None:
        yield f"{table}.{name} within {_bounds(declared.bounds)}"
    if isinstance(declared.keys, PublicKeys):
        yield f"the groups of {table}.{name} are public: {some(map(value_text, declared.keys.values))}"
    elif declared.keys is KeyKind.CALENDAR:
        yield f"the days of {table}.{name} between its bounds are public"


def _bounds(bounds: Bounds) -> str:
    return f"{value_text(bounds.low)} and {value_text(bounds.high)}"


def not_covered(plan: Plan) -> tuple[str, ...]:
    """What an answer, or the asking, may tell all the same."""
    query = plan.bounded.query
    facts = ["the text and the time of the query", "how long it takes", "that dpsql was used"]
    if any(query.catalog.policy.tables[name].public for name in query.tables):
        facts.append("what public tables say")
    if query.owner and plan.steps:
        facts.append(f"rows without a {unit_name(query)}, which are left out")
    return tuple(facts)
