"""How files and data frames become tables of a DuckDB. Types come from declarations, never from values."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import duckdb

from dpsql.catalog.names import folded
from dpsql.catalog.spelling import ENGINE_TYPES, literal, quoted
from dpsql.catalog.types import SqlType
from dpsql.engines.hardening import LOADER
from dpsql.errors import BadName, NoSource

Types: TypeAlias = Mapping[str, SqlType]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a declaration says about the columns of a source. Names of `texts` and `needed` are folded."""

    types: Types
    """Cast to these."""
    texts: frozenset[str]
    """Listed keys are text, so Python objects there are read as text."""
    needed: frozenset[str] | None
    """Columns that anything is said about; None: all."""


_STAGE: Final = "dpsql_source"


def unreadable(what: str, *, fix: str) -> NoSource:
    """A source that is refused before any question is asked of it."""
    return NoSource(
        what, why="dpsql answers from tables whose names and types are known without looking at rows", fix=fix
    )


def _exact_path(path: Path) -> str:
    """A path of which no character stands for others."""
    return literal("".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path)))


def file_scan(path: Path) -> str:
    """The statement that reads a Parquet or CSV file."""
    scan = _FILES.get(path.suffix.lower())
    if scan is None:
        raise unreadable(
            f"{path.name} is no kind of file that can be added",
            fix=f"add a file ending in {', '.join(_FILES)}; a DuckDB database is the url of a policy",
        )
    if not path.is_file():
        raise unreadable(f"there is no file {path}", fix="check the path")
    return scan(path)


def _parquet_scan(path: Path) -> str:
    # A folder called year=2020 would otherwise add a column.
    return f"SELECT * FROM read_parquet({_exact_path(path)}, hive_partitioning = false)"


def _csv_scan(path: Path) -> str:
    """Every field is text here; declared types are cast in the copied table. Nothing is guessed from rows.

    A cast in this statement would be wrong: DuckDB moves TRY_CAST into its CSV reader, where it is an error.
    """
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in _header(path))
    return (
        f"SELECT * FROM read_csv({_exact_path(path)}, auto_detect = false, header = true, "
        f"delim = ',', quote = '\"', escape = '\"', nullstr = '', columns = {{{columns}}})"
    )


def _header(path: Path) -> list[str]:
    """The names in the first line of a CSV file."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            names = next(csv.reader(file), [])
    except (OSError, UnicodeError, csv.Error, TypeError):
        names = []
    require_names(names)
    return names


_FILES: Final[Mapping[str, Callable[[Path], str]]] = MappingProxyType({".parquet": _parquet_scan, ".csv": _csv_scan})


def readable(source: object, said: Said) -> object:
    """A data frame as something DuckDB reads without looking at values to guess a type."""
    library = type(source).__module__.partition(".")[0]
    if library == "pandas" and type(source).__name__ == "DataFrame":
        return _pandas(source, said)
    frame: Any = _polars(source) if library == "polars" else source
    if library == "pyarrow" and hasattr(frame, "schema"):
        require_names(list(frame.schema.names))
    if not hasattr(frame, "__arrow_c_stream__"):
        raise unreadable(
            f"a {type(source).__name__} is not a table",
            fix="add a pandas, polars or Arrow table, a DuckDB relation, or the path of a Parquet or CSV file",
        )
    # The stream itself, so that an object which can be read once is asked once.
    return frame.__arrow_c_stream__()


def _pandas(frame: Any, said: Said) -> object:
    """A frame whose columns of Python objects are text: DuckDB would guess their type from a sample of values.

    The declaration decides what they are, never a value; those it does not speak of are left out.
    """
    names = list(frame.columns)
    require_names(names)
    objects = [name for name, dtype in zip(names, frame.dtypes, strict=True) if str(dtype) == "object"]
    unknown = [name for name in objects if name not in said.types and folded(name) not in said.texts]
    for name in unknown:
        if said.needed is None or folded(name) in said.needed:
            raise unreadable(
                f"column {name} holds Python objects, which have no one type",
                fix=f'say what it is: types={{"{name}": "text"}}; of dates "date", of decimal numbers "double", of '
                'whole numbers "integer". Or convert the column to a pandas type',
            )
    known = frame.drop(columns=unknown)
    plain = {name: "string" for name in objects if name not in unknown}
    plain |= {name: _of_categories(dtype) for name, dtype in known.dtypes.items() if str(dtype) == "category"}
    converted: object = known.astype(plain)
    return converted


_NULLABLE: Final[Mapping[str, str]] = {"i": "Int64", "u": "UInt64", "b": "boolean", "f": "Float64"}


def _of_categories(dtype: Any) -> Any:
    """The type of the categories, with room for NULL: DuckDB would make integers DOUBLE as soon as one is missing."""
    own = dtype.categories.dtype
    return _NULLABLE.get(own.kind, own if own.kind == "M" else "string")


def _polars(frame: Any) -> object:
    """A frame, collected; columns that hold nothing at all are text, because DuckDB cannot take them as they are."""
    if type(frame).__name__ == "LazyFrame":
        frame = frame.collect()
    if type(frame).__name__ != "DataFrame":
        return frame
    require_names(frame.columns)
    collected: object = frame.with_columns(
        [frame[name].cast(str) for name, dtype in frame.schema.items() if str(dtype) == "Null"]
    )
    return collected


def require_names(names: Sequence[object]) -> None:
    """Names of columns: at least one, all of them text, and different also without regard to case."""
    texts = [name for name in names if isinstance(name, str) and name]
    if not names or len({name.lower() for name in texts}) != len(names):
        raise unreadable(
            "the columns have no names, or two of them have the same",
            fix="give every column a name of its own; capital letters make no difference",
        )


def require_columns(types: Types, names: Sequence[str]) -> None:
    """Every declared column is there."""
    for name in types:
        if name not in names:
            raise BadName(
                f"there is no column {name}",
                why="a type was declared for it",
                fix=f"declare types for: {', '.join(names)}",
            )


@contextmanager
def opened_source(name: str, source: object, said: Said) -> Iterator[object]:
    """Something DuckDB can copy from. Files are read by a database of their own, which no question ever reaches."""
    if isinstance(source, str | os.PathLike):
        scan = file_scan(Path(source))
        with duckdb.connect(":memory:", config=dict(LOADER)) as loader:
            yield loader.sql(scan).__arrow_c_stream__()
    elif isinstance(source, duckdb.DuckDBPyConnection):
        yield source.table(name).__arrow_c_stream__()
    else:
        yield readable(source, said)


_KEY: Final = """
SELECT constraint_column_names FROM system.main.duckdb_constraints()
WHERE database_name = current_database() AND schema_name = current_schema() AND lower(table_name) = lower(?)
AND constraint_type = 'PRIMARY KEY'"""


def primary_key(source: object, name: str) -> tuple[str, ...]:
    """The columns a DuckDB keeps as the primary key of its table; nothing where it has none, or is no DuckDB."""
    if not isinstance(source, duckdb.DuckDBPyConnection):
        return ()
    found = source.cursor().execute(_KEY, [name]).fetchone()
    return () if found is None else tuple(map(str, found[0]))


def copy_table(
    cursor: duckdb.DuckDBPyConnection, name: str, rows: object, types: Types, *, key: tuple[str, ...] = ()
) -> None:
    """One table, wholly or not at all. The primary key of the source is kept, unless a column of it is cast."""
    table = f"memory.main.{quoted(name)}"
    cursor.register(_STAGE, rows)
    try:
        cursor.execute("BEGIN TRANSACTION")
        cursor.execute(f"CREATE TABLE {table} AS SELECT * FROM {_STAGE}")
        given = {str(column[0]): str(column[1]) for column in cursor.execute(f"FROM {table} LIMIT 0").description}
        require_columns(types, list(given))
        for column, engine_type in given.items():
            target = ENGINE_TYPES[types[column]] if column in types else _plain(engine_type)
            if target != engine_type:
                field = quoted(column)
                cursor.execute(f"ALTER TABLE {table} ALTER {field} TYPE {target} USING TRY_CAST({field} AS {target})")
        if key and not types.keys() & set(key):
            cursor.execute(f"ALTER TABLE {table} ADD PRIMARY KEY ({', '.join(map(quoted, key))})")
        cursor.execute("COMMIT")
    except BaseException:
        with suppress(duckdb.Error):
            cursor.execute("ROLLBACK")
        raise
    finally:
        cursor.unregister(_STAGE)


def _plain(engine_type: str) -> str:
    """A category's type lists the values met in the data, and a column without values has no type: both are text."""
    return "VARCHAR" if engine_type.startswith("ENUM(") or engine_type == '"NULL"' else engine_type
