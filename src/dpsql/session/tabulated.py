"""The cells of an answer column by column, for data frames and files: every name once, margins beside their numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Final

from dpsql.session.estimate import Estimate
from dpsql.session.noisy import Noisy

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""How a text begins that a spreadsheet would take for a formula; the last four are the wide forms of the first four."""


def by_column(columns: Sequence[str], rows: Sequence[Sequence[object]], *, ends: bool) -> dict[str, list[object]]:
    """The values by the name of their column; with `ends` also x_low and x_high for every noisy x. A name that was
    asked for stays: the added ones give way to it."""
    asked = unique_names(columns)
    found: list[tuple[str, list[object]]] = []
    for place, name in enumerate(asked):
        cells = [row[place] for row in rows]
        released = [cell if isinstance(cell, Noisy | Estimate) else None for cell in cells]
        values = [cell if noisy is None else noisy.value for cell, noisy in zip(cells, released, strict=True)]
        found.append((name, values))
        if ends and any(noisy is not None for noisy in released):
            taken = [*asked, *(before for before, _ in found)]
            low, high = unique_names([*dict.fromkeys(taken), f"{name}_low", f"{name}_high"])[-2:]
            found.append((low, [None if noisy is None else noisy.low for noisy in released]))
            found.append((high, [None if noisy is None else noisy.high for noisy in released]))
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
