"""How files and data frames become tables of a DuckDB. Types come from declarations, never from values."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import duckdb

from dpsql.catalog.column_types import WHOLE_DOUBLES, ColumnDeclarations, Decided, Origin, SourceColumn, decided_types
from dpsql.catalog.names import folded
from dpsql.catalog.spelling import ENGINE_TYPES, literal, quoted
from dpsql.catalog.types import NUMERIC, TEMPORAL, SqlType
from dpsql.engines.duckdb_schema import sql_type
from dpsql.engines.hardening import LOADER, quiet
from dpsql.engines.pandas_columns import (
    declared_columns,
    dtype_column,
    frame_dtypes,
    metadata_dtypes,
    prepared_frame,
    unnamed_dtype,
)
from dpsql.errors import NoSource

# The total cast to a declared type: a function of one value, and the same whatever type a library gave the column.


_TEXT: Final = ENGINE_TYPES[SqlType.TEXT]


def total_cast(field: str, engine_type: str, target: SqlType, *, by_rows: bool, is_person: bool) -> str:
    """The expression that reads `field`, a column of DuckDB's `engine_type`, as `target`; NULL where it does not fit.

    `by_rows`: the library has chosen the type by looking at values, so that integers may come as doubles. They are then
    read as doubles hold them: one missing value must not move the others. A person is never rounded to another one.
    Elsewhere fractions are rounded to whole numbers, halves away from 0: DuckDB does so with texts and decimals, and
    would round the half of a double to the even number.
    """
    kind, goal = sql_type(engine_type), ENGINE_TYPES[target]
    if kind is target is SqlType.BOOLEAN or (kind in TEMPORAL and target in TEMPORAL):
        return f"TRY_CAST({field} AS {goal})"
    written = field if kind in NUMERIC or engine_type == _TEXT else f"CAST({_moment(field, kind)} AS {_TEXT})"
    number = f"TRY_CAST({written} AS DOUBLE)"
    if kind is SqlType.BOOLEAN or (by_rows and kind not in NUMERIC):
        number = f"CASE {written} WHEN 'true' THEN 1.0::DOUBLE WHEN 'false' THEN 0.0::DOUBLE ELSE {number} END"
    if target is SqlType.DOUBLE:
        return number
    as_double = by_rows or kind is SqlType.DOUBLE or kind is SqlType.BOOLEAN
    safe = f"abs({number}) < {WHOLE_DOUBLES}"
    if target is SqlType.INTEGER:
        whole = f"TRY_CAST({f'round({number})' if as_double else written} AS {goal})"
        held = [safe] * as_double + [f"{number} = CAST({whole} AS DOUBLE)"] * is_person
        return f"CASE WHEN {' AND '.join(held)} THEN {whole} END" if held else whole
    if as_double and kind in NUMERIC:  # 8001 and 8001.0 are one text
        whole = f"WHEN {safe} AND {number} = trunc({number}) THEN CAST(CAST({number} AS BIGINT) AS {_TEXT})"
        written = f"CASE {whole} WHEN {safe} THEN CAST({number} AS {_TEXT}) END"
    elif kind in NUMERIC:
        written = f"CAST({field} AS {_TEXT})"
    return written if target is SqlType.TEXT else f"TRY_CAST({written} AS {goal})"


def read_as_is(field: str, engine_type: str) -> str:
    """The expression that reads a column whose type its schema declares."""
    if engine_type.startswith("ENUM("):  # a category's type lists the values met in the data
        return f"CAST({field} AS {_TEXT})"
    # Seconds reach farther than the microseconds of every statement that compares them, which would then fail.
    return f"TRY_CAST({field} AS TIMESTAMP)" if engine_type in ("TIMESTAMP_S", "TIMESTAMP_MS") else field


def _moment(field: str, kind: SqlType | None) -> str:
    """A time that can be written: DuckDB does not survive the writing of one that is too far away."""
    if kind is not SqlType.TIMESTAMP:
        return field
    held = f"TRY_CAST({field} AS TIMESTAMP)"
    return f"CASE WHEN {held} >= {_FIRST} THEN {held} END"


_FIRST: Final = "TIMESTAMP '290309-12-22 (BC) 00:00:00'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Data that DuckDB can copy from."""

    rows: object
    """What DuckDB reads. Of a pandas frame, the columns whose dtype counts, for their types alone."""
    dtypes: Mapping[str, str] = field(default_factory=dict)
    """Of pandas, also where an Arrow schema or a Parquet file was made from it: the dtype of each column."""
    is_pandas: bool = False
    """An Arrow schema with metadata of pandas. A column that they do not name, renamed or appended since, is pandas'
    all the same."""
    is_text: bool = False
    """Every field is text, as in CSV."""
    has_decimals: bool = True
    """Decimals are declared. Those of Arrow and polars have the digits of the values they were made from."""
    frame: Any = None
    """The pandas frame itself, prepared once its types are decided."""

    def column(self, name: str, engine_type: str | None) -> SourceColumn:
        """What the source says about a column; `engine_type` is DuckDB's, None where it is not known yet."""
        kind = None if engine_type is None else sql_type(engine_type)
        if self.is_text:
            return SourceColumn(name=name, origin=Origin.TEXT, type=SqlType.TEXT)
        dtype = self.dtypes.get(name)
        if dtype is None and self.is_pandas and engine_type is not None:
            dtype = unnamed_dtype(engine_type)
        guessed = None if dtype is None else dtype_column(name, dtype, kind)
        if guessed is not None:
            return guessed
        if not self.has_decimals and _DECIMAL.fullmatch(engine_type or ""):
            return SourceColumn(name=name, origin=Origin.ROWS, type=None)
        if engine_type == _NO_TYPE:
            return SourceColumn(name=name, origin=Origin.ROWS, type=None, suggested=SqlType.TEXT)
        return SourceColumn(name=name, origin=Origin.SCHEMA, type=kind)


_DECIMAL: Final = re.compile(r"DECIMAL\(\d+,\d+\)")
_NO_TYPE: Final = '"NULL"'
"""DuckDB's type of a column without any value."""
_STAGE: Final = "dpsql_source"


def unreadable(what: str, *, fix: str) -> NoSource:
    """A source that is refused before any question is asked of it."""
    return NoSource(
        what, why="dpsql answers from tables whose names and types are known without looking at rows", fix=fix
    )


def _exact_path(path: Path) -> str:
    """A path of which no character stands for others."""
    return literal("".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path)))


def file_scan(path: Path, declared: ColumnDeclarations) -> str:
    """The statement that reads a Parquet or CSV file."""
    scan = _FILES.get(path.suffix.lower())
    if scan is None:
        raise unreadable(
            f"{path.name} is no kind of file that can be added",
            fix=f"add a file ending in {', '.join(_FILES)}; a DuckDB database is the url of a policy",
        )
    if not path.is_file():
        raise unreadable(f"there is no file {path}", fix="check the path")
    return scan(path, declared)


def _parquet_scan(path: Path, declared: ColumnDeclarations) -> str:
    # A folder called year=2020 would otherwise add a column.
    return f"SELECT * FROM read_parquet({_exact_path(path)}, hive_partitioning = false)"


def _csv_scan(path: Path, declared: ColumnDeclarations) -> str:
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


def _json_scan(path: Path, declared: ColumnDeclarations) -> str:
    """Every field is text here too. The names come from the declaration: those in the file stand in its rows. Each line
    is one row whatever it holds: with `ignore_errors`, one that is no object is a row of NULLs."""
    if declared.named is None:
        raise unreadable(
            "JSON lines have no list of columns",
            fix='name the columns, for example columns=["age", "city"]; rows may have others, which are not read',
        )
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in declared.named)
    return (
        f"SELECT * FROM read_json({_exact_path(path)}, format = 'newline_delimited', auto_detect = false, "
        f"records = true, ignore_errors = true, columns = {{{columns}}})"
    )


_FILES: Final[Mapping[str, Callable[[Path, ColumnDeclarations], str]]] = MappingProxyType(
    {".parquet": _parquet_scan, ".csv": _csv_scan, ".jsonl": _json_scan, ".ndjson": _json_scan}
)


def _file_source(path: Path, loader: duckdb.DuckDBPyConnection, declared: ColumnDeclarations) -> Source:
    relation = loader.sql(file_scan(path, declared))
    if path.suffix.lower() != ".parquet":
        return Source(rows=relation.__arrow_c_stream__(), is_text=True)
    written = loader.cursor().execute(f"SELECT key, value FROM parquet_kv_metadata({_exact_path(path)})").fetchall()
    metadata = {bytes(key): bytes(value) for key, value in written}
    return Source(
        rows=relation.__arrow_c_stream__(),
        dtypes=metadata_dtypes(metadata.get(b"pandas")),
        is_pandas=b"pandas" in metadata,
        has_decimals=b"ARROW:schema" not in metadata,  # written through Arrow
    )


_LIBRARIES: Final = frozenset({"polars", "pyarrow", "duckdb", "_duckdb"})
"""Their schemas are declarations. Others that stream Arrow may have chosen types by looking at rows, as a Series of
pandas does."""


def _frame_source(source: object) -> Source:
    """A data frame as something DuckDB reads without looking at values to guess a type."""
    kinds = {f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(source).__mro__}
    if "pandas.DataFrame" in kinds:
        return _pandas_source(source)
    library = type(source).__module__.partition(".")[0]
    frame: Any = source
    dtypes: dict[str, str] = {}
    if library == "polars" and hasattr(source, "collect_schema"):
        frame, dtypes = _polars(source)
    schema: Any = getattr(frame, "schema", None)
    if library in ("polars", "pyarrow") and schema is not None:
        require_names(list(schema if library == "polars" else schema.names))
    metadata = getattr(schema, "metadata", None) or {}
    if library not in _LIBRARIES or not hasattr(frame, "__arrow_c_stream__"):
        raise unreadable(
            f"a {type(source).__name__} is not a table",
            fix="add a pandas, polars or Arrow table, a DuckDB relation, or the path of a Parquet, CSV or JSON lines"
            " file",
        )
    return Source(
        # The stream itself, so that an object which can be read once is asked once.
        rows=frame.__arrow_c_stream__(),
        dtypes=dtypes or metadata_dtypes(metadata.get(b"pandas")),
        is_pandas=b"pandas" in metadata,
        has_decimals=isinstance(source, duckdb.DuckDBPyRelation),
    )


def _pandas_source(frame: Any) -> Source:
    require_names(list(frame.columns))
    return Source(rows=declared_columns(frame), dtypes=frame_dtypes(frame), has_decimals=False, frame=frame)


def _polars(frame: Any) -> tuple[Any, dict[str, str]]:
    """A frame, collected, and its columns without any value: DuckDB reads them as text, and their type is open."""
    collected = frame.collect() if type(frame).__name__ == "LazyFrame" else frame
    untyped = [name for name, dtype in collected.schema.items() if str(dtype) == "Null"]
    return collected.with_columns([collected[name].cast(str) for name in untyped]), dict.fromkeys(untyped, "object")


def require_names(names: Sequence[object]) -> None:
    """Names of columns: at least one, all of them text, and different also without regard to case."""
    texts = [name for name in names if isinstance(name, str) and name]
    if not names or len({name.lower() for name in texts}) != len(names):
        raise unreadable(
            "the columns have no names, or two of them have the same",
            fix="give every column a name of its own; capital letters make no difference",
        )


@contextmanager
def opened_source(name: str, source: object, declared: ColumnDeclarations) -> Iterator[Source]:
    """Something DuckDB can copy from. Files are read by a database of their own, which no question ever reaches."""
    if isinstance(source, str | os.PathLike):
        with duckdb.connect(":memory:", config=dict(LOADER)) as loader:
            yield _file_source(Path(source), quiet(loader), declared)
    elif isinstance(source, duckdb.DuckDBPyConnection):
        yield Source(rows=source.table(name).__arrow_c_stream__())
    else:
        yield _frame_source(source)


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
    cursor: duckdb.DuckDBPyConnection,
    name: str,
    source: Source,
    declared: ColumnDeclarations,
    *,
    key: tuple[str, ...] = (),
) -> dict[str, Decided]:
    """One table, wholly or not at all; the types that were decided, by column. The primary key of the source is kept,
    unless a column of it is cast."""
    table = f"memory.main.{quoted(name)}"
    try:
        cursor.execute("BEGIN TRANSACTION")
        given = _engine_types(cursor, source.rows)
        names = list(given) if source.frame is None else list(source.frame.columns)
        require_names(names)
        columns = [source.column(each, given.get(each)) for each in names]
        decided = decided_types(name, columns, declared)
        if source.frame is not None:
            given = _engine_types(cursor, prepared_frame(source.frame, decided))
        read = [
            f"{_read(column, given[column.name], decided[column.name], declared)} AS {quoted(column.name)}"
            for column in columns
            if column.name in decided
        ]
        cursor.execute(f"CREATE TABLE {table} AS SELECT {', '.join(read)} FROM {_STAGE}")
        if key and not any(decided[column].is_cast for column in key):
            cursor.execute(f"ALTER TABLE {table} ADD PRIMARY KEY ({', '.join(map(quoted, key))})")
        cursor.execute("COMMIT")
    except BaseException:
        with suppress(duckdb.Error):
            cursor.execute("ROLLBACK")
        raise
    finally:
        cursor.unregister(_STAGE)
    return decided


def _engine_types(cursor: duckdb.DuckDBPyConnection, rows: Any) -> dict[str, str]:
    """Put rows where they can be copied from, and tell their types. No row is read."""
    if hasattr(rows, "columns") and not len(rows.columns):
        return {}
    cursor.register(_STAGE, rows)
    relation = cursor.sql(f"FROM {_STAGE}")
    return dict(zip(relation.columns, map(str, relation.types), strict=True))


def _read(column: SourceColumn, engine_type: str, decided: Decided, declared: ColumnDeclarations) -> str:
    """How one column is read from the source."""
    place = quoted(column.name)
    if decided.is_cast and decided.type is not None:
        is_person = folded(column.name) in declared.persons
        by_rows = column.origin is Origin.ROWS
        return total_cast(place, engine_type, decided.type, by_rows=by_rows, is_person=is_person)
    return read_as_is(place, engine_type)
