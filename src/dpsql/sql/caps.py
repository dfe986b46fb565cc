"""How many rows and groups of one person count: what the policy says, what the relation leaves, what is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from dpsql.catalog.model import Catalog, TablePolicy
from dpsql.catalog.names import folded
from dpsql.errors import Unbounded
from dpsql.sql.relations import Exists, Filter, Group, Project, Relation, Scan, Union, Window, inputs
from dpsql.sql.resolve import Resolved
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, conjuncts


def one_row_each(query: Resolved) -> bool:
    """A unit is a row, or one row of each person is left, or the engine enforces that no person has two."""
    if all(table.unit_row for table in ([query.catalog.policy.tables[name] for name in query.private_tables])):
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
    def of_table(table: TablePolicy) -> int:
        value = declared(table)
        return left if value is None and left is not None else _declared(table, value, name)

    cap = max(1, _cap(query.relation, query, of_table))
    return cap if left is None else min(cap, left)


def _cap(relation: Relation, query: Resolved, of_table: Callable[[TablePolicy], int]) -> int:
    """The largest of the values of its tables. A side that is grouped by the person alone has one row of each;
    such parts of a union add up."""
    match relation:
        case Scan():
            table = query.catalog.policy.tables[relation.table]
            return 0 if not relation.private else 1 if enforced_once(table, query.catalog) else of_table(table)
        case Group(totals=()):
            return 0  # the way to the person, along the path of a table
        case Group(by=by) if len(by) == len(query.owner):  # groups of people's rows are by the whole person
            return 1
        case Exists():
            return _cap(relation.input, query, of_table)
        case Union():
            caps = [_cap(each, query, of_table) for each in relation.branches]
            return max(caps.count(1), *caps)
        case _:
            return max((_cap(below, query, of_table) for below in inputs(relation)), default=0)


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


_TURNED: Final = {"eq": "eq", "ge": "le", "gt": "lt"}
"""1 = n says what n = 1 says, and 3 >= n what n <= 3 says."""


def rows_left(relation: Relation, owner: tuple[int, ...]) -> int | None:
    """At most so many rows of one person; None where nothing says so."""
    found: list[int] = []
    while isinstance(relation, Filter | Project | Window):
        if isinstance(relation, Filter):
            found += _limits(relation, frozenset(owner))
        relation = relation.input
    return min(found, default=None)


def _limits(relation: Filter, owner: frozenset[int]) -> Iterator[int]:
    for part in conjuncts(relation.condition):
        match part:
            case Apply(function, (ColumnRef(id=number), Constant(value=int(value)))):
                word = function
            case Apply(function, (Constant(value=int(value)), ColumnRef(id=number))):
                word = _TURNED.get(function, "")
            case _:
                continue
        limits = {"eq": 1, "le": value, "lt": value - 1}
        if word in limits and _numbers_rows_of(relation.input, number) == owner:
            yield max(limits[word], 0)


def _numbers_rows_of(relation: Relation, number: int) -> frozenset[int] | None:
    """The partition in which this column is 1, 2, 3, …; None where it is no number of rows."""
    match relation:
        case Filter():
            return _numbers_rows_of(relation.input, number)
        case Project():
            below = dict(zip((column.id for column in relation.columns), relation.expressions, strict=True))[number]
            return _numbers_rows_of(relation.input, below.id) if isinstance(below, ColumnRef) else None
        case Window():
            calls = dict(zip((column.id for column in relation.added), relation.calls, strict=True))
            if number not in calls:
                return _numbers_rows_of(relation.input, number)
            return _columns(calls[number].partition_by) if calls[number].function == "row_number" else None
        case _:
            return None


def _columns(parts: tuple[Scalar, ...]) -> frozenset[int] | None:
    found = frozenset(part.id for part in parts if isinstance(part, ColumnRef))
    return found if len(found) == len(parts) else None
