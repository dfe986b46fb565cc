"""What the views of a DuckDB read, from the plan that DuckDB binds for each of them. No row is read.

The bound plan has macros, other views, common table expressions, `query('…')` and `query_table('…')` expanded by DuckDB
itself, and is taken before the optimizer, which looks at statistics of rows and leaves out scans it can do without.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import duckdb

from dpsql.catalog.spelling import literal, quoted
from dpsql.catalog.views import ViewReads
from dpsql.engines.duckdb_schema import Ask, dotted_name

_VIEWS: Final = """
SELECT schema_name, view_name, current_database() FROM system.main.duckdb_views()
WHERE NOT internal AND database_name = current_database() ORDER BY schema_name, view_name"""

_CONSISTENT: Final = """
SELECT function_name FROM system.main.duckdb_functions()
WHERE internal AND function_type IN ('scalar', 'aggregate') AND NOT starts_with(function_name, 'enum_')
GROUP BY function_name HAVING bool_and(stability = 'CONSISTENT')"""
"""Functions of their arguments alone, by DuckDB's own word. The values of an ENUM may have been copied from rows."""
_OF_THE_CLOCK: Final = frozenset({"current_date", "today", "now", "get_current_time", "get_current_timestamp"})
_SCAN: Final = "seq_scan"
_ROWS_OF_ARGUMENTS: Final = frozenset({"range", "generate_series", "unnest", "repeat"})
"""Table functions whose rows come from their arguments alone."""
_OPERATORS: Final = frozenset(
    {
        "LOGICAL_AGGREGATE_AND_GROUP_BY",
        "LOGICAL_ANY_JOIN",
        "LOGICAL_ASOF_JOIN",
        "LOGICAL_COMPARISON_JOIN",
        "LOGICAL_CROSS_PRODUCT",
        "LOGICAL_CTE_REF",
        "LOGICAL_DELIM_GET",
        "LOGICAL_DELIM_JOIN",
        "LOGICAL_DEPENDENT_JOIN",
        "LOGICAL_DISTINCT",
        "LOGICAL_DUMMY_SCAN",
        "LOGICAL_EMPTY_RESULT",
        "LOGICAL_EXCEPT",
        "LOGICAL_EXPRESSION_GET",
        "LOGICAL_FILTER",
        "LOGICAL_GET",
        "LOGICAL_INTERSECT",
        "LOGICAL_JOIN",
        "LOGICAL_LIMIT",
        "LOGICAL_MATERIALIZED_CTE",
        "LOGICAL_ORDER_BY",
        "LOGICAL_PIVOT",
        "LOGICAL_POSITIONAL_JOIN",
        "LOGICAL_PROJECTION",
        "LOGICAL_RECURSIVE_CTE",
        "LOGICAL_SAMPLE",
        "LOGICAL_TOP_N",
        "LOGICAL_UNION",
        "LOGICAL_UNNEST",
        "LOGICAL_WINDOW",
    }
)
"""Operators that read their inputs alone; GET is the one that reads a table or calls a table function."""


def read_views(ask: Ask) -> dict[str, ViewReads]:
    """Every view of the current database by its name, `schema.name` outside the schema `main`, with what it reads."""
    views = ask(_VIEWS)
    functions = _OF_THE_CLOCK.union(*ask(_CONSISTENT)) if views else _OF_THE_CLOCK
    return {
        dotted_name(schema, name): _reads(ask, schema, name, database, functions) for schema, name, database in views
    }


def _reads(ask: Ask, schema: str, name: str, database: str, functions: frozenset[str]) -> ViewReads:
    place = ".".join(map(quoted, (database, schema, name)))
    try:
        ((text,),) = ask(f"SELECT system.main.json_serialize_plan({literal(f'SELECT * FROM {place}')})")
        plan = json.loads(text)
    except duckdb.InterruptException:
        raise
    except (duckdb.Error, ValueError):
        plan = {}
    nodes = list(_nodes(plan))
    operators = [node for node in nodes if str(node.get("type")).startswith("LOGICAL_")]
    if plan.get("error", True) or not operators:
        return _UNPLANNED
    try:
        calls = [node for node in nodes if "expression_class" in node and "qname" in node]
        found = _reads_of(operators, database)
        unknown = {call["qname"]["path"][-1] for call in calls if not _is_known(call, functions)}
        return replace(found, unknown=found.unknown.union(f"{function}()" for function in unknown))
    except (LookupError, TypeError, ValueError):  # a plan of another shape
        return _UNPLANNED


_UNPLANNED: Final = ViewReads(tables=frozenset(), unknown=frozenset({"something DuckDB cannot plan"}))


def _reads_of(operators: list[dict[str, Any]], database: str) -> ViewReads:
    tables, unknown = set[str](), set[str]()
    for operator in operators:
        kind = operator["type"]
        if kind not in _OPERATORS:
            unknown.add(kind.removeprefix("LOGICAL_").lower())
        elif kind == "LOGICAL_GET":
            function = operator["qname"]["path"][-1]
            if function == _SCAN:
                found, *path = operator["function_data"]["qualified_name"]["path"]
                if found == database and len(path) == 2:
                    tables.add(dotted_name(*path))
                else:
                    unknown.add(f"the database {found}")
            elif function not in _ROWS_OF_ARGUMENTS:
                unknown.add(f"{function}()")
    return ViewReads(tables=frozenset(tables), unknown=frozenset(unknown))


def _is_known(call: dict[str, Any], functions: frozenset[str]) -> bool:
    """Whether the value of a function depends on nothing but its arguments and the clock. Casts and comparisons have no
    schema; other operators are functions of it."""
    *schema, function = call["qname"]["path"]
    return (not schema and call["is_operator"] is True) or (schema == ["system", "main"] and function in functions)


def _nodes(node: Any) -> Iterator[dict[str, Any]]:
    """Every part of a plan, wherever it stands in it."""
    if isinstance(node, dict):
        yield node
        for part in node.values():
            yield from _nodes(part)
    elif isinstance(node, list):
        for part in node:
            yield from _nodes(part)
