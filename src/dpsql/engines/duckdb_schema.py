"""What a DuckDB's catalogue says: names, types, constraints. No row and no statistic is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import duckdb

from dpsql.catalog.model import EngineColumn, EngineTable
from dpsql.catalog.names import folded
from dpsql.catalog.spelling import quoted
from dpsql.catalog.types import SqlType

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
_VIEWS: Final = """
SELECT schema_name, view_name, sql FROM system.main.duckdb_views()
WHERE NOT internal AND database_name = current_database() ORDER BY schema_name, view_name"""
_BARE: Final = re.compile(r"\w+")
_WORD: Final = re.compile(r'"(?P<quoted>(?:[^"]|"")+)"|(?P<bare>\w+)')
_PROBE: Final = "dpsql_collations"
_PROBED: Final = f"SELECT sql FROM system.main.duckdb_tables() WHERE temporary AND table_name = '{_PROBE}'"
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


def read_schema(ask: Ask) -> dict[str, EngineTable]:
    """Every table and view of the current database by its name; `schema.name` outside the schema `main`.

    Left out: what cannot be bound by that name (a view on a file, a schema called like the database), tables with a
    point in their name, which would read like `schema.name`, and columns with a collation: they compare texts by other
    rules than their bytes.
    """
    unique: dict[tuple[str, str], list[tuple[str, ...]]] = {}
    for schema, table, columns in ask(_UNIQUE):
        unique.setdefault((schema, table), []).append(tuple(columns))
    found = {}
    for (schema, table), rows in groupby(ask(_COLUMNS), key=lambda row: row[:2]):
        columns = [row[2:] for row in rows]
        name = table if schema == "main" else f"{schema}.{table}"
        collated = _collated(ask, name, [column for column, type_, _ in columns if type_ == "VARCHAR"])
        if collated is None or "." in schema or "." in table:
            continue
        kept = tuple(_column(*column) for column in columns if column[0] not in collated)
        sets = tuple(names for names in unique.get((schema, table), ()) if not collated.intersection(names))
        found[name] = EngineTable(name=name, columns=kept, unique=sets)
    return found


def read_views(ask: Ask) -> dict[str, frozenset[str]]:
    """Every view of the current database by its name, with all words of its definition, those in quotes and in texts
    too: whatever it reads is named by one of them."""
    return {
        name if schema == "main" else f"{schema}.{name}": frozenset(_words(definition))
        for schema, name, definition in ask(_VIEWS)
    }


def _words(definition: str) -> Iterator[str]:
    for match in _WORD.finditer(definition):
        yield folded(match["quoted"].replace('""', '"') if match["quoted"] else match["bare"])
    yield from (folded(word) for word in _BARE.findall(definition))


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


def _collated(ask: Ask, table: str, names: Sequence[str]) -> frozenset[str] | None:
    """The text columns with a collation; None if the table cannot be bound by its name.

    The catalogue does not list collations, least of all those of views. An empty table with the same columns tells:
    its definition is printed by DuckDB, with names chosen here.
    """
    wanted = ", ".join(f"{quoted(name)} AS c{number}" for number, name in enumerate(names)) or "1 AS c"
    place = ".".join(map(quoted, table.split(".")))
    try:
        ask(f"CREATE TEMP TABLE {_PROBE} AS SELECT {wanted} FROM {place} WITH NO DATA")
        ((definition,),) = ask(_PROBED)
        ask(f"DROP TABLE temp.{_PROBE}")
    except duckdb.InterruptException:
        raise
    except duckdb.Error:  # a view on what is not there any more: this table cannot be read; the others can
        return None
    return frozenset(names[int(number)] for number in _COLLATED.findall(definition))
