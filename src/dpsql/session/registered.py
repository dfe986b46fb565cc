"""The schema that `register` declares: each column with its type, and what decided it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dpsql.catalog.column_types import Decided, types_line
from dpsql.catalog.model import Catalog, ColumnPolicy
from dpsql.catalog.names import folded
from dpsql.catalog.types import SqlType
from dpsql.safe_text import printable


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Registered:
    """The declared columns of a table. Its text is a table; `line` is the word of `register` that declares the same."""

    table: str
    types: Mapping[str, SqlType]
    """By column."""
    decided_by: Mapping[str, str]
    """What decided the type, by column."""

    @classmethod
    def of(cls, catalog: Catalog, table: str, decided: Mapping[str, Decided]) -> Registered:
        """The schema of a table in a catalogue, whose columns were decided so."""
        columns = catalog.policy.tables[table].columns
        by = {folded(name): f"{each.by}{_rounding(columns.get(folded(name)))}" for name, each in decided.items()}
        return cls(
            table=table,
            types={name: column.type for name, column in columns.items() if column.type is not None},
            decided_by={name: by[name] for name in columns},
        )

    @property
    def line(self) -> str:
        """These types in words: pass them to `register` to have them whatever the data are."""
        return types_line(self.types)

    def __repr__(self) -> str:
        shown = [(printable(name), kind.value, self.decided_by[name]) for name, kind in self.types.items()]
        name_width, type_width = (max((len(row[place]) for row in shown), default=0) for place in (0, 1))
        lines = [f"  {name:<{name_width}}  {kind:<{type_width}}  {by}" for name, kind, by in shown]
        return "\n".join([printable(self.table), *lines])


def _rounding(column: ColumnPolicy | None) -> str:
    """That fractions are rounded, and what to say to keep them."""
    if column is None or not column.is_rounded:
        return ""
    bounds, name = column.bounds, printable(column.name)
    if bounds is None or not isinstance(bounds.low, int) or not isinstance(bounds.high, int):
        return ", which are whole: fractions are rounded"
    fractions = f'bounds={{"{name}": ({float(bounds.low)}, {float(bounds.high)})}}'
    return f', which are whole: fractions are rounded. {fractions} or types={{"{name}": "double"}} keeps them'
