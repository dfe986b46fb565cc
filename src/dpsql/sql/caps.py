"""How many rows and groups of one person count: what the policy says, what the relation leaves, what is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from dpsql.catalog.model import Catalog, TablePolicy
from dpsql.catalog.names import folded
from dpsql.errors import Unbounded
from dpsql.sql.numbered import rows_left
from dpsql.sql.relations import Exists, Filter, Group, Project, Relation, Scan, Window, inputs
from dpsql.sql.resolve import Resolved


def one_row_each(query: Resolved) -> bool:
    """A unit is a row, or one row of each person is left, or the engine enforces that no person has two."""
    if all(table.unit_row for table in _private(query)):
        return True  # each finds one public partner at most: `check` refuses any other join
    if query.owner and rows_left(query.relation, query.owner) in (0, 1):
        return True
    relation: Relation = query.relation
    while isinstance(relation, Filter | Project | Exists | Window):
        relation = relation.input
    if isinstance(relation, Group):  # one row per person, by construction
        return frozenset(relation.by) == frozenset(query.owner)
    return isinstance(relation, Scan) and enforced_once(query.catalog.policy.tables[relation.table], query.catalog)


def enforced_once(table: TablePolicy, catalog: Catalog) -> bool:
    """The engine keeps anybody from having two rows in the table."""
    unique = {frozenset(map(folded, key)) for key in catalog.schema[table.name].unique}
    return not table.path and frozenset(table.person) in unique


def one_row_declared(query: Resolved) -> bool:
    """The owner says that no person has two rows in the one table, and nothing multiplies them on the way."""
    relation: Relation = query.relation
    while isinstance(relation, Filter | Project):
        relation = relation.input
    return isinstance(relation, Scan) and query.catalog.policy.tables[relation.table].unique


def row_cap(query: Resolved, left: int | None, *, at_most: int | None) -> int:
    """What the policy says; no more than `left`, where so many rows are left of one person, or than is asked for."""
    cap = _largest(query, lambda table: table.rows_that_count(grouped=bool(query.keys)), left, "rows_per_person")
    return cap if at_most is None else min(cap, at_most)


def group_cap(query: Resolved, left: int | None, *, at_most: int | None) -> int:
    """The same for groups."""
    cap = _largest(query, lambda table: 1 if table.unique else table.groups_per_person, left, "groups_per_person")
    return cap if at_most is None else min(cap, at_most)


def _largest(query: Resolved, declared: Callable[[TablePolicy], int | None], left: int | None, name: str) -> int:
    named = (query.catalog.policy.tables[name] for name in _read_row_by_row(query.relation, len(query.owner)))
    tables = [table for table in named if not enforced_once(table, query.catalog)]
    if left is not None and None in map(declared, tables):
        return left
    caps = [_declared(table, declared(table), name) for table in tables]
    return max(caps, default=1) if left is None else min(max(caps, default=1), left)


def _read_row_by_row(relation: Relation, parts: int) -> Iterator[str]:
    """The tables of which a person may have several rows here. A side that is grouped by the person alone has one.

    `parts` is of how many columns a person is; every group of people's rows has them all.
    """
    match relation:
        case Scan():
            if relation.private:
                yield relation.table
        case Group(totals=()):
            return  # the way to the person, along the path of a table
        case Group(by=by) if len(by) == parts:
            return
        case Exists():
            yield from _read_row_by_row(relation.input, parts)
        case _:
            for below in inputs(relation):
                yield from _read_row_by_row(below, parts)


def _private(query: Resolved) -> list[TablePolicy]:
    return [query.catalog.policy.tables[name] for name in query.private_tables]


def _declared(table: TablePolicy, value: int | None, name: str) -> int:
    if value is None:
        raise Unbounded(
            f"{table.name} does not say {name}",
            why=f"without a limit one person could {_REACH[name]}, and no finite noise would hide them",
            fix=f"the owner declares {name} for {table.name}; counts are capped there, sums are clamped. "
            "Where each person has one row at most, unique = true says so",
        )
    return value


_REACH: Final = {"rows_per_person": "have any number of rows", "groups_per_person": "be in any number of groups"}
