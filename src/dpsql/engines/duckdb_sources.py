"""How files and data frames become tables of a DuckDB. Types come from declarations, never from values: which dtypes of
pandas are declarations, and the values of the others in one form per value."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from numbers import Number
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import duckdb

from dpsql.catalog.column_types import WHOLE_DOUBLES, ColumnDeclarations, Decided, Origin, SourceColumn, decided_types
from dpsql.catalog.names import folded
from dpsql.catalog.spelling import ENGINE_TYPES, literal, quoted
from dpsql.catalog.types import NUMERIC, TEMPORAL, SqlType
from dpsql.engines.duckdb_schema import INTEGERS, WIDE, sql_type
from dpsql.engines.hardening import LOADER, quiet
from dpsql.errors import NoSource

_NULLABLE: Final = re.compile(r"U?Int\d+|Float\d+|boolean|string(\[\w+\])?|.*\[pyarrow\]")
"""dtypes that hold a missing value without becoming another one: somebody chose them."""
_NUMBER: Final = re.compile(r"(?P<whole>u?int\d+)|float\d+")
_FLOATS: Final = ("FLOAT", "DOUBLE")
_CATEGORY: Final = "category"
_PLAIN: Final[Mapping[str, SqlType]] = {"str": SqlType.TEXT, "datetime64": SqlType.TIMESTAMP}


def dtype_column(name: str, dtype: str, like: SqlType | None = None) -> SourceColumn | None:
    """A column of this dtype; None where the dtype is a declaration. `like` is what an Arrow schema calls it."""
    number = _NUMBER.fullmatch(dtype)
    if number is not None:
        return SourceColumn(name=name, origin=Origin.ROWS, type=SqlType.DOUBLE, whole=number["whole"] is not None)
    plain = _PLAIN.get(dtype.partition("[")[0])
    if plain is not None and "," not in dtype:  # a zone would follow the comma
        return SourceColumn(name=name, origin=Origin.ROWS, type=plain)
    if dtype in ("object", "bool", _CATEGORY):
        suggested = SqlType.BOOLEAN if dtype == "bool" else like or SqlType.TEXT
        return SourceColumn(name=name, origin=Origin.ROWS, type=None, suggested=suggested)
    if _NULLABLE.fullmatch(dtype) or plain is not None:
        return None
    return SourceColumn(name=name, origin=Origin.ROWS, type=None, suggested=like or SqlType.TEXT)


def metadata_dtypes(metadata: bytes | None) -> dict[str, str]:
    """The dtypes that pandas has written into the schema of an Arrow table or a Parquet file, by column."""
    if metadata is None:
        return {}
    try:
        return {
            str(column.get("field_name") or column["name"]): _CATEGORY
            if column["pandas_type"] == "categorical"
            else str(column["numpy_type"])
            for column in json.loads(metadata)["columns"]
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        raise NoSource(
            "the schema of the data has metadata of pandas that cannot be read",
            why="they say which types pandas has chosen by looking at the rows",
            fix="write the data with a current pandas; or remove the metadata: table.replace_schema_metadata(None)",
        ) from None


def unnamed_dtype(engine_type: str) -> str:
    """The dtype of a column that the metadata do not name, by DuckDB's type: pandas had chosen that one by looking at
    the rows, so that it tells numbers from the rest at most."""
    return "int64" if engine_type in (*INTEGERS, *WIDE) else "float64" if engine_type in _FLOATS else "object"


def frame_dtypes(frame: Any) -> dict[str, str]:
    """The dtype of each column; of categories, that of the values they stand for."""
    return {
        name: str(dtype.categories.dtype if str(dtype) == _CATEGORY else dtype)
        for name, dtype in zip(frame.columns, frame.dtypes, strict=True)
    }


def declared_columns(frame: Any) -> Any:
    """The columns whose dtype is a declaration, without rows: a frame that shows their types."""
    dtypes = frame_dtypes(frame)
    named = [name for name, dtype in dtypes.items() if dtype_column(name, dtype) is None]
    return frame.iloc[:0][named].astype({name: dtypes[name] for name in named if str(frame[name].dtype) == _CATEGORY})


def prepared_frame(frame: Any, decided: Mapping[str, Decided]) -> Any:
    """The columns that are copied: numbers as doubles hold them, everything else that is no declaration as text."""
    dtypes = frame_dtypes(frame)
    return frame[[]].assign(**{name: _prepared(frame[name], dtypes[name], each) for name, each in decided.items()})


def _prepared(series: Any, dtype: str, decided: Decided) -> Any:
    column = dtype_column(series.name, dtype)
    if column is None:
        declared = series.astype(dtype) if str(series.dtype) == _CATEGORY else series
        return _texts(declared, fractions=False) if _holds_python(declared) else declared
    if column.type is SqlType.DOUBLE:
        return series.astype("float64")
    if column.type is SqlType.TIMESTAMP:
        return _microseconds(series.astype(dtype))
    # DuckDB would guess the type of Python objects from a sample of values.
    if dtype == "str" and not _holds_python(series):
        return series.astype("string")
    return _texts(series, fractions=decided.type is SqlType.DOUBLE)


def _holds_python(series: Any) -> bool:
    """Texts as Python has them, which may be none that can be written."""
    return getattr(series.dtype, "storage", "") == "python"


def _microseconds(series: Any) -> Any:
    """Times as DuckDB holds them; one that is too far away is missing."""
    most = _MOST_OF_UNIT.get(str(series.dtype))
    held = series if most is None else series.where(series.astype("int64").abs() <= most)
    return held.astype("datetime64[us]")


_MOST_OF_UNIT: Final[Mapping[str, int]] = {
    f"datetime64[{unit}]": (2**63 - 1) // parts for unit, parts in (("s", 10**6), ("ms", 10**3))
}
"""How many of a unit that is coarser than microseconds 64 bits of these hold."""


def _texts(series: Any, *, fractions: bool) -> Any:
    return series.astype(object).map(lambda value: _text(value, fractions=fractions)).astype("string")


def _text(value: object, *, fractions: bool) -> str | None:
    """One value as text, None where it is missing or cannot be written: a text of half a character, a time of the year
    10000 in UTC, a list of a number with 5000 digits. Objects may hold anything, and fail as they like."""
    try:
        written = None if _is_missing(value) else _written(value, fractions=fractions)
        return None if written is None else written.encode().decode()
    except Exception:
        return None


def _is_missing(value: object) -> bool:
    if value is None or type(value).__name__ == "NAType":
        return True
    differs = value != value  # NaN and NaT; of an array, not one truth value
    return type(differs).__name__ in _TRUTH_VALUES and bool(differs)


_TRUTH_VALUES: Final = ("bool", "bool_")  # numpy has its own


def _written(value: object, *, fractions: bool) -> str | None:
    """The same text whatever stands beside it: 8001, 8001.0 and Decimal("8001") are one number."""
    if type(value).__name__ in _TRUTH_VALUES:
        return str(value).lower()
    if isinstance(value, Number):
        return _number_text(value, fractions=fractions)
    if isinstance(value, datetime):
        moment = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        return moment.isoformat(" ", "microseconds").rstrip("0").rstrip(".")
    return value.isoformat() if isinstance(value, date) else str(value)


def _number_text(value: Any, *, fractions: bool) -> str | None:
    try:
        number = float(value)
    except (OverflowError, TypeError, ValueError):  # 10**400, a complex number, a signalling NaN
        return None
    if abs(number) < WHOLE_DOUBLES and number.is_integer():
        return str(int(number))
    return repr(number) if fractions or abs(number) < WHOLE_DOUBLES else None


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
