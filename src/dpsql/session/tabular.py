"""What can be done with an answer, the same beside the data and at a client: read it, take it into other tools, ask for
a better one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, Protocol, Self, TypeAlias, TypeVar

from dpsql.errors import BadName, BadParameter
from dpsql.require import Number
from dpsql.session import tables

if TYPE_CHECKING:
    from dpsql.session.formats import Told
    from dpsql.session.plotting import Picture

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


class Better(Protocol[A_co]):
    """Asks a question for another margin, or at another price."""

    def __call__(
        self, *, within: Number | None = None, epsilon: Number | None = None, max_cost: Number | None = None
    ) -> A_co: ...


@dataclass(frozen=True, slots=True)
class Again(Generic[A]):
    """Asks the question of an answer again. An answer that is copied or sent elsewhere does not take it along: it leads
    to the data, or to the server."""

    ask: Better[A]

    def __call__(self, within: Number | None, epsilon: Number | None, max_cost: Number | None) -> A:
        return self.ask(within=within, epsilon=epsilon, max_cost=max_cost)

    def __reduce__(self) -> tuple[object, ...]:
        return (_no_way_back, ())


def _no_way_back() -> None:
    """What is left of it elsewhere."""


Intervals: TypeAlias = Literal["none", "columns"]
Value = TypeVar("Value", covariant=True)


class Tabular(Generic[Value]):
    """Something with columns and rows. Released numbers leave as plain values, with the ends of their intervals beside
    them where that is asked for."""

    __slots__ = ()

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    types: tuple[tables.ColumnType, ...]
    """Of each column, from the plan; nothing where there is none."""
    again: Again[Self] | None

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        return iter(self.rows)

    def __getitem__(self, column: str) -> list[Value]:
        """The cells of a column; of the first, where several have its name."""
        names = tables.unique_names(self.columns)
        if column not in names:
            raise BadName(
                f"the answer has no column {column!r}",
                why="a column has the name of its alias, or of the expression as it was written",
                fix=f"choose one of: {', '.join(names)}",
            )
        place = names.index(column)
        return [row[place] for row in self.rows]

    def better(
        self, *, within: Number | None = None, epsilon: Number | None = None, max_cost: Number | None = None
    ) -> Self:
        """A more precise answer to the same question: every number within so much, or worth so much in all. What was
        paid for this one counts, where its noise allows that; `cost("… WITHIN 5")` tells the price before."""
        if self.again is None:
            raise BadParameter(
                "this answer cannot be asked for again from here",
                why="it explains, is invented, or was copied away from where it was told",
                fix="ask its question with WITHIN, or with COST, at its end",
            )
        return self.again(within, epsilon, max_cost)

    def plot(
        self: Told,
        kind: str | None = None,
        *,
        y: str | None = None,
        most: int | None = None,
        title: str | None = None,
        file: str | PathLike[str] | None = None,
    ) -> Picture:
        """The picture of it, with its margins: `dpsql.plot`. Free: what was told is drawn."""
        from dpsql.session.plotting import plot  # an answer that is not drawn needs none of it

        return plot(self, kind=kind, y=y, most=most, title=title, file=file)

    def dicts(self) -> list[dict[str, Value]]:
        """One dictionary per row; numbers keep their margins."""
        return [dict(zip(tables.unique_names(self.columns), row, strict=True)) for row in self.rows]

    def df(self, *, intervals: Intervals = "none") -> tables.PandasFrame:
        """A pandas data frame of the values; with intervals="columns" also x_low and x_high for every noisy x."""
        return tables.to_pandas(self._table(intervals))

    def pl(self, *, intervals: Intervals = "none") -> tables.PolarsFrame:
        """A polars data frame, as `df`."""
        return tables.to_polars(self._table(intervals))

    def arrow(self, *, intervals: Intervals = "none") -> tables.ArrowTable:
        """An Arrow table, as `df`."""
        return tables.to_arrow(self._table(intervals))

    def to_csv(self, path: str | Path, *, intervals: Intervals = "none", spreadsheet_safe: bool = True) -> None:
        """Write the values as CSV, in UTF-8; NULL is an empty field.

        A key can begin with = + - or @ and would then be run as a formula by a spreadsheet that opens the file. Such
        texts get a leading ' unless `spreadsheet_safe` is False; numbers are never changed.
        """
        out = tables.csv_text(self._table(intervals), spreadsheet_safe=spreadsheet_safe)
        Path(path).write_text(out, encoding="utf-8", newline="")

    def _table(self, intervals: Intervals) -> dict[str, tables.Cells]:
        """The columns by name, every name once."""
        if intervals not in ("none", "columns"):
            raise BadParameter(
                f"intervals={intervals!r} is not known",
                why="a table has either plain values or columns for the ends of the intervals",
                fix='pass intervals="none" or intervals="columns"',
            )
        return tables.by_column(self.columns, self.rows, ends=intervals == "columns", types=self.types)
