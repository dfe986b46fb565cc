"""Where the rows of a question come from, as part of its derivation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dpsql.catalog.model import TablePolicy
from dpsql.plan.slot_words import unit_name
from dpsql.plan.wording import amount
from dpsql.sql.bound import Bounded
from dpsql.sql.caps import enforced_once
from dpsql.sql.relations import (
    AwaitedRows,
    Exists,
    Filter,
    Group,
    Join,
    Listed,
    Project,
    Relation,
    Scan,
    Union,
    Window,
    inputs,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One line of a derivation, the rules it applies (`rules.RULES`), and what it rests on."""

    text: str
    rules: tuple[str, ...] = ()
    children: tuple[Node, ...] = ()

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.walk()


def source(relation: Relation, bounded: Bounded) -> Node:
    """Where the rows come from."""
    match relation:
        case Scan():
            return Node(text=_scan(relation, bounded), rules=("T1",) if relation.private else ())
        case Listed() | AwaitedRows():
            return Node(text="rows that a question before this one released: public from then on", rules=("T6",))
        case Filter():
            return Node(text="keep the rows that match WHERE", children=(source(relation.input, bounded),))
        case Project():
            return source(relation.input, bounded)
        case Join():
            return Node(
                text="join, row by row" + ", keeping rows without a partner" * relation.outer,
                children=(source(relation.left, bounded), source(relation.right, bounded)),
            )
        case Union():
            return Node(text=_rows_of_all(bounded), children=tuple(source(each, bounded) for each in relation.branches))
        case Group():
            return _grouped(relation, bounded)
        case Exists(input=Exists(among=among)) if among is relation.among:  # one NOT IN, and what NULL means in it
            return source(relation.input, bounded)
        case Exists():
            return Node(
                text=_chosen_rows(relation, bounded),
                children=(source(relation.input, bounded), source(relation.among, bounded)),
            )
        case Window():
            return Node(
                text=f"look at the rows of each {unit_name(bounded.query)} by themselves, in order",
                children=(source(relation.input, bounded),),
            )
        case _:
            return Node(text=type(relation).__name__.lower())


def _chosen_rows(exists: Exists, bounded: Bounded) -> str:
    what = "leave out the rows that have a partner" if exists.negated else "keep the rows that have a partner"
    private = _reads_people(exists.among)
    return f"{what} of the same {unit_name(bounded.query)}" if private else f"{what} in public tables"


def _grouped(group: Group, bounded: Bounded) -> Node:
    owner, unit = bounded.query.owner, unit_name(bounded.query)
    if not _reads_people(group):
        return Node(text="groups of public rows", children=(source(group.input, bounded),))
    if not group.totals:
        return Node(text=f"look up the {unit} in {', then '.join(_tables(group.input))}")
    if owner and set(group.by) >= set(owner):
        more = " and key" if len(group.by) > len(owner) else ""
        return Node(text=f"one row per {unit}{more}", children=(source(group.input, bounded),))
    return source(group.input, bounded)


def _rows_of_all(bounded: Bounded) -> str:
    """The caps come after the union: they hold for the rows of all branches together."""
    owner = bounded.query.owner
    return "all rows of each part" + (
        f"; what one {unit_name(bounded.query)} adds is capped for all together" * bool(owner)
    )


def _reads_people(relation: Relation) -> bool:
    return relation.private if isinstance(relation, Scan) else any(map(_reads_people, inputs(relation)))


def reads_released(relation: Relation) -> bool:
    """Whether rows of an earlier question of the statement are among what is read."""
    return isinstance(relation, Listed | AwaitedRows) or any(map(reads_released, inputs(relation)))


def _tables(relation: Relation) -> Iterator[str]:
    """The tables a path leads through, in its order."""
    match relation:
        case Scan():
            yield relation.table
        case Join():
            yield from _tables(relation.left)
            yield from _tables(relation.right)
        case Group():
            yield from _tables(relation.input)
        case _:
            return


def _scan(scan: Scan, bounded: Bounded) -> str:
    query = bounded.query
    table = query.catalog.policy.tables[scan.table]
    if table.public:
        return f"scan {table.name}: public, nobody is in it"
    if table.unit_row:
        return f"scan {table.name}: each row is protected by itself"
    return f"scan {table.name}: {query.catalog.policy.person.name} = {way_to_person(table)}; {_limits(table, bounded)}"


def way_to_person(table: TablePolicy) -> str:
    """`patient_id`, or the path to it."""
    steps = [f"{'+'.join(step.columns)} -> {step.table}.{'+'.join(step.to_columns)}" for step in table.path]
    return " -> ".join([*steps, "+".join(table.person)])


def _limits(table: TablePolicy, bounded: Bounded) -> str:
    person = unit_name(bounded.query)
    if bounded.one_row_each:
        once = enforced_once(table, bounded.query.catalog)
        return f"one row per {person}, enforced by the engine" if once else "all rows are read"
    if table.unique:
        return f"one row per {person} counts"
    declared = [
        ("rows_per_person", table.rows_per_person),
        ("rows_per_group", table.rows_per_group),
        ("groups_per_person", table.groups_per_person),
    ]
    return ", ".join(f"{name} = {amount(limit)}" for name, limit in declared if limit is not None)
