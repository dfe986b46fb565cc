"""Columns of pandas: which dtypes are declarations, and the values of the others in one form per value."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from numbers import Number
from typing import Any, Final

from dpsql.catalog.column_types import WHOLE_DOUBLES, Decided, Origin, SourceColumn
from dpsql.catalog.types import SqlType
from dpsql.engines.duckdb_schema import INTEGERS, WIDE
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
