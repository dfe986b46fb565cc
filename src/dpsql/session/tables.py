"""The cells of an answer column by column, for data frames and files: every name once, margins beside their numbers.

Each library of data frames is imported when its door is used, and not before.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum, auto
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from dpsql.catalog.types import SqlType
from dpsql.errors import BadParameter, MissingExtra
from dpsql.session.noisy import Estimate, Noisy

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

INVENTED: Final = "INVENTED ROWS: made from the policy, nothing of the data"
COLUMN: Final = "invented"
"""The last column of every such answer: files, data frames, DB-API and the socket carry columns, not remarks."""


_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""How a text begins that a spreadsheet would take for a formula; the last four are the wide forms of the first four."""


class ColumnType(NamedTuple):
    """What a plan says of a column of its answer, before any row of it is known."""

    type: SqlType
    is_noisy: bool
    """Its cells have margins."""

    @classmethod
    def of(cls, word: str, is_noisy: bool) -> ColumnType:
        """From the word for a type."""
        return cls(SqlType(word), is_noisy=is_noisy)


class Cells(list[object]):
    """The cells of one column, and the type that the plan gives it; None where no plan is known."""

    def __init__(self, cells: Iterable[object], type_: SqlType | None) -> None:
        super().__init__(cells)
        self.type: Final = type_


def by_column(
    columns: Sequence[str], rows: Sequence[Sequence[object]], *, ends: bool, types: Sequence[ColumnType] = ()
) -> dict[str, Cells]:
    """The values by the name of their column; with `ends` also x_low and x_high for every noisy x. A name that was
    asked for stays: the added ones give way to it. Where `types` are known they decide which are noisy, not the rows:
    an answer without any has the same columns."""
    asked = unique_names(columns)
    found: list[tuple[str, Cells]] = []
    for place, name in enumerate(asked):
        known = types[place] if types else None
        type_ = None if known is None else known.type
        cells = [row[place] for row in rows]
        released = [cell if isinstance(cell, Noisy | Estimate) else None for cell in cells]
        values = [cell if noisy is None else noisy.value for cell, noisy in zip(cells, released, strict=True)]
        found.append((name, Cells(values, type_)))
        if ends and (known.is_noisy if known is not None else any(noisy is not None for noisy in released)):
            taken = [*asked, *(before for before, _ in found)]
            of_ends = None if known is None else SqlType.DOUBLE  # also of whole numbers, as margins may be fractions
            low, high = unique_names([*dict.fromkeys(taken), f"{name}_low", f"{name}_high"])[-2:]
            found.append((low, Cells((None if noisy is None else noisy.low for noisy in released), of_ends)))
            found.append((high, Cells((None if noisy is None else noisy.high for noisy in released), of_ends)))
    return dict(found)


def csv_text(table: Mapping[str, Sequence[object]], *, spreadsheet_safe: bool) -> str:
    """The table as CSV; NULL is an empty field, and a text that a spreadsheet would run gets a leading '."""
    guard = unlike_a_formula if spreadsheet_safe else lambda cell: cell
    out = io.StringIO()
    writer = csv.writer(out)  # lines end as RFC 4180 says; then also a lone \r inside a text is quoted
    writer.writerow(map(guard, table))
    writer.writerows([guard(cell) for cell in row] for row in zip(*table.values(), strict=True))
    return out.getvalue()


def unique_names(names: Sequence[str]) -> list[str]:
    """The names, a repeated one with _2, _3, … behind it."""
    taken: list[str] = []
    for name in names:
        number, unique = 1, name
        while unique in taken or (number > 1 and unique in names):
            number += 1
            unique = f"{name}_{number}"
        taken.append(unique)
    return taken


def unlike_a_formula(cell: object) -> object:
    """A cell that no spreadsheet runs."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


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
