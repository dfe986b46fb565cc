"""Answers as data frames. Each library is imported when its door is used, and not before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum, auto
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dpsql.catalog.types import SqlType
from dpsql.errors import BadParameter, MissingExtra
from dpsql.session.tabulated import Cells

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

PandasFrame: TypeAlias = "pandas.DataFrame"
PolarsFrame: TypeAlias = "polars.DataFrame"
ArrowTable: TypeAlias = "pyarrow.Table"
"""For signatures elsewhere: only this file names the libraries."""


class _Kind(Enum):
    """What the values of one column are. None may be among them."""

    NOTHING = auto()
    BOOLEAN = auto()
    INTEGER = auto()
    WIDE = auto()
    """Integers of which one needs more than 64 bits."""
    DOUBLE = auto()
    TEXT = auto()
    DATE = auto()
    TIMESTAMP = auto()


_KINDS: Final[Mapping[frozenset[type], _Kind]] = {
    frozenset(): _Kind.NOTHING,
    frozenset({bool}): _Kind.BOOLEAN,
    frozenset({int}): _Kind.INTEGER,
    frozenset({str}): _Kind.TEXT,
    frozenset({date}): _Kind.DATE,
    frozenset({datetime}): _Kind.TIMESTAMP,
    **{
        frozenset(kinds): _Kind.DOUBLE
        for kinds in (
            {float},
            {Fraction},
            {float, int},
            {float, Fraction},
            {int, Fraction},
            {float, int, Fraction},
        )
    },
}


@dataclass(frozen=True, slots=True)
class _Column:
    kind: _Kind
    values: list[Any]

    @property
    def complete(self) -> bool:
        return None not in self.values


def to_pandas(columns: Mapping[str, Sequence[object]], /) -> pandas.DataFrame:
    """The columns as a pandas data frame. Integers stay integers, also beside a missing value and beyond 64 bits."""
    pd = _library("pandas")
    frame: pandas.DataFrame = pd.DataFrame(
        {name: pd.Series(column.values, dtype=_pandas_type(column)) for name, column in _columns(columns).items()}
    )
    return frame


def _pandas_type(column: _Column) -> str:
    """The plain type where nothing is missing; otherwise one that knows a missing value."""
    plain, missing = _PANDAS[column.kind]
    return plain if column.complete else missing


_PANDAS: Final[Mapping[_Kind, tuple[str, str]]] = {
    _Kind.NOTHING: ("object", "object"),
    _Kind.BOOLEAN: ("bool", "boolean"),
    _Kind.INTEGER: ("int64", "Int64"),
    _Kind.WIDE: ("object", "object"),
    _Kind.DOUBLE: ("float64", "float64"),
    _Kind.TEXT: ("string", "string"),
    _Kind.DATE: ("object", "object"),
    _Kind.TIMESTAMP: ("datetime64[us]", "datetime64[us]"),
}


def to_polars(columns: Mapping[str, Sequence[object]], /) -> polars.DataFrame:
    """The columns as a polars data frame. Integers beyond 64 bits are Int128."""
    pl = _library("polars")
    types = {
        _Kind.NOTHING: pl.Null,
        _Kind.BOOLEAN: pl.Boolean,
        _Kind.INTEGER: pl.Int64,
        _Kind.WIDE: pl.Int128,
        _Kind.DOUBLE: pl.Float64,
        _Kind.TEXT: pl.String,
        _Kind.DATE: pl.Date,
        _Kind.TIMESTAMP: pl.Datetime("us"),
    }
    frame: polars.DataFrame = pl.DataFrame(
        [pl.Series(name, column.values, dtype=types[column.kind]) for name, column in _columns(columns).items()]
    )
    return frame


def to_arrow(columns: Mapping[str, Sequence[object]], /) -> pyarrow.Table:
    """The columns as an Arrow table. Integers beyond 64 bits are decimals without a fraction."""
    pa = _library("pyarrow")
    types = {
        _Kind.NOTHING: pa.null(),
        _Kind.BOOLEAN: pa.bool_(),
        _Kind.INTEGER: pa.int64(),
        _Kind.WIDE: pa.decimal256(39, 0),
        _Kind.DOUBLE: pa.float64(),
        _Kind.TEXT: pa.string(),
        _Kind.DATE: pa.date32(),
        _Kind.TIMESTAMP: pa.timestamp("us"),
    }
    found = _columns(columns)
    table: pyarrow.Table = pa.Table.from_arrays(
        [pa.array(column.values, type=types[column.kind]) for column in found.values()], names=list(found)
    )
    return table


def to_parquet(columns: Mapping[str, Sequence[object]], /) -> bytes:
    """The columns as a Parquet file."""
    table = to_arrow(columns)
    out = _library("pyarrow").BufferOutputStream()
    _library("pyarrow.parquet").write_table(table, out)
    return bytes(out.getvalue())


def to_arrow_file(columns: Mapping[str, Sequence[object]], /) -> bytes:
    """The columns as an Arrow file, also known as Feather."""
    table = to_arrow(columns)
    pa = _library("pyarrow")
    out = pa.BufferOutputStream()
    with _library("pyarrow.ipc").new_file(out, table.schema) as writer:
        writer.write_table(table)
    return bytes(out.getvalue())


def require_arrow() -> None:
    """MissingExtra where Parquet and Arrow files cannot be written."""
    _library("pyarrow")


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtra(
            f"{name} is not installed",
            why="dpsql itself does not need it",
            fix=f"pip install {name.partition('.')[0]}",
        ) from None


def _columns(columns: Mapping[str, Sequence[object]]) -> dict[str, _Column]:
    if len({len(values) for values in columns.values()}) > 1:
        raise BadParameter(
            "the columns are not equally long", why="each row has a value in every column", fix="pass None for no value"
        )
    return {
        name: _column(name, list(values), values.type if isinstance(values, Cells) else None)
        for name, values in columns.items()
    }


_OF_TYPE: Final[Mapping[SqlType | None, _Kind]] = {
    None: _Kind.NOTHING,
    SqlType.BOOLEAN: _Kind.BOOLEAN,
    SqlType.INTEGER: _Kind.INTEGER,
    SqlType.DOUBLE: _Kind.DOUBLE,
    SqlType.TEXT: _Kind.TEXT,
    SqlType.DATE: _Kind.DATE,
    SqlType.TIMESTAMP: _Kind.TIMESTAMP,
}


def _column(name: str, values: list[Any], type_: SqlType | None) -> _Column:
    """`type_` is the one that the plan knows: it holds where no value tells, and makes fractions of whole numbers."""
    present = [value for value in values if value is not None]
    kind = _KINDS.get(frozenset(map(type, present)))
    if kind is _Kind.INTEGER:
        bits = max(max(value, ~value).bit_length() for value in present) + 1  # with the sign
        kind = _Kind.INTEGER if bits <= 64 else _Kind.WIDE if bits <= 128 else None
    if kind is None:
        raise BadParameter(
            f"column {name} mixes kinds of values, or holds one that no table has",
            why="a column of a data frame has one type",
            fix="pass booleans, integers up to 128 bits, numbers, texts, dates or timestamps, and None for no value",
        )
    if kind is _Kind.NOTHING or (kind in (_Kind.INTEGER, _Kind.WIDE) and type_ is SqlType.DOUBLE):
        kind = _OF_TYPE[type_]
    if kind is _Kind.DOUBLE:
        values = [None if value is None else float(value) for value in values]
    return _Column(kind, values)
