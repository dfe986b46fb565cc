"""What a DuckDB's catalogue says: names, types, constraints and comments. No row and no statistic is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import duckdb

from dpsql.catalog.model import EngineColumn, EngineTable
from dpsql.catalog.spelling import quoted
from dpsql.catalog.types import SqlType
from dpsql.engines.engine import Check, Constraints, ForeignKey

Ask: TypeAlias = Callable[[str], list[tuple[Any, ...]]]
"""Runs one statement and gives its rows."""

INTEGERS: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {
        "TINYINT": (-(2**7), 2**7 - 1),
        "SMALLINT": (-(2**15), 2**15 - 1),
        "INTEGER": (-(2**31), 2**31 - 1),
        "BIGINT": (-(2**63), 2**63 - 1),
        "UTINYINT": (0, 2**8 - 1),
        "USMALLINT": (0, 2**16 - 1),
        "UINTEGER": (0, 2**32 - 1),
    }
)
"""Integer types that fit 64 bits with a sign, and what they can hold."""

WIDE: Final = frozenset({"UBIGINT", "HUGEINT", "UHUGEINT"})
"""Integer types that do not: read where they fit."""
_WHOLE_DIGITS: Final = 18
"""A number of so many digits fits 64 bits."""

TYPES: Final[Mapping[str, SqlType]] = MappingProxyType(
    {
        **dict.fromkeys((*INTEGERS, *WIDE), SqlType.INTEGER),
        **dict.fromkeys(("DECIMAL", "FLOAT", "DOUBLE"), SqlType.DOUBLE),
        **dict.fromkeys(("VARCHAR", "ENUM", "UUID"), SqlType.TEXT),
        **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), SqlType.TIMESTAMP),
        "BOOLEAN": SqlType.BOOLEAN,
        "DATE": SqlType.DATE,
    }
)
"""The engine's types that are read. A type that is not here is not read. Decimals without a fraction are integers."""

_PARTS: Final = "read each part that matters through a view, as a column of its own"
_INSTEAD: Final[Mapping[str, str]] = MappingProxyType(
    {
        "TIMESTAMP WITH TIME ZONE": "read it through a view: timezone('UTC', x), a timestamp in UTC",
        "TIME": "read it through a view: date_part('hour', x), or epoch(x) in seconds",
        "TIME WITH TIME ZONE": "read it through a view: date_part('hour', x)",
        "TIME_NS": "read it through a view: date_part('hour', x)",
        "INTERVAL": "read it through a view: epoch(x), a number of seconds",
        "BLOB": "read it through a view: hex(x), a text",
        "BIT": "read it through a view: CAST(x AS VARCHAR)",
        "JSON": _PARTS,
        "STRUCT": _PARTS,
        "MAP": _PARTS,
        "UNION": _PARTS,
        "BIGNUM": "read it through a view that casts it to BIGINT, DOUBLE or VARCHAR",
    }
)
"""By the name of a type that is not read: how its values can be read all the same."""
_DECIMAL: Final = re.compile(r"DECIMAL\((\d+),(\d+)\)")

# The functions are called by their full names: a database may hold macros of the same name.
_COLUMNS: Final = """
SELECT schema_name, table_name, column_name, data_type, is_nullable FROM system.main.duckdb_columns()
WHERE NOT internal AND database_name = current_database() ORDER BY schema_name, table_name, column_index"""
_UNIQUE: Final = """
SELECT schema_name, table_name, constraint_column_names FROM system.main.duckdb_constraints()
WHERE database_name = current_database() AND constraint_type IN ('PRIMARY KEY', 'UNIQUE')
ORDER BY schema_name, table_name, constraint_index"""
_REDEFINED: Final = """
SELECT DISTINCT own.function_name FROM system.main.duckdb_functions() AS own
SEMI JOIN (SELECT function_name FROM system.main.duckdb_functions() WHERE internal) AS built_in
ON lower(own.function_name) = lower(built_in.function_name) WHERE NOT own.internal ORDER BY 1"""
_PROBE: Final = "dpsql_collations"
_PROBED: Final = f"""
SELECT table_name, sql FROM system.main.duckdb_tables() WHERE temporary AND starts_with(table_name, '{_PROBE}')"""
_PLAIN: Final = """
SELECT table_name FROM system.main.duckdb_tables()
WHERE database_name = current_database() AND schema_name = 'main' AND NOT contains(lower(sql), 'collate')"""
_COLLATED: Final = re.compile(r'\bc(\d+) VARCHAR COLLATE (?!"?binary"?[,)])')


def sql_type(engine_type: str) -> SqlType | None:
    """What a type of DuckDB is read as; None: not at all."""
    if (_decimal(engine_type) or (0, None))[1] == 0:
        return SqlType.INTEGER
    name, parenthesis, _ = engine_type.partition("(")
    # An array or a structure of a type is another type: DECIMAL(10,2)[] is no number.
    return None if parenthesis and not engine_type.endswith(")") else TYPES.get(name)


def redefined(ask: Ask) -> list[str]:
    """Built-in functions that the database replaces by macros of its own: SUM would no longer be a sum."""
    return [name for (name,) in ask(_REDEFINED)]


def is_table(ask: Ask, name: str) -> bool:
    """There is a table of this name; capital letters make no difference."""
    known = ask("SELECT table_name FROM system.main.duckdb_tables() WHERE database_name = current_database()")
    return name.lower() in {table.lower() for (table,) in known}


def dotted_name(schema: str, table: str) -> str:
    """What a table is called in a policy: `schema.name` outside the schema `main`."""
    return table if schema == "main" else f"{schema}.{table}"


def read_schema(ask: Ask) -> dict[str, EngineTable]:
    """Every table and view of the current database by its name; `schema.name` outside the schema `main`.

    Left out: what cannot be bound by that name (a view on a file, a schema called like the database), tables with a
    point in their name, which would read like `schema.name`, and columns with a collation: they compare texts by other
    rules than their bytes.
    """
    unique: dict[tuple[str, str], list[tuple[str, ...]]] = {}
    for schema, table, columns in ask(_UNIQUE):
        unique.setdefault((schema, table), []).append(tuple(columns))
    tables = {place: [row[2:] for row in rows] for place, rows in groupby(ask(_COLUMNS), key=lambda row: row[:2])}
    every_collated = _collated(ask, tables)
    found = {}
    for (schema, table), columns in tables.items():
        name = dotted_name(schema, table)
        collated = every_collated[schema, table]
        if collated is None or "." in schema or "." in table:
            continue
        kept = tuple(_column(*column) for column in columns if column[0] not in collated)
        sets = tuple(names for names in unique.get((schema, table), ()) if not collated.intersection(names))
        found[name] = EngineTable(name=name, columns=kept, unique=sets)
    return found


def _column(name: str, engine_type: str, nullable: bool) -> EngineColumn:
    low, high = INTEGERS.get(engine_type) or _digits(engine_type)
    digits, scale = _decimal(engine_type) or (0, None)
    return EngineColumn(
        name=name,
        type=sql_type(engine_type),
        engine_type=engine_type,
        low=low,
        high=high,
        wide=engine_type in WIDE or (scale == 0 and digits > _WHOLE_DIGITS),
        scale=scale or None,
        instead=_instead(engine_type),
        not_null=not nullable,
    )


def _decimal(engine_type: str) -> tuple[int, int] | None:
    """How many digits a decimal type has, and how many of them behind the point."""
    match = _DECIMAL.fullmatch(engine_type)
    return None if match is None else (int(match[1]), int(match[2]))


def _digits(engine_type: str) -> tuple[int, int] | tuple[None, None]:
    """The largest numbers of a decimal type without a fraction that fits 64 bits."""
    digits, scale = _decimal(engine_type) or (0, None)
    return (1 - 10**digits, 10**digits - 1) if scale == 0 and digits <= _WHOLE_DIGITS else (None, None)


def _instead(engine_type: str) -> str:
    if sql_type(engine_type) is not None:
        return ""
    return _PARTS if engine_type.endswith("]") else _INSTEAD.get(engine_type.partition("(")[0], "")


def _collated(
    ask: Ask, tables: Mapping[tuple[str, str], Sequence[tuple[Any, ...]]]
) -> dict[tuple[str, str], frozenset[str] | None]:
    """The text columns of each table with a collation; None if the table cannot be bound by its name.

    The catalogue does not list collations, least of all those of views. A table whose definition does not contain the
    word has none. For any other, an empty table with the same columns tells: its definition is printed by DuckDB, with
    names chosen here. All of them are read at once, because listing tables takes time for each table that exists.
    """
    plain = {("main", table) for (table,) in ask(_PLAIN)}
    found: dict[tuple[str, str], frozenset[str] | None] = dict.fromkeys(tables, frozenset())
    probes: dict[str, tuple[tuple[str, str], list[str]]] = {}
    for number, (place, columns) in enumerate(tables.items()):
        if place in plain:
            continue
        texts = [name for name, engine_type, _ in columns if engine_type == "VARCHAR"]
        try:
            ask(f"CREATE TEMP TABLE {_PROBE}{number} AS {_empty(place, texts)}")
            probes[f"{_PROBE}{number}"] = place, texts
        except duckdb.InterruptException:
            raise
        except duckdb.Error:  # a view on what is not there any more: this table cannot be read; the others can
            found[place] = None
    for probe, definition in ask(_PROBED) if probes else ():
        place, texts = probes[probe]
        found[place] = frozenset(texts[int(number)] for number in _COLLATED.findall(definition))
        ask(f"DROP TABLE temp.{probe}")
    return found


def _empty(place: tuple[str, str], texts: Sequence[str]) -> str:
    """A query for these columns of a table under the names c0, c1, …, which reads no row."""
    schema, table = place
    wanted = ", ".join(f"{quoted(name)} AS c{number}" for number, name in enumerate(texts)) or "1 AS c"
    name = quoted(table) if schema == "main" else f"{quoted(schema)}.{quoted(table)}"
    return f"SELECT {wanted} FROM {name} WITH NO DATA"


# The columns are named one by one: duckdb_tables() also knows how many rows there are.
_TABLES: Final = """
SELECT schema_name, table_name, comment, false FROM system.main.duckdb_tables()
WHERE NOT internal AND database_name = current_database() UNION ALL
SELECT schema_name, view_name, comment, true FROM system.main.duckdb_views()
WHERE NOT internal AND database_name = current_database() ORDER BY 1, 2"""
_COMMENTED: Final = """
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
    columns, constraints = _by_table(ask(_COMMENTED)), _by_table(ask(_CONSTRAINTS))
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
