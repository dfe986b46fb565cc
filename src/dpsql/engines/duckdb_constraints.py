"""The constraints and comments in a DuckDB's catalogue. No row and no statistic is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from dpsql.catalog.constraints import Check, Constraints, ForeignKey
from dpsql.engines.duckdb_schema import Ask, dotted_name

# The columns are named one by one: duckdb_tables() also knows how many rows there are.
_TABLES: Final = """
SELECT schema_name, table_name, comment, false FROM system.main.duckdb_tables()
WHERE NOT internal AND database_name = current_database() UNION ALL
SELECT schema_name, view_name, comment, true FROM system.main.duckdb_views()
WHERE NOT internal AND database_name = current_database() ORDER BY 1, 2"""
_COLUMNS: Final = """
SELECT schema_name, table_name, column_name, data_type, comment FROM system.main.duckdb_columns()
WHERE NOT internal AND database_name = current_database() ORDER BY schema_name, table_name, column_index"""
_CONSTRAINTS: Final = """
SELECT schema_name, table_name, constraint_type, constraint_column_names, expression, referenced_table,
referenced_column_names FROM system.main.duckdb_constraints()
WHERE database_name = current_database() ORDER BY schema_name, table_name, constraint_index"""
_LISTED: Final = re.compile(r"'((?:[^']|'')*)'")

Row: TypeAlias = tuple[Any, ...]


def read_constraints(ask: Ask) -> dict[str, Constraints]:
    """By the name of each table and view, as `read_schema` names it."""
    columns, constraints = _by_table(ask(_COLUMNS)), _by_table(ask(_CONSTRAINTS))
    return {
        dotted_name(schema, table): _of_table(
            schema,
            comment,
            view=view,
            columns=columns.get((schema, table), []),
            constraints=constraints.get((schema, table), []),
        )
        for schema, table, comment, view in ask(_TABLES)
    }


def _by_table(rows: list[Row]) -> Mapping[tuple[str, str], list[Row]]:
    found: dict[tuple[str, str], list[Row]] = {}
    for schema, table, *rest in rows:
        found.setdefault((schema, table), []).append(tuple(rest))
    return found


def _of_table(
    schema: str, comment: str | None, *, view: bool, columns: list[Row], constraints: list[Row]
) -> Constraints:
    keys = [tuple(names) for kind, names, *_ in constraints if kind == "PRIMARY KEY"]
    return Constraints(
        primary_key=keys[0] if keys else (),
        foreign_keys=tuple(
            ForeignKey(columns=tuple(names), table=dotted_name(schema, table), to_columns=tuple(to))
            for kind, names, _, table, to in constraints
            if kind == "FOREIGN KEY"
        ),
        checks=tuple(
            Check(columns=tuple(dict.fromkeys(names)), text=text)
            for kind, names, text, *_ in constraints
            if kind == "CHECK"
        ),
        choices={name: _choices(kind) for name, kind, _ in columns if kind.startswith("ENUM(")},
        comment=comment or "",
        comments={name: said for name, _, said in columns if said},
        view=view,
    )


def _choices(engine_type: str) -> tuple[str, ...]:
    return tuple(value.replace("''", "'") for value in _LISTED.findall(engine_type))
