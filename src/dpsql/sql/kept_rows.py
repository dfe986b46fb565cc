"""Public rows that an outer join keeps without anybody: they are groups, and a noisy 0 stands in those of nobody.

The query is answered by its inner join, whose rows all have an owner, with the kept rows as the list of groups. That is
what it asks wherever a row without anybody adds nothing to any aggregate; everything else is refused here.
"""

from __future__ import annotations

from dpsql.errors import NotSupported
from dpsql.sql import functions
from dpsql.sql.missing import never_true, when_missing, where_conditions
from dpsql.sql.outputs import Aggregate
from dpsql.sql.resolve import Resolved
from dpsql.sql.scalars import columns_of
from dpsql.sql.scans import Kept


def public_rows_only_as_groups(query: Resolved) -> None:
    """Public rows that are kept without anybody: grouped by, and not counted."""
    if query.kept is None:
        return
    missing = query.kept.missing
    for key in query.keys:
        if columns_of(key.expression) & missing:
            raise NotSupported(
                f"GROUP BY {key.text} is not a group of the public rows that the outer join keeps",
                why="it has no value where nobody is, and whether that group is there would tell about people",
                fix="group by columns of the public table, or use JOIN, which needs no row without anybody",
                at=key.at,
            )
    for condition in where_conditions(query.relation):
        if columns_of(condition) & missing and not never_true(condition, missing):
            raise NotSupported(
                "WHERE keeps public rows that nobody is in",
                why="such a row has no owner, and which of them are left would tell about people",
                fix="say which rows of people count in ON, or leave the condition out",
                at=query.kept.at,
            )
    for aggregate in query.aggregates:
        if not _of_people(aggregate, missing):
            raise _counts_nobody(aggregate, query, query.kept)


def _of_people(aggregate: Aggregate, missing: frozenset[int]) -> bool:
    """Rows that nobody is in add nothing to it."""
    if aggregate.filter is not None and never_true(aggregate.filter, missing):
        return True
    values = [when_missing(part, missing) for each in aggregate.arguments for part in functions.parts_of(each)]
    if aggregate.distinct and len(values) > 1:
        return False
    nothing = any(value is not None and value.value is None for value in values)
    return nothing or (aggregate.function == "sum" and any(value is not None and value.value == 0 for value in values))


def _counts_nobody(aggregate: Aggregate, query: Resolved, kept: Kept) -> NotSupported:
    name = aggregate.text or aggregate.function.upper()
    column = kept.counted
    rewrite = None
    if column is not None and aggregate.function == "count" and not aggregate.distinct and aggregate.filter is None:
        rewrite = query.text
        for begin, end in sorted(aggregate.places, reverse=True):
            rewrite = f"{rewrite[:begin]}COUNT({column}){rewrite[end:]}"
    return NotSupported(
        f"{name} also counts public rows that nobody is in",
        why="the outer join keeps them, and they have no owner: their number would tell where nobody is",
        fix=f"count a column of the rows of people, as in COUNT({column or 'column'})",
        try_sql=rewrite,
        at=aggregate.at,
    )
