"""The cells of an answer column by column, for data frames and files: every name once, margins beside their numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from dpsql.catalog.types import SqlType
from dpsql.session.estimate import Estimate
from dpsql.session.noisy import Noisy

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
