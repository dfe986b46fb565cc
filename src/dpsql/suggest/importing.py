"""Metadata of other systems: which tables of the source they speak of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from dpsql.catalog.names import folded, listed
from dpsql.errors import BadParameter
from dpsql.suggest.csvw import csvw_tables
from dpsql.suggest.imported import ImportedTable
from dpsql.suggest.people import Facts
from dpsql.suggest.smartnoise import smartnoise_tables

_READERS: Final[Mapping[str, Callable[[str, str], Iterable[ImportedTable]]]] = {
    ".yaml": smartnoise_tables,
    ".yml": smartnoise_tables,
    ".json": csvw_tables,
}


def read_metadata(path: Path) -> tuple[ImportedTable, ...]:
    """The tables in a file of SmartNoise (.yaml) or CSVW-EO (.json)."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise BadParameter(
            f"{path.name} is no metadata that is known",
            why="SmartNoise writes .yaml, CSVW-EO .json",
            fix=f"name a file that ends in {listed(_READERS)}",
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadParameter(
            f"{path} cannot be read: {reason}", why="it holds what another system was told", fix="check the path"
        ) from None
    return tuple(reader(text, path.name))


def matched(
    imported: tuple[ImportedTable, ...], tables: Mapping[str, Facts]
) -> tuple[dict[str, ImportedTable], list[str]]:
    """By the name of a table in the source: what was imported about it; and what fits nothing, in words."""
    known = {folded(name): name for name in tables}
    found: dict[str, ImportedTable] = {}
    remarks: list[str] = []
    for table in imported:
        name = next((known[folded(each)] for each in table.names if folded(each) in known), None)
        if name is None and not table.names and len(tables) == len(imported) == 1:
            name = next(iter(tables))
        if name is None:
            remarks.append(f"{table.place}: the source has no table {table.name}; it is left out")
            continue
        found[name] = table
        remarks += [*table.remarks, *_unknown(table, tables[name])]
    return found, remarks


def _unknown(table: ImportedTable, facts: Facts) -> Iterator[str]:
    known = {folded(column.name) for column in facts.table.columns}
    for name in dict.fromkeys((*table.person, *table.columns)):
        if name not in known:
            yield f"{table.place}: {table.name} has no column {name}; it is left out"
