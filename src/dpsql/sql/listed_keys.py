"""KEYS (…): the groups the analyst lists. The same as WHERE x IN (…) before GROUP BY x, said once.

All listed groups appear, empty ones too; rows of other groups are dropped before anything is counted. So the list is
public: it is part of the text, and nothing is found by looking at rows.
"""

from __future__ import annotations

from dataclasses import replace

from dpsql.errors import BadType, NotSupported
from dpsql.sql.expressions import condition
from dpsql.sql.items import expanded, has_aggregate, meant
from dpsql.sql.notes import Notes, Role
from dpsql.sql.scans import Source
from dpsql.sql.subqueries import filtered
from dpsql.sql.syntax import Call, Literal, Said, Select


def with_listed_keys(source: Source, query: Select, listed: Said[tuple[Literal, ...]] | None, notes: Notes) -> Source:
    """The rows whose group is listed; every row where nothing is."""
    if listed is None:
        return source
    if len(query.group_by) != 1:
        raise NotSupported(
            "KEYS after several columns of GROUP BY is not available",
            why="it lists the groups of one column, and these are combinations",
            fix="say it in WHERE, column by column: WHERE x IN ('a', 'b') AND y IN (1, 2) GROUP BY x, y",
            at=listed.at,
        )
    key = meant(query.group_by[0], tuple(expanded(query.items, source.scope)), source.scope)
    if has_aggregate(key):
        raise BadType(
            "KEYS lists groups, and this is an aggregate",
            why="aggregates are taken inside groups",
            fix="group by a column",
            at=listed.at,
        )
    one_of = Call(function="in", arguments=(key, *listed.value), at=listed.at)
    scalar = condition(one_of, source.scope, notes)
    notes.use(Role.FILTER, scalar, listed.at)
    notes.multiplied = True
    return replace(source, relation=filtered(source.relation, scalar, notes))
